"""From a request to the night that it is about, by the same rules as the tasks of the DAG."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from airflow.models.variable import Variable

from starskip.errors import SourceError, printable
from starskip.orchestration.night_params import night_params
from starskip.orchestration.night_request import CONFIG_VARIABLE, night_config, night_request
from starskip.stages.night import Night
from starskip.stages.night_from_config import NightArguments, night_from_config

_READER = "report pages"


def configured_night(checkout: Path, run_date: date) -> Night:
    """Return a night of all tables, to read its store."""
    arguments = NightArguments(run_date, _READER, datetime.now(UTC))
    return night_from_config(config_path(checkout), arguments, os.environ)


def night_of_run(checkout: Path, run: Any) -> Night:
    """Return the night that ``run``, a DAG run as Airflow's database has it, is about, with its tables."""
    asked = run.conf or {}
    params = {name: asked.get(name, param.value) for name, param in night_params().items()}
    variables = {CONFIG_VARIABLE: _variable()}
    context = {"dag_run": run, "params": params, "var": {"value": variables}}
    return night_request(context, checkout).night(datetime.now(UTC))


def config_path(checkout: Path) -> str:
    """Return the configuration file of the nights."""
    return night_config(_variable, checkout)


def night_date(text: str) -> date:
    """Return the date that an address names; SourceError if it is none."""
    try:
        if len(text) == len("2026-11-20"):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise SourceError(f"{printable(text, 40)} is not a night such as 2026-11-20", source=text)


def _variable() -> str | None:
    value: str | None = Variable.get(CONFIG_VARIABLE, default_var=None)
    return value
