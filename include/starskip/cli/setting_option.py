"""Options that stand for settings: type, bounds, help and default come from the declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from starskip.settings import Settings
from starskip.settings.declared import Declared
from starskip.settings.setting_value import value_text

F = TypeVar("F", bound=Callable[..., Any])

_CORE = {each.place: each for each, _ in Settings().items()}


def setting_option(flag: str, place: str, *, metavar: str | None = None) -> Callable[[F], F]:
    """Return the option ``flag`` for a setting of the core, such as ``advice.max_indexes``."""
    declared = _CORE[place]
    default = value_text(declared.default)
    return click.option(
        flag,
        place.replace(".", "__"),
        type=_type(declared),
        default=None,
        metavar=metavar,
        help=f"{declared.facts.help} [default: {default}]" if default else declared.facts.help,
    )


def given_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values given to options of ``setting_option``, by ``group.name``; None if not given."""
    return {name.replace("__", ".", 1): value for name, value in options.items()}


def _type(declared: Declared) -> click.ParamType[Any]:
    facts = declared.facts
    if declared.kind is int:
        return click.IntRange(_whole(facts.at_least), _whole(facts.at_most))
    if declared.kind is float:
        return click.FloatRange(facts.at_least, facts.at_most)
    if facts.choices:
        return click.Choice([*facts.choices, *facts.aliases])
    return click.STRING


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)
