"""Resolve a request to the night that it asks for, by the same rules as the tasks of the DAG."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from starskip.advisor.families.family_settings import family_defaults
from starskip.advisor.run.night import Night
from starskip.airflow.night_request import NIGHT_PARAMS, named_tables, resolve_run_date
from starskip.airflow.report_pages.nightly_dags import NightlyDag
from starskip.errors import ConfigError, MissingSource, printable
from starskip.night.configuration.night_from_config import NightArguments, log_zone, night_from_config
from starskip.night.experiments import experiment_of
from starskip.pinot.hybrid_tables import halves_of, without_type
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.staged_write import file_safe
from starskip.storage.storage_for import storage_for

ANY_NIGHT = date(2000, 1, 1)
"""For pages that are about no night in particular."""

_READER = "report pages"


def stored_night(dag: NightlyDag, run_date: date, tables: Sequence[str] = ()) -> Night:
    """Return a night of these tables, by default of all configured tables, to read its store.

    The keys of a store come from the API server's own environment: the keys of a connection would stay in it
    for everything else that the server does, such as reading the logs of tasks.
    """
    night = _night(dag, run_date, tables)
    place = dag.experiment.place if dag.experiment else None
    return replace(night, store=replace(night.store, experiment=place))


def with_experiment(dag: NightlyDag, run_date: date, name: str) -> NightlyDag:
    """Return the DAG as the pages of an experiment ask for it; of another run the DAG as it is."""
    return replace(dag, experiment=experiment_of(stored_night(dag, run_date), name))


def _night(dag: NightlyDag, run_date: date, tables: Sequence[str]) -> Night:
    if dag.problem:
        raise ConfigError(dag.problem, setting="config")
    if not dag.store:
        arguments = NightArguments(ANY_NIGHT, _READER, datetime.now(UTC), tables)
        night = night_from_config(dag.config, arguments, os.environ)
        # Any date may stand in an address; for an impossible night there is simply no report.
        return replace(night, run_date=run_date)
    asked = tables or dag.tables
    # Which tables are hybrid is not known here; of a table that is none, no half has a report.
    names = {name for table in asked for name in (table, without_type(table)[0], *halves_of(table))}
    return Night(
        run_date,
        ArtefactStore(storage_for(dag.store)),
        family_defaults(),
        datetime.now(UTC),
        _READER,
        frozenset(names) or None,
    )


def night_of_run(dag: NightlyDag, run: Any) -> tuple[NightlyDag, Night]:
    """Return the night of ``run``, a DAG run as Airflow's database has it, with its tables.

    The DAG is returned with the run's experiment, if it was one.
    """
    run_date = run_date_of(dag, run)
    dag = with_experiment(dag, run_date, file_safe(run.run_id))
    return dag, stored_night(dag, run_date, tables_of(run))


def run_date_of(dag: NightlyDag, run: Any) -> date:
    """Return the date of the night of ``run``; raises ConfigError if it asks for none that is one."""
    named = (run.conf or {}).get("run_date")
    ends = run.data_interval_start, run.data_interval_end, run.run_after
    if named is not None:
        return resolve_run_date(str(named), *ends)
    return resolve_run_date(None, *ends, log_zone_of(dag))


def log_zone_of(dag: NightlyDag) -> tzinfo:
    """Return the zone of the log, whose days the nights are, from the DAG or its configuration."""
    if dag.time_zone or dag.store:
        return ZoneInfo(dag.time_zone or "UTC")
    return log_zone(dag.config, {}, os.environ)


def tables_of(run: Any) -> tuple[str, ...]:
    """Return the tables that ``run`` was asked for, none for all."""
    tables = (run.conf or {}).get("tables")
    return named_tables(tables) if isinstance(tables, list | str) else ()


def settings_of(run: Any) -> dict[str, Any]:
    """Return what ``run`` was given beside its night and tables."""
    given = {name: value for name, value in (run.conf or {}).items() if name not in NIGHT_PARAMS}
    return {name: value for name, value in given.items() if value not in (None, [], {})}


def is_tried(run: Any) -> bool:
    """Return whether ``run`` was asked for as an experiment, as far as its params tell."""
    publish = (run.conf or {}).get("publish")
    return publish == "no" or (publish != "yes" and bool(settings_of(run)))


def night_date(text: str) -> date:
    """Return the date that an address names; MissingSource if it is none."""
    try:
        if len(text) == len("2026-11-20"):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise MissingSource(f"{printable(text, 40)} is not a night such as 2026-11-20", source=text)
