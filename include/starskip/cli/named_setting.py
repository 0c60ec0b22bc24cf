"""``--set GROUP.NAME=VALUE``: settings by name, each with one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from starskip.errors import printable
from starskip.settings import Settings
from starskip.settings.setting_value import setting_value


def named_settings(texts: Iterable[str]) -> dict[str, str]:
    """Return values by name; raises click.BadParameter for another form, and for two values of one name."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not GROUP.NAME=VALUE", param_hint="--set")
        if found.setdefault(name, value) != value:
            raise _two_values(name)
    return found


def check_given_once(settings: Settings, options: Mapping[str, Any], named: Mapping[str, str]) -> None:
    """Raise click.BadParameter if an option and ``--set`` give a setting different values.

    ``options``: by ``group.name``, None if an option was not given. A wrong value raises ConfigError.
    """
    declared = {each.place: each for each, _ in settings.items()}
    for place, text in named.items():
        given = options.get(place)
        if given is not None and setting_value(declared[place], text) != setting_value(
            declared[place], given
        ):
            raise _two_values(place)


def _two_values(name: str) -> click.BadParameter:
    return click.BadParameter(
        f"{printable(name, 100)} is given two values: leave one out", param_hint="--set"
    )
