"""The configuration of a DAG's nights, as far as it can be read early, and the trigger form made of it.

The report pages are shown by the API server, which may not see the file of the configuration: what they need
of it travels in the DAG, as Airflow stores it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from airflow.sdk import Param

from starskip.advisor.families.family_settings import family_defaults
from starskip.airflow.night_request import PUBLISH, TABLE_NAME_PATTERN
from starskip.errors import StarskipError
from starskip.night.configuration.config_document import ConfigDocument, config_document
from starskip.settings import Settings
from starskip.settings.declared import Declared
from starskip.settings.environment import environment_overrides
from starskip.settings.overrides import with_overrides
from starskip.settings.setting_value import shown_value
from starskip.storage.files.object_url import object_url

SHOWN = (
    "advice.max_indexes",
    "advice.index_budget_bytes",
    "advice.index_kinds",
    "advice.unit",
    "advice.min_gain_ratio",
    "workload.look_back_nights",
    "scoring.pinot_version",
    "building.build_indexes",
)
"""The settings that have a field; a run takes every other one that has a title as JSON."""

# To choose from, so that the form itself takes nothing else: it checks no bounds, and Airflow's refusal comes
# when the DAG is switched on already.
_CHOICES = {"advice.max_indexes": range(1, 65), "workload.look_back_nights": range(1, 32)}
_EXAMPLES = {
    "advice.index_budget_bytes": ["100 MB", "1 GB", "10 GB"],
    "advice.min_gain_ratio": ["0.5%", "1%", "5%"],
    "scoring.pinot_version": ["0.11", "1.2.0", "1.5.0"],
}

_MOST_TABLES = 1_000


def configured_form(config: EarlyConfig) -> dict[str, Param]:
    """Return the params of a nightly DAG as the configuration of its nights has them.

    A configuration that is wrong, or lies in an object store, does not change the form.
    """
    if config.document is None:
        return trigger_form(family_defaults())
    try:
        return trigger_form(_configured(config.document), known_tables(config.document), is_configured=True)
    except (StarskipError, OSError):
        return trigger_form(family_defaults())


def _configured(document: ConfigDocument) -> Settings:
    """Return the settings of file and environment; what is JSON in them is judged by the tasks alone."""
    settings = family_defaults(document.modules("families"))
    settings = with_overrides(settings, document.mapping("settings"), origin=document.path)
    return with_overrides(settings, environment_overrides(os.environ, settings), origin="environment")


def _zone(document: ConfigDocument) -> str:
    """Return the zone of the log, UTC where a setting is wrong, which the first task says."""
    try:
        return _configured(document).log.time_zone
    except (StarskipError, OSError):
        return Settings().log.time_zone


def known_tables(document: ConfigDocument) -> list[str]:
    """Return the tables of the configuration in order of their names; none if these may not be all."""
    found: list[str] = document.names("tables")
    if not found:
        segments = document.value("sources.segments_root")
        folder = document.beside(segments) if isinstance(segments, str) else ""
        if "://" in folder:
            return []
        found = [*document.mapping("sources.lake_tables"), *_folders(folder)]
    names = {name for name in found if name and re.fullmatch(TABLE_NAME_PATTERN, name)}
    return sorted(names) if len(names) <= _MOST_TABLES else []


def _folders(path: str) -> Iterator[str]:
    if path and Path(path).is_dir():
        with os.scandir(path) as entries:
            yield from islice((entry.name for entry in entries if entry.is_dir()), _MOST_TABLES + 1)


def trigger_form(
    settings: Settings, tables: Sequence[str] = (), *, is_configured: bool = False
) -> dict[str, Param]:
    """Return the params by name, as the form shows them; null means "as configured", for tables "all".

    ``tables``: the tables to suggest. ``is_configured``: whether ``settings`` come from the configuration,
    or are only what there is to set. Settings have the names of the configuration, such as
    ``advice.max_indexes``.
    """
    suggested: Any = {"examples": list(tables)} if tables else {}
    by_place = {each.place: (each, value) for each, value in settings.items()}
    return {
        "run_date": Param(
            None,
            type=["null", "string"],
            format="date",
            title="Night",
            description="The day whose queries are read. Empty: the day in which the data interval starts.",
        ),
        # A text as its first type makes a field that suggests names. In one that chooses several, Enter takes
        # the first name that holds what was typed, and what no name holds is dropped: that means all tables.
        "tables": Param(
            None,
            type=["null", "string", "array"],
            items={"type": "string", "pattern": TABLE_NAME_PATTERN, "maxLength": 200},
            maxItems=1000,
            maxLength=10_000,
            title="Tables",
            description="Names without type suffix, with commas between them. Empty: as configured, or all.",
            **suggested,
        ),
        "publish": Param(
            PUBLISH[0],
            type="string",
            enum=list(PUBLISH),
            title="Publish",
            values_display={
                "auto": "auto: unless a setting below is changed",
                "yes": "yes: as the night's advice, whatever the settings",
                "no": "no: a dry run, beside the night's advice",
            },
            description="A run that is not published is kept beside the night's advice, and builds nothing.",
        ),
        **{
            place: Param(
                None,
                title=each.facts.title,
                description=f"{each.facts.help}{f' Configured{in_force}.' if in_force else ''}",
                **_schema(each, settings.kinds, in_force),
            )
            for place in SHOWN
            for each, value in [by_place[place]]
            for in_force in [f": {shown_value(each, value)}" if is_configured else ""]
        },
    }


def _schema(declared: Declared, kinds: Sequence[str], in_force: str) -> dict[str, Any]:
    facts = declared.facts
    empty = {"null": f"as configured{in_force}"}
    if facts.is_list:
        items = {"type": "string", "enum": list(kinds)}
        return {"type": ["null", "array"], "items": items, "uniqueItems": True, "examples": list(kinds)}
    if declared.kind is bool:
        # As a switch, no value would look like false. The type of text makes a field to choose from.
        names = {"true": "yes", "false": "no"}
        kinds_of_value = ["null", "string", "boolean"]
        return {"type": kinds_of_value, "enum": [True, False, None], "values_display": empty | names}
    if choices := list(facts.choices or _CHOICES.get(declared.place, ())):
        kind = "string" if facts.choices else "integer"
        return {"type": ["null", kind], "enum": [*choices, None], "values_display": empty}
    # A field of text for ``5%`` and ``10MB``, which the first task judges: of what Airflow refuses, its page
    # says "Bad Request", and quotes the schema where nobody looks.
    of_number = {int: ["integer"], float: ["number"]}.get(declared.kind, [])
    return {"type": ["null", "string", *of_number], "maxLength": 200, "examples": _EXAMPLES[declared.place]}


@dataclass(frozen=True, slots=True)
class EarlyConfig:
    """A configuration by its place; without a document it lies in an object store, or has a ``problem``."""

    place: str
    document: ConfigDocument | None
    problem: str = ""

    def report_source(self) -> dict[str, Any]:
        """Return what the report pages need, as JSON: where the store is, the tables, the zone of the log.

        A configuration in an object store is named alone: the pages read it themselves.
        """
        if self.document is None:
            return {"config": self.place, "problem": self.problem}
        try:
            store = self.document.beside(self.document.text("store.artefacts"))
            tables = self.document.names("tables")
        except StarskipError as error:
            return {"config": self.place, "problem": str(error)}
        return {"config": self.place, "store": store, "tables": tables, "time_zone": _zone(self.document)}


def early_config(place: str) -> EarlyConfig:
    """Read the configuration, unless it lies in an object store.

    Airflow imports a DAG file too often to wait for a network, and a configuration that is wrong must not
    lose the DAG: its first task reports the fault.
    """
    try:
        return EarlyConfig(place, None if object_url(place) else config_document(place))
    except StarskipError as error:
        return EarlyConfig(place, None, str(error))
    except OSError as error:
        return EarlyConfig(place, None, f"cannot read the configuration {place}: {error.strerror}")
