"""Check what a deployment's Airflow has for the night: connections by their usual names, and a pool."""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from importlib import metadata
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
from starskip.airflow.nightly_dag import index_advisor_dag
from starskip.airflow.submitters.submitter import PROVIDERS, provider_of
from starskip.night.doctor.finding import FAILED, OK, WARNING

_STORE = Connections().store
_SPARK = str(signature(index_advisor_dag).parameters["spark_conn_id"].default)
_CONTEXT = "_AIRFLOW_PROCESS_CONTEXT"
_SEE = "docs/operate.md, Connections"


def check_connections(
    environment: MutableMapping[str, str], spark: str = _SPARK, store: str = _STORE
) -> Iterator[tuple[str, str]]:
    """Say which connections there are; put their keys into ``environment``, as each task does.

    ``spark``, ``store``: the names that the DAG has for them. Raises ConfigError for one that cannot be read.
    """
    is_here = _is_database_here()
    # A worker reaches the database through the API server; asked here as a server, SQLite would begin one.
    with _as_a_server() if is_here else nullcontext():
        found = _type_of(spark)
        if found is None and not is_here:
            words = f"{spark} is not found: Airflow's database is not reached from here"
            yield WARNING, f"{words}; check connections and pools again where the scheduler runs"
        else:
            yield _submitted_by(spark, found)
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


def _submitted_by(name: str, connection_type: str | None) -> tuple[str, str]:
    """Say whether jobs can be submitted by a connection of this type, None for one that is not there."""
    provider = provider_of(connection_type)
    if provider is None:
        found = "is missing or cannot be read" if connection_type is None else f"is of type {connection_type}"
        known = ", ".join(PROVIDERS)
        return FAILED, f"{name} {found}, and jobs are submitted by one of type {known}: {_SEE}"
    if not any(metadata.distributions(name=provider)):
        needed = f"which needs {provider}: pip install {provider}"
        return FAILED, f"{name} is of type {connection_type}, {needed}"
    return OK, f"{name} is of type {connection_type}"


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


@contextmanager
def _as_a_server() -> Iterator[None]:
    """Let Airflow look into its database, too, which tasks reach over its API."""
    former = os.environ.get(_CONTEXT)
    os.environ[_CONTEXT] = "server"
    try:
        yield
    finally:
        if former is None:
            os.environ.pop(_CONTEXT)
        else:
            os.environ[_CONTEXT] = former
