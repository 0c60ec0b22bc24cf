"""Options that stand for settings: type, bounds, help and default come from the declaration; ``--set``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from starskip.cli.choice import Choice
from starskip.errors import ConfigError, printable
from starskip.settings import Settings
from starskip.settings.declared import Declared
from starskip.settings.setting_value import setting_value, shown_value

F = TypeVar("F", bound=Callable[..., Any])

_CORE = {each.place: each for each, _ in Settings().items()}


def setting_option(flag: str, place: str, *, metavar: str | None = None) -> Callable[[F], F]:
    """Return the option ``flag`` for a setting of the core, such as ``advice.max_indexes``."""
    declared = _CORE[place]
    default = shown_value(declared, declared.default)
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


class _Number(click.ParamType[Any]):
    """A number of a setting, in all forms that a setting takes: ``0.05``, ``5%``, ``10MB``."""

    name = "number"

    def __init__(self, declared: Declared) -> None:
        """Keep the declaration, which has unit and bounds."""
        self._declared = declared

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; fails with the values that are allowed."""
        try:
            return setting_value(self._declared, value)
        except ConfigError as error:
            self.fail(str(error).removeprefix(f"{self._declared.place}: "), param, ctx)


def _type(declared: Declared) -> click.ParamType[Any]:
    if declared.kind in (int, float):
        return _Number(declared)
    if declared.facts.choices:
        return Choice([*declared.facts.choices, *declared.facts.aliases])
    return click.STRING


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
