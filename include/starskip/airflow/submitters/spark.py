"""Submit by spark-submit: one process, a standalone cluster, YARN, Kubernetes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from urllib.parse import urlsplit

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from starskip.airflow.in_environment import in_environment
from starskip.airflow.spark_settings import package_zip, secret_file, spark_defaults
from starskip.airflow.submitters.kept_receipt import KeptReceipt
from starskip.airflow.submitters.spark_job import SparkJob
from starskip.airflow.submitters.target import Target
from starskip.errors import ConfigError
from starskip.night.submitting_process import SUBMITTED_BY

_EVERYWHERE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
}
# A local job lives for seconds: it ends before the optimising compiler would have paid for itself.
_LOCAL = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
# Executors on this machine reach the driver without a name that a network would have to know.
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
# Airflow tries again: a second attempt of YARN would find the receipt of the first one.
_YARN = {"spark.yarn.maxAppAttempts": "1"}
_UPLOAD_PATH = "spark.kubernetes.file.upload.path"
_LOCAL_MASTER = re.compile(r"local(?:\[.*\])?")
_LOOPBACK_MASTER = re.compile(r"(?:spark://)?(?:localhost|127(?:\.\d+){3})(?::\d+)?")


class SparkSubmit(KeptReceipt, SparkSubmitOperator):
    """The provider's operator, which in cluster deploy mode takes up the driver of an earlier try."""


@contextmanager
def submitting(job: SparkJob, to: Target) -> Iterator[SparkSubmit]:
    """Yield the operator; the package's zip and the file of secrets go when it is done.

    A driver in client mode has the environment of this process, to which the provider adds the job's for any
    master but that of Kubernetes.
    """
    master = _master(to)
    is_local = _LOCAL_MASTER.fullmatch(master) is not None
    program = to.extra.get("spark-binary", "spark-submit")
    is_packed = not (is_local or job.py_files)
    if master.startswith("k8s://"):
        _check_kubernetes(to)
        if to.extra.get("deploy-mode") == "cluster":
            # The image has the package beside the file; what is sent from here must be uploaded.
            is_packed = is_packed and not job.file.startswith("local:")
            _check_upload(job, to, is_packed, program)
    with (
        in_environment({**job.environment, SUBMITTED_BY: str(os.getpid())}),
        package_zip() if is_packed else nullcontext() as package,
        secret_file(job.secret_conf, program) as properties,
    ):
        operator = SparkSubmit(
            task_id=to.task_id,
            conn_id=to.connection,
            name=job.name,
            application=job.local_file,
            application_args=list(job.arguments),
            env_vars=dict(job.environment),
            conf={**_EVERYWHERE, **conf_of_master(master), **job.conf},
            properties_file=properties,
            py_files=str(package) if package else ",".join(job.py_files) or None,
            archives=",".join(job.archives) or None,
            **_tracking(master, to, job),
        )
        operator.receipt_token = job.receipt
        try:
            yield operator
        finally:
            # The provider leaves it open; one process of Airflow may run all tasks of a night.
            process = getattr(operator._hook, "_submit_sp", None)
            if process is not None and process.stdout is not None:
                process.stdout.close()


def conf_of_master(master: str) -> dict[str, str]:
    """Return the Spark settings for the place of a job: in one process, on this machine, elsewhere."""
    if _LOCAL_MASTER.fullmatch(master):
        return {**_LOCAL, **_LOOPBACK}
    if master.startswith("yarn"):
        return dict(_YARN)
    return dict(_LOOPBACK) if _LOOPBACK_MASTER.fullmatch(master) else {}


def _master(to: Target) -> str:
    """Return the master as the provider reads it; without a host it would silently submit to YARN."""
    if not to.host and to.type != "yarn":
        raise ConfigError(
            f"the Airflow connection {to.connection} names no master, which is its host: give it as JSON, "
            f"""AIRFLOW_CONN_{to.connection.upper()}='{{"conn_type": "spark", "host": "local[2]"}}'""",
            setting=to.connection,
        )
    is_whole = to.type == "spark" and ("://" in to.host or not to.port)
    return to.host if is_whole else f"{to.type}://{to.host}"


def _check_kubernetes(to: Target) -> None:
    """Raise ConfigError without the package by which the provider looks after the driver's pod."""
    try:
        from airflow.providers.cncf.kubernetes import kube_client  # noqa: F401
    except ImportError as error:
        package = "apache-airflow-providers-cncf-kubernetes"
        raise ConfigError(
            f"the Airflow connection {to.connection}: to submit to Kubernetes needs {package}: "
            f"pip install {package}",
            setting=to.connection,
        ) from error


def _check_upload(job: SparkJob, to: Target, is_packed: bool, program: str) -> None:
    """Raise ConfigError for files of this machine that Spark cannot hand on to the driver's pod."""
    files = (job.local_file, *job.py_files, *job.archives)
    is_uploaded = is_packed or any(urlsplit(each).scheme in ("", "file") for each in files)
    has_place = _UPLOAD_PATH in job.conf or _UPLOAD_PATH in job.secret_conf
    if is_uploaded and not has_place and _UPLOAD_PATH not in spark_defaults(program):
        raise ConfigError(
            f"the Airflow connection {to.connection}: files of this machine do not reach a driver on "
            'Kubernetes; put into the extra a file of its image, such as "job_file": '
            f'"local:///opt/run_stage.py", or "{_UPLOAD_PATH}", a place in an object store',
            setting="job_file",
        )


def _tracking(master: str, to: Target, job: SparkJob) -> dict[str, Any]:
    """Return the arguments by which the provider follows a driver that runs elsewhere, where it can."""
    if to.extra.get("deploy-mode") != "cluster":
        return {}
    if master.startswith("spark://"):
        raise ConfigError(
            f"the Airflow connection {to.connection}: Spark runs no Python job with deploy-mode cluster on a "
            "standalone cluster; take it out, or use YARN or Kubernetes",
            setting="deploy-mode",
        )
    if not hasattr(SparkSubmitOperator, "execute_resumable"):
        return {}  # the provider of Airflow 3.2 takes up no driver
    if master.startswith("yarn"):
        is_tracked = "yarn_resourcemanager_webapp_address" in to.extra
        return {"yarn_track_via_rm_api": is_tracked, "durable": is_tracked}
    has_namespace = "namespace" in to.extra or "spark.kubernetes.namespace" in job.conf
    return {"track_driver_via_k8s_api": has_namespace} if master.startswith("k8s://") else {}
