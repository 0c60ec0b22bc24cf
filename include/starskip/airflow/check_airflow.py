"""Check what a deployment's Airflow has for the night: connections by their usual names, and a pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import nullcontext
from dataclasses import fields
from inspect import signature
from pathlib import Path

from airflow.configuration import conf
from airflow.models.pool import Pool
from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from starskip.airflow.airflow_database import APPLY_POOL
from starskip.airflow.connections import Connections, PinotConnections
from starskip.airflow.in_environment import in_environment
from starskip.airflow.nightly_dag import index_advisor_dag
from starskip.airflow.submitters.spark_job import job_for
from starskip.airflow.submitters.submitter import submitter
from starskip.airflow.submitters.target import target_of
from starskip.errors import ConfigError, first_line
from starskip.night.doctor.finding import FAILED, OK, WARNING

_STORE = Connections().store
_SPARK = str(signature(index_advisor_dag).parameters["spark_conn_id"].default)
# Lets Airflow look into its database, too, which tasks reach over its API.
_AS_A_SERVER = {"_AIRFLOW_PROCESS_CONTEXT": "server"}


def check_connections(
    environment: MutableMapping[str, str],
    spark: str = _SPARK,
    store: str = _STORE,
    spark_settings: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, str]]:
    """Say which connections there are; put their keys into ``environment``, as each task does.

    ``spark``, ``store``: the names that the DAG has for them. ``spark_settings``: those of the night's
    configuration. Raises ConfigError for a connection that cannot be read.
    """
    is_here = _is_database_here()
    # A worker reaches the database through the API server; asked here as a server, SQLite would begin one.
    with in_environment(_AS_A_SERVER) if is_here else nullcontext():
        if not is_here and _type_of(spark) is None:
            words = f"{spark} is not found: Airflow's database is not reached from here"
            yield WARNING, f"{words}; check connections and pools again where the scheduler runs"
        else:
            yield _submitted_by(spark, spark_settings or {})
        given = (Connections(store), PinotConnections())
        for name in (getattr(each, field.name) for each in given for field in fields(each)):
            kind = _type_of(name)
            words = "is not there: the environment counts" if kind is None else f"is of type {kind or 'none'}"
            yield OK, f"{name} {words}"
        for each in given:
            each.use(environment)


def _is_database_here() -> bool:
    """Return whether there may be a database; a file of SQLite's is looked for, a server is not asked."""
    url = make_url(conf.get_mandatory_value("database", "sql_alchemy_conn"))
    return url.get_backend_name() != "sqlite" or Path(url.database or "").is_file()


def _submitted_by(name: str, spark_settings: Mapping[str, str]) -> tuple[str, str]:
    """Say whether a job can be submitted by a connection: one is prepared as a stage does, and not sent."""
    try:
        target = target_of(name, "doctor")
        job = job_for(target, spark_settings, name="doctor")
        with submitter(target)(job, target):
            return OK, f"{name} is of type {target.type}"
    except ConfigError as error:
        return FAILED, str(error)
    except Exception as error:  # the checks behind this one go on
        return FAILED, f"{name}: a job cannot be prepared: {type(error).__name__}: {first_line(error)}"


def check_pools(of_stages: str | None = None) -> Iterator[tuple[str, str]]:
    """Say whether the pool of the DAG that applies advice is there, and the one of the stages, if named."""
    if not _is_database_here():
        return
    name, slots, words = APPLY_POOL
    try:
        found = Pool.get_pool(name)
        stages = Pool.get_pool(of_stages) if of_stages else None
    except SQLAlchemyError as error:
        yield (
            WARNING,
            f"Airflow's database cannot be asked ({type(error).__name__}): airflow db check says why",
        )
        return
    if found is None:
        yield (
            WARNING,
            f'to apply advice one table at a time: airflow pools set {name} {slots} "{words}"',
        )
    else:
        yield OK, f"pool {name} has {found.slots} slot(s)"
    if stages is not None:
        yield OK, f"pool {of_stages} has {stages.slots} slot(s)"
    elif of_stages:
        # Airflow never schedules a task of a pool that is not there, and only the scheduler's log says so.
        yield FAILED, f"pool {of_stages} is not there: airflow pools set {of_stages} 4 stages"


def _type_of(name: str) -> str | None:
    """Return the type of a connection, None if it is not there or cannot be read."""
    try:
        return BaseHook.get_connection(name).conn_type or ""
    except (AirflowException, ValueError):
        return None
