"""Submit to Apache Livy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.providers.apache.livy.operators.livy import LivyOperator

from starskip.airflow.submitters.kept_receipt import KeptReceipt
from starskip.airflow.submitters.spark_job import SparkJob
from starskip.airflow.submitters.target import Target

_POLL_S = 10


class LivyBatch(KeptReceipt, LivyOperator):  # type: ignore[misc]
    """The provider's operator, which takes up the batch of an earlier try."""


@contextmanager
def submitting(job: SparkJob, to: Target) -> Iterator[LivyBatch]:
    """Yield the operator. The driver runs on YARN or Kubernetes, as Livy is set up."""
    told = job.without_secrets("Livy", "the identity of the cluster")
    conf = {
        **told.conf_with_environment("spark.yarn.appMasterEnv."),
        **told.conf_with_environment("spark.kubernetes.driverEnv."),
    }
    operator = LivyBatch(
        task_id=to.task_id,
        livy_conn_id=to.connection,
        file=told.file or to.required("job_file", "hdfs:///starskip/run_stage.py"),
        # Livy refuses two sessions of the same name: the token makes it another one at each try.
        name=f"{told.name}:{told.receipt}",
        args=list(told.arguments),
        conf=conf,
        py_files=list(told.py_files),
        archives=list(told.archives),
        polling_interval=_POLL_S,
        deferrable=False,
    )
    operator.receipt_token = told.receipt
    yield operator
