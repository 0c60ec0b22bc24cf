"""Submit to Amazon EMR Serverless."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.providers.amazon.aws.operators.emr import EmrServerlessStartJobOperator

from starskip.airflow.submitters.spark_job import SparkJob
from starskip.airflow.submitters.target import Target

_POLL_S = 15
# The operator cancels a job after 25 minutes if nobody says more; execution_timeout is a task's own limit.
_MOST_POLLS = 7 * 24 * 3600 // _POLL_S


@contextmanager
def submitting(job: SparkJob, to: Target) -> Iterator[EmrServerlessStartJobOperator]:
    """Yield the operator. Settings go as properties: the text of sparkSubmitParameters would need quotes."""
    told = job.without_secrets("EMR Serverless", "the execution role of the application")
    properties = told.conf_with_environment("spark.emr-serverless.driverEnv.")
    files = {"spark.submit.pyFiles": told.py_files, "spark.archives": told.archives}
    properties |= {name: ",".join(given) for name, given in files.items() if given}
    spark_submit = {
        "entryPoint": told.file or to.required("job_file", "s3://bucket/starskip/run_stage.py"),
        "entryPointArguments": list(told.arguments),
    }
    yield EmrServerlessStartJobOperator(
        task_id=to.task_id,
        aws_conn_id=to.connection,
        application_id=to.required("application_id", "00f1abcdefgh0123"),
        execution_role_arn=to.required("execution_role_arn", "arn:aws:iam::111122223333:role/starskip"),
        name=told.name,
        client_request_token=told.receipt,
        job_driver={"sparkSubmit": spark_submit},
        configuration_overrides={
            "applicationConfiguration": [{"classification": "spark-defaults", "properties": properties}]
        },
        waiter_delay=_POLL_S,
        waiter_max_attempts=_MOST_POLLS,
        deferrable=False,
    )
