"""Settings in environments: ``STARSKIP_``, the group, two underscores and the name, in capitals."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from starskip.errors import ConfigError
from starskip.settings.overrides import Warn, former_places, unknown_setting
from starskip.settings.settings import Settings

_PREFIX = "STARSKIP_"
_SIMILARITY = 0.85
"""The least by which a flat name is taken for a misspelt setting, and not for a name of something else."""


def environment_overrides(
    environment: Mapping[str, str], settings: Settings, *, warn: Warn
) -> dict[str, str]:
    """Return what the environment gives of the settings that there are, by ``group.name``.

    ``warn`` is called with a line for each name from before there were groups. Raises ConfigError for a group
    or a name in it that is not known, for a flat name that looks like a misspelt setting, and for an old name
    and a new one that differ.
    """
    places = {_variable(each.place): each.place for each, _ in settings.items()}
    former = former_variables(settings)
    near_ones = {variable.replace("__", "_", 1): variable for variable in places}
    near_ones |= {old: _variable(place) for old, place in former.items()}
    found = {}
    for old, place in former.items():
        if old in environment:
            new = _variable(place)
            if environment.get(new, environment[old]) != environment[old]:
                problem = f"{old} and {new} give two values for one setting: leave out {old}"
                raise ConfigError(f"environment: {problem}", setting=place)
            warn(f"environment: {old} is now {new}; its old name is read in this release only")
            found[place] = environment[old]
    for name, value in environment.items():
        if name in places:
            found[places[name]] = value
        elif name.startswith(_PREFIX) and "__" in name:
            asked = name.removeprefix(_PREFIX).lower().replace("__", ".", 1)
            error = unknown_setting(settings, asked)
            raise ConfigError(f"environment: {name}: {error}", setting=asked)
        elif name.startswith(_PREFIX) and name not in former:
            for near in get_close_matches(name, near_ones, n=1, cutoff=_SIMILARITY):
                raise ConfigError(f"environment: {name} is not known: use {near_ones[near]}", setting=name)
    return found


def former_variables(settings: Settings) -> dict[str, str]:
    """Return the place of each setting by the variable that it had before there were groups."""
    return {_PREFIX + name.upper(): place for name, place in former_places(settings).items()}


def settings_environment(values: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which ``environment_overrides`` finds ``values``, given by ``group.name``."""
    return {_variable(place): value for place, value in values.items()}


def _variable(place: str) -> str:
    return _PREFIX + place.replace(".", "__").upper()
