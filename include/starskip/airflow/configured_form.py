"""The trigger form for the configuration of the nights: its index families, and its tables to choose from."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from airflow.sdk import Param

from starskip.advisor.families.family_settings import family_defaults
from starskip.airflow.early_config import EarlyConfig
from starskip.airflow.night_request import PUBLISH
from starskip.errors import StarskipError
from starskip.night.configuration.config_document import ConfigDocument
from starskip.settings import Settings
from starskip.settings.declared import Declared
from starskip.settings.setting_value import allowed_values
from starskip.settings.written_number import is_share, number_pattern

TABLE_NAME_PATTERN = r"^([A-Za-z0-9_][A-Za-z0-9_.\-]*)?$"
"""Names that Pinot takes; a name that begins with a dash could be read as an option of a command.

An empty name passes, since the form sends one for every empty line; ``night_request`` leaves it out.
"""

_MOST_TABLES = 1_000


def configured_form(config: EarlyConfig) -> dict[str, Param]:
    """Return the params of a nightly DAG as the configuration of its nights has them.

    A configuration that is wrong, or lies in an object store, does not change the form.
    """
    if config.document is None:
        return trigger_form(family_defaults())
    try:
        defaults = family_defaults(config.document.modules("families"))
        return trigger_form(defaults, known_tables(config.document))
    except (StarskipError, OSError):
        return trigger_form(family_defaults())


def known_tables(document: ConfigDocument) -> list[str]:
    """Return the tables of the configuration in order of their names; none if these may not be all."""
    found: list[str] = document.texts("tables")
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


def trigger_form(settings: Settings, tables: Sequence[str] = ()) -> dict[str, Param]:
    """Return the params by name, as the form shows them; null means "as configured", for tables "all".

    ``tables``: the tables to choose from; without any, names are typed, one a line. Settings have the names
    of the configuration, such as ``advice.max_indexes``, and stand below the headings of their groups.
    """
    headings = {group.group: group.heading for group in settings.groups}
    to_choose: dict[str, Any] = {"examples": list(tables)} if tables else {}
    return {
        "run_date": Param(
            None,
            type=["null", "string"],
            format="date",
            title="Night",
            description="The day whose queries are read. Empty: the day in which the data interval starts.",
        ),
        "tables": Param(
            None,
            type=["null", "array"],
            items={"type": "string", "pattern": TABLE_NAME_PATTERN, "maxLength": 200},
            maxItems=1000,
            title="Tables",
            description="Names without type suffix. Empty: as configured, else all tables.",
            **to_choose,
        ),
        "publish": Param(
            PUBLISH[0],
            type="string",
            enum=list(PUBLISH),
            title="Publish",
            values_display={
                "auto": "unless settings are changed below",
                "yes": "as the night's advice, whatever the settings",
                "no": "no: a dry run, kept beside the night's advice",
            },
            description="A run that is not published is an experiment: its reports stand beside the night's.",
        ),
        **{
            each.place: Param(
                None,
                title=each.facts.title,
                description=_description(each),
                section=headings[each.group],
                **_schema(each, list(each.facts.choices or settings.kinds)),
            )
            for each, _ in settings.items()
            if each.facts.title
        },
    }


def _description(declared: Declared) -> str:
    if declared.kind not in (int, float):
        return declared.facts.help
    return f"{declared.facts.help} Use {allowed_values(declared).removesuffix(', or none')}."


def _schema(declared: Declared, choices: list[str]) -> dict[str, Any]:
    facts = declared.facts
    if declared.kind is bool:
        return {"type": ["null", "boolean"]}
    if declared.kind in (int, float):
        bounds = {"minimum": facts.at_least, "maximum": facts.at_most}
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        # Beside the type, the form would make bounds limits of the field, and replace a number beyond them by
        # the nearest limit. In here they are only judged, and Airflow refuses the number by name.
        kind = "integer" if declared.kind is int else "number"
        pattern = number_pattern(facts.unit)
        if pattern and (not is_share(facts.unit) or given == {"minimum": 0, "maximum": 1}):
            # The first type makes a field of text, for ``5%`` and ``10MB``; numbers are still taken.
            return {"type": ["null", "string", kind], "allOf": [given], "pattern": pattern}
        return {"type": ["null", kind], "allOf": [given]}
    if facts.json_values:
        values = dict(facts.json_values)
        return {"type": ["null", "object"], "additionalProperties": values, "maxProperties": 1000}
    if facts.is_list:
        items = {"type": "string", "enum": choices}
        return {"type": ["null", "array"], "items": items, "uniqueItems": True, "examples": choices}
    text: dict[str, Any] = {"type": ["null", "string"]}
    if facts.choices:
        return {**text, "enum": [*facts.choices, None], "values_display": {"null": "as configured"}}
    return {**text, "maxLength": 200, **({"pattern": f"^({facts.pattern})$"} if facts.pattern else {})}
