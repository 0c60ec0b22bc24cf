"""Submit to Databricks, as a run on a cluster of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.providers.databricks.operators.databricks import DatabricksSubmitRunOperator

from starskip.airflow.submitters.kept_receipt import KeptReceipt
from starskip.airflow.submitters.spark_job import SparkJob
from starskip.airflow.submitters.target import Target


class DatabricksRun(KeptReceipt, DatabricksSubmitRunOperator):  # type: ignore[misc]
    """The provider's operator, which takes up the run of an earlier try."""


@contextmanager
def submitting(job: SparkJob, to: Target) -> Iterator[DatabricksRun]:
    """Yield the operator. A cluster that runs already would not take the environment of a job."""
    told = job.without_secrets("Databricks", "the instance profile of the cluster")
    cluster = to.required_object(
        "new_cluster", '{"spark_version": "16.4.x-scala2.13", "node_type_id": "i3.xlarge", "num_workers": 2}'
    )
    operator = DatabricksRun(
        task_id=to.task_id,
        databricks_conn_id=to.connection,
        run_name=told.name,
        spark_python_task={
            "python_file": told.file or to.required("job_file", "s3://bucket/starskip/run_stage.py"),
            "parameters": list(told.arguments),
        },
        libraries=[{"whl": each} for each in told.py_files],
        new_cluster={
            **cluster,
            "spark_conf": {**cluster.get("spark_conf", {}), **told.conf},
            "spark_env_vars": {**cluster.get("spark_env_vars", {}), **told.environment},
        },
        idempotency_token=told.receipt,
        deferrable=False,
    )
    operator.receipt_token = told.receipt
    yield operator
