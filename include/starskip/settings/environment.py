"""Settings in environments: ``STARSKIP_``, the group, two underscores and the name, in capitals."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from starskip.errors import ConfigError
from starskip.settings.overrides import unknown_setting
from starskip.settings.settings import Settings

_PREFIX = "STARSKIP_"
_SIMILARITY = 0.85
"""The least similarity by which a name without a group is taken for a misspelt setting."""


def environment_overrides(environment: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Return the settings that the environment gives, by ``group.name``.

    Raises ConfigError for an unknown group or name, and for a name without a group that looks like a setting.
    """
    places = {_variable(each.place): each.place for each, _ in settings.items()}
    near_ones = {_PREFIX + each.name.upper(): _variable(each.place) for each, _ in settings.items()}
    near_ones |= {variable.replace("__", "_", 1): variable for variable in places}
    found = {}
    for name, value in environment.items():
        if name in places:
            found[places[name]] = value
        elif name.startswith(_PREFIX) and "__" in name:
            asked = name.removeprefix(_PREFIX).lower().replace("__", ".", 1)
            error = unknown_setting(settings, asked)
            raise ConfigError(f"environment: {name}: {error}", setting=asked)
        elif name.startswith(_PREFIX):
            for near in get_close_matches(name, near_ones, n=1, cutoff=_SIMILARITY):
                raise ConfigError(f"environment: {name} is not known: use {near_ones[near]}", setting=name)
    return found


def settings_environment(values: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which ``environment_overrides`` finds ``values``, given by ``group.name``."""
    return {_variable(place): value for place, value in values.items()}


def _variable(place: str) -> str:
    return _PREFIX + place.replace(".", "__").upper()
