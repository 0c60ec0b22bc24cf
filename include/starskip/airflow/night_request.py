"""The request of one DAG run to the stages: the same values for the Spark jobs and for the gates."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from starskip.advisor.families.family_settings import family_defaults
from starskip.errors import ConfigError, printable
from starskip.settings.environment import settings_environment

if TYPE_CHECKING:
    from starskip.advisor.run.night import Night


NIGHT_PARAMS = ("run_date", "tables", "publish")
"""The params that are no settings."""

TABLE_NAME_PATTERN = r"^([A-Za-z0-9_][A-Za-z0-9_.\-]*)?$"
"""Names that Pinot takes; a name that begins with a dash could be read as an option of a command.

An empty name passes, and is left out.
"""

PUBLISH = ("auto", "yes", "no")
"""Ways to publish: as the night's advice unless settings are changed, whatever they are, or not at all."""

_BACKFILL = "backfill"
"""The type of run that Airflow gives to the days of a backfill."""

_MAX_SETTING_CHARACTERS = 100_000
"""A setting travels in a job's environment, where the kernel allows one variable 128 KiB."""


@dataclass(frozen=True, slots=True)
class NightRequest:
    """One run: its night, configuration file, tables (none: all) and settings, which override the file's.

    ``changed``: the settings whose values are not the configuration's. ``is_experiment``: the run only tries
    them.
    """

    run_date: date
    run_id: str
    config: str
    tables: tuple[str, ...]
    settings: Mapping[str, str]
    changed: tuple[str, ...] = ()
    is_experiment: bool = False

    def job_arguments(self) -> list[str]:
        """Return the command line of every job, as a list: no shell reads it.

        Each value is joined to its option, so that no value can be taken for an option itself.
        """
        return [
            f"--config={self.config}",
            f"--run-date={self.run_date.isoformat()}",
            f"--run-id={self.run_id}",
            f"--tables={','.join(self.tables)}",
            *([f"--given={','.join(self.settings)}"] if self.settings else []),
            f"--changed={','.join(self.changed)}",
            *(["--experiment"] if self.is_experiment else []),
        ]

    def job_environment(self) -> dict[str, str]:
        """Return the settings in the form in which every job reads them.

        Weights of queries hold literals, and a command line can be read by all on the machine and stays in
        logs, such as Spark's own. A job fails that does not find there what ``job_arguments`` names.
        """
        return settings_environment(self.settings)

    def night(self, started_at: datetime) -> Night:
        """Return the night for the gates; raises ConfigError as the jobs do."""
        # The DAG file imports this module, so the task that reads a night imports what reading needs.
        from starskip.night.configuration.night_from_config import NightArguments, night_from_config

        arguments = NightArguments(
            self.run_date,
            self.run_id,
            started_at,
            self.tables,
            self.settings,
            changed=self.changed,
            is_experiment=self.is_experiment,
        )
        return night_from_config(self.config, arguments, os.environ)


def night_request(context: Mapping[str, Any], config: str) -> NightRequest:
    """Return the request of the run of a task's ``context``; ``config``: the configuration of its nights.

    Raises ConfigError for a run_date that is no date, or that would make each day of a backfill the same
    night; for tables that are all blank, which must not mean all tables; for a setting that is too long for
    one variable; and for an unknown param: Airflow takes any, and a misspelt ``tables`` would mean all
    tables.
    """
    run, params = context["dag_run"], context["params"]
    if params["run_date"] is not None and run.run_type == _BACKFILL:
        raise ConfigError(
            "run_date is not for a backfill: each of its days would be the same night", setting="run_date"
        )
    from starskip.night.configuration.night_from_config import changed_settings, log_zone

    given = _settings(run.conf or {}, params, config)
    # What a DAG file gives its DAG as other defaults is not the run's own.
    asked = {place: value for place, value in given.items() if place in (run.conf or {})}
    changed = changed_settings(config, asked, os.environ)
    is_experiment = _is_experiment(params.get("publish"), changed)
    # Built artefacts are current state: days of the past and experiments only advise.
    withheld = {"building.build_indexes": "false"} if run.run_type == _BACKFILL or is_experiment else {}
    return NightRequest(
        run_date=resolve_run_date(
            params["run_date"],
            run.data_interval_start,
            run.data_interval_end,
            run.run_after,
            UTC if params["run_date"] is not None else log_zone(config, given, os.environ),
        ),
        run_id=run.run_id,
        config=config,
        tables=asked_tables(params["tables"]),
        settings=given | withheld,
        changed=changed,
        is_experiment=is_experiment,
    )


def _is_experiment(publish: Any, changed: Sequence[str]) -> bool:
    """Return whether a run keeps what it publishes aside; raise ConfigError for another word."""
    if publish not in (None, *PUBLISH):
        raise ConfigError(
            f"publish {printable(str(publish), 80)!r} is not known: use {', '.join(PUBLISH)}",
            setting="publish",
        )
    return publish == "no" or (publish in (None, "auto") and bool(changed))


def _settings(conf: Mapping[str, Any], params: Mapping[str, Any], config: str) -> dict[str, str]:
    """Return the given settings, by their places."""
    asked = {place: params.get(place, conf.get(place)) for place in _places(config, [*params, *conf])}
    return {place: _text(place, value) for place, value in asked.items() if _is_given(value)}


def _places(config: str, names: Sequence[str]) -> list[str]:
    """Return the places of the settings that a run may have; raise ConfigError for another name."""
    places = _form_places(())
    if any(name not in places for name in names if name not in NIGHT_PARAMS):
        # Only the configuration knows the settings of users' own families.
        from starskip.night.configuration.config_document import config_document

        places = _form_places(config_document(config).modules("families"))
    for name in names:
        if name not in places and name not in NIGHT_PARAMS:
            near = get_close_matches(name, places, n=1, cutoff=0.5) or ["advice.max_indexes"]
            raise ConfigError(
                f"param {printable(name, 100)!r} is not known: use {', '.join(NIGHT_PARAMS)}, "
                f"or a setting of the form, such as {near[0]}",
                setting=name,
            )
    return places


def _form_places(families: Sequence[str]) -> list[str]:
    return [each.place for each, _ in family_defaults(families).items() if each.facts.title]


def named_tables(asked: Any) -> tuple[str, ...]:
    """Return the names in the param ``tables``, a list or a text, whether tables can have them or not."""
    names = re.split(r"[\s,]+", asked) if isinstance(asked, str) else asked or ()
    return tuple(dict.fromkeys(str(name) for name in names if name))


def asked_tables(asked: Any) -> tuple[str, ...]:
    """Return the tables that the param names, as a list or in a text; none for all of them.

    Raises ConfigError if all names are blank, which must not mean all tables.
    """
    tables = named_tables(asked)
    for name in tables:
        if not re.fullmatch(TABLE_NAME_PATTERN, name):
            raise ConfigError(
                f"tables: {printable(name, 100)!r} is not the name of a table", setting="tables"
            )
    if asked and not tables:
        raise ConfigError("tables holds blank names only: name a table, or leave it out", setting="tables")
    return tables


def _is_given(value: Any) -> bool:
    # The form shows an untouched object as {} and sends an emptied list as []; 0 and false are answers.
    return value is not None and value != [] and value != {}


def _text(name: str, value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    text = json.dumps(value) if isinstance(value, dict) else str(value)
    if len(text) > _MAX_SETTING_CHARACTERS:
        raise ConfigError(
            f"{name} has {len(text):,} characters of at most {_MAX_SETTING_CHARACTERS:,}: put it into the "
            "configuration file",
            setting=name,
        )
    return text


def resolve_run_date(
    asked: str | None,
    start: datetime | None,
    end: datetime | None,
    run_after: datetime,
    zone: tzinfo = UTC,
) -> date:
    """Return the night of a run: the one ``asked`` for, else the day its data interval starts in.

    ``start``, ``end``: of the interval. ``zone``: of the log, whose days the nights are. A day that is not
    over at its end is not read yet: the night is the day before, as of an hourly run, and of Airflow's
    trigger timetables, whose intervals have no length. A run that the API triggers without a logical date has
    no interval: it is about the day before ``run_after``. A *logical date* is never used, since it starts the
    interval of a scheduled run and ends the interval of a manual one.

    Raises ConfigError if ``asked`` is not a date.
    """
    if asked is not None:
        try:
            return date.fromisoformat(asked)
        except ValueError:
            raise ConfigError(
                f"run_date {asked!r} is not a date such as 2026-11-20", setting="run_date"
            ) from None
    complete = (end or run_after).astimezone(zone).date() - timedelta(days=1)
    return min(start.astimezone(zone).date(), complete) if start is not None else complete
