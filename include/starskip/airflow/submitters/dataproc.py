"""Submit to Google Dataproc as a serverless batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.providers.google.cloud.operators.dataproc import DataprocCreateBatchOperator

from starskip.airflow.submitters.spark_job import SparkJob
from starskip.airflow.submitters.target import Target


@contextmanager
def submitting(job: SparkJob, to: Target) -> Iterator[DataprocCreateBatchOperator]:
    """Yield the operator; the project is the connection's own field."""
    told = job.without_secrets("Dataproc", "the batch's service account")
    theirs = to.required_object("batch", '{"environment_config": {}}') if "batch" in to.extra else {}
    runtime = theirs.get("runtime_config", {})
    properties = {
        **runtime.get("properties", {}),
        **told.conf_with_environment("spark.dataproc.driverEnv."),
    }
    pyspark = {
        "main_python_file_uri": told.file or to.required("job_file", "gs://bucket/starskip/run_stage.py"),
        "args": list(told.arguments),
        "python_file_uris": list(told.py_files),
        "archive_uris": list(told.archives),
    }
    yield DataprocCreateBatchOperator(
        task_id=to.task_id,
        gcp_conn_id=to.connection,
        region=to.required("region", "europe-west1"),
        batch_id=f"starskip-{told.receipt}",
        batch={
            **theirs,
            "pyspark_batch": pyspark,
            "runtime_config": {**runtime, "properties": properties},
        },
        deferrable=False,
    )
