"""What one DAG run asks of the stages: the same values for the Spark jobs and for the gates."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from starskip.errors import ConfigError, printable
from starskip.orchestration.night_params import SETTING_PARAMS
from starskip.orchestration.run_date import resolve_run_date
from starskip.orchestration.store_connection import use_store_connection
from starskip.stages.night import Night
from starskip.stages.night_from_config import NightArguments, night_from_config

CONFIG_VARIABLE = "starskip_config"
"""Airflow variable, and in capitals environment variable, that names the night's configuration file."""

SAMPLE_CONFIG = "include/config/night.yaml"


@dataclass(frozen=True, slots=True)
class NightRequest:
    """One run: its night, its configuration file, its tables (none: all), its settings over the file's."""

    run_date: date
    run_id: str
    config: str
    tables: tuple[str, ...]
    settings: Mapping[str, str]

    def job_arguments(self) -> list[str]:
        """Return the command line of every job, as a list: no shell reads it.

        Each value is joined to its option, so that none can be taken for an option itself.
        """
        return [
            f"--config={self.config}",
            f"--run-date={self.run_date.isoformat()}",
            f"--run-id={self.run_id}",
            f"--tables={','.join(self.tables)}",
            *(f"--set={name}={value}" for name, value in self.settings.items()),
        ]

    def night(self, started_at: datetime) -> Night:
        """Return the night as the gates take it; raises ConfigError as the jobs do."""
        arguments = NightArguments(self.run_date, self.run_id, started_at, self.tables, self.settings)
        return night_from_config(self.config, arguments, os.environ)


def night_config(variable: Callable[[], str | None], checkout: Path) -> str:
    """Return the configuration file: the environment's, else the ``variable``'s, else the sample's."""
    return os.environ.get(CONFIG_VARIABLE.upper()) or variable() or str(checkout / SAMPLE_CONFIG)


def night_request(context: Mapping[str, Any], checkout: Path) -> NightRequest:
    """Return what the run of a task's ``context`` asks for.

    The configuration is named by the environment, else by the Airflow variable, else it is the sample's
    below ``checkout``. Raises ConfigError for a run_date that is no date, and for a param that there is
    not: Airflow takes any, and a misspelt ``tables`` would mean all of them. The keys of the connection
    starskip_store, if there is one, are in this process's environment from now on.
    """
    use_store_connection(os.environ)
    run, params = context["dag_run"], context["params"]
    known = ("run_date", "tables", *SETTING_PARAMS)
    for name in run.conf or ():
        if name not in known:
            raise ConfigError(
                f"param {printable(name, 100)!r} is not known: use {', '.join(known)}", setting=name
            )
    config = night_config(lambda: context["var"]["value"].get(CONFIG_VARIABLE, None), checkout)
    return NightRequest(
        run_date=resolve_run_date(params["run_date"], run.data_interval_start, run.run_after),
        run_id=run.run_id,
        config=config,
        tables=tuple(params["tables"]),
        settings={name: _text(params[name]) for name in SETTING_PARAMS if params[name] is not None},
    )


def _text(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)
