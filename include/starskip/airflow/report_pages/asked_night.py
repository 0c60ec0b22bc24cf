"""Resolve a request to the night that it asks for, by the same rules as the tasks of the DAG."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from airflow.models.variable import Variable

from starskip.advisor.run.night import Night
from starskip.airflow.night_request import CONFIG_VARIABLE, night_config
from starskip.airflow.run_date import resolve_run_date
from starskip.errors import MissingSource, printable
from starskip.night.configuration.night_from_config import NightArguments, night_from_config

ANY_NIGHT = date(2000, 1, 1)
"""For pages that are about no night in particular."""

_READER = "report pages"


def configured_night(checkout: Path, run_date: date, tables: Sequence[str] = ()) -> Night:
    """Return a night of these tables, by default of all configured tables, to read its store.

    The keys of a store come from the API server's own environment: the keys of a connection would stay in it
    for everything else that the server does, such as reading the logs of tasks.
    """
    arguments = NightArguments(ANY_NIGHT, _READER, datetime.now(UTC), tables)
    night = night_from_config(config_path(checkout), arguments, os.environ)
    # Any date may stand in an address; for an impossible night there is simply no report.
    return replace(night, run_date=run_date)


def night_of_run(checkout: Path, run: Any) -> Night:
    """Return the night of ``run``, a DAG run as Airflow's database has it, with its tables."""
    asked = run.conf or {}
    named, tables = asked.get("run_date"), asked.get("tables")
    given = None if named is None else str(named)
    run_date = resolve_run_date(given, run.data_interval_start, run.run_after)
    names = tables if isinstance(tables, list) else []
    return configured_night(checkout, run_date, [str(name) for name in names if name])


def config_path(checkout: Path) -> str:
    """Return the configuration file of the nights."""
    return night_config(_variable, checkout)


def night_date(text: str) -> date:
    """Return the date that an address names; MissingSource if it is none."""
    try:
        if len(text) == len("2026-11-20"):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise MissingSource(f"{printable(text, 40)} is not a night such as 2026-11-20", source=text)


def _variable() -> str | None:
    value: str | None = Variable.get(CONFIG_VARIABLE, default_var=None)
    return value
