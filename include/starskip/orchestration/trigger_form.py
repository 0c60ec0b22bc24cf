"""Airflow's trigger form of the nightly DAG: its params, out of the declarations of the settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import Param

from starskip.settings import Settings
from starskip.settings.declared import Declared
from starskip.settings.setting_value import allowed_values

TABLE_NAME_PATTERN = r"^([A-Za-z0-9_][A-Za-z0-9_.\-]*)?$"
"""Names that Pinot takes; a name that begins with a dash could be read as an option of a command.

An empty name passes, since the form sends one for every empty line; ``night_request`` leaves it out.
"""


def trigger_form(settings: Settings, tables: Sequence[str] = ()) -> dict[str, Param]:
    """Return the params by name, as the form shows them; null means "as configured", for tables "all".

    ``tables``: those to choose from; without any, names are typed, one a line. Settings are called as in the
    configuration, such as ``advice.max_indexes``, and stand below the headings of their groups.
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
        # Of bounds beside the type the form makes limits of the field, and puts the nearest one in place of a
        # number beyond. In here they are only judged, and Airflow refuses the number by name.
        return {"type": ["null", "integer" if declared.kind is int else "number"], "allOf": [given]}
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
