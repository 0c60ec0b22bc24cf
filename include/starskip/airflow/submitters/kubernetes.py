"""Submit to the Spark operator of Kubernetes, as a SparkApplication."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from airflow.providers.cncf.kubernetes.operators.spark_kubernetes import SparkKubernetesOperator

from starskip.airflow.submitters.kept_receipt import keep_token, kept_token
from starskip.airflow.submitters.spark_job import SparkJob
from starskip.airflow.submitters.target import Target

_EXAMPLE = '{"spec": {"image": "registry/starskip:1", "sparkVersion": "4.1.1", "driver": {}, "executor": {}}}'


class SparkApplication(SparkKubernetesOperator):  # type: ignore[misc]
    """The provider's operator, which takes up the driver of an earlier try, and the token of its receipt."""

    receipt_token = ""

    def find_spark_job(self, context: Any, exclude_checked: bool = True) -> Any:
        """Find a driver; the token is kept as long as there is none, since this try submits one then."""
        found = super().find_spark_job(context, exclude_checked)
        if found is None:
            keep_token(context, self.receipt_token)
        else:
            self.receipt_token = kept_token(context) or self.receipt_token
        return found


@contextmanager
def submitting(job: SparkJob, to: Target) -> Iterator[SparkApplication]:
    """Yield the operator; image, resources and service account are those of the connection's object."""
    told = job.without_secrets("Kubernetes", "its service account")
    theirs = to.required_object("spark_application", _EXAMPLE)
    spec = theirs.get("spec", {})
    variables = [{"name": name, "value": value} for name, value in told.environment.items()]
    driver = spec.get("driver", {})
    operator = SparkApplication(
        task_id=to.task_id,
        kubernetes_conn_id=to.connection,
        namespace=to.required("namespace", "spark"),
        name=to.task_id,
        template_spec={
            "apiVersion": "sparkoperator.k8s.io/v1beta2",
            "kind": "SparkApplication",
            **theirs,
            "spec": {
                **spec,
                "type": "Python",
                "mode": "cluster",
                "pythonVersion": "3",
                "restartPolicy": {"type": "Never"},
                "mainApplicationFile": told.file or to.required("job_file", "local:///opt/run_stage.py"),
                "arguments": list(told.arguments),
                "sparkConf": {**spec.get("sparkConf", {}), **told.conf},
                "deps": {**spec.get("deps", {}), "pyFiles": list(told.py_files)},
                "driver": {**driver, "env": [*driver.get("env", []), *variables]},
            },
        },
        deferrable=False,
    )
    operator.receipt_token = told.receipt
    yield operator
