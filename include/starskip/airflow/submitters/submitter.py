"""Choose who submits a job, by the type of the Airflow connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from airflow.sdk import BaseOperator

from starskip.airflow.submitters.spark_job import SparkJob
from starskip.airflow.submitters.target import Target
from starskip.errors import ConfigError, first_line, printable

Submitter = Callable[[SparkJob, Target], AbstractContextManager[BaseOperator]]
"""Gives the provider's operator for a job, and removes what it needed when the job has ended."""

_OF_SPARK = ("spark", "k8s", "yarn")
"""Types of connections that spark-submit serves: the URI of a master gives the latter two."""

PROVIDERS: Mapping[str, str] = {
    "spark": "apache-airflow-providers-apache-spark",
    "livy": "apache-airflow-providers-apache-livy",
    "aws": "apache-airflow-providers-amazon",
    "google_cloud_platform": "apache-airflow-providers-google",
    "databricks": "apache-airflow-providers-databricks",
    "kubernetes": "apache-airflow-providers-cncf-kubernetes",
}
"""The types of connections by which a job can be submitted, and the package of the operator."""


def submitter(target: Target) -> Submitter:
    """Return who submits to ``target``; the provider is imported now, and no other.

    Raises ConfigError for a type that is not known, and for a provider that is not installed.
    """
    name = "spark" if target.type in _OF_SPARK else target.type
    try:
        match name:
            case "spark":
                from starskip.airflow.submitters.spark import submitting
            case "livy":
                from starskip.airflow.submitters.livy import submitting
            case "aws":
                from starskip.airflow.submitters.emr_serverless import submitting
            case "google_cloud_platform":
                from starskip.airflow.submitters.dataproc import submitting
            case "databricks":
                from starskip.airflow.submitters.databricks import submitting
            case "kubernetes":
                from starskip.airflow.submitters.kubernetes import submitting
            case _:
                raise ConfigError(
                    f"the Airflow connection {target.connection} is of type "
                    f"{printable(target.type, 80)!r}, by which no job can be submitted: use one of "
                    f"{', '.join(PROVIDERS)}",
                    setting=target.connection,
                )
    except ImportError as error:
        raise ConfigError(
            f"the Airflow connection {target.connection} is of type {name}, whose operator cannot be "
            f"imported ({first_line(error)}): pip install {PROVIDERS[name]}",
            setting=target.connection,
        ) from error
    return submitting
