"""Settings in environments: ``STARSKIP_``, the group, two underscores and the name, in capitals."""

from __future__ import annotations

from collections.abc import Mapping

from starskip.errors import ConfigError
from starskip.settings.overrides import Warn, former_places, unknown_setting
from starskip.settings.settings import Settings

_PREFIX = "STARSKIP_"


def environment_overrides(
    environment: Mapping[str, str], settings: Settings, *, warn: Warn
) -> dict[str, str]:
    """Return what the environment gives of the settings that there are, by ``group.name``.

    ``warn`` is called with a line for each name from before there were groups; a new name wins over it.
    Raises ConfigError for a name that its group does not have.
    """
    places = {_variable(each.place): each.place for each, _ in settings.items()}
    groups = tuple(_variable(f"{group.group}.") for group in settings.groups)
    found = {}
    for name, place in former_places(settings).items():
        old = _PREFIX + name.upper()
        if old in environment:
            new = _variable(place)
            warn(f"environment: {old} is now {new}; its old name is read in this release only")
            found[place] = environment[old]
    for name, value in environment.items():
        if name in places:
            found[places[name]] = value
        elif name.startswith(groups):
            asked = name.removeprefix(_PREFIX).lower().replace("__", ".", 1)
            error = unknown_setting(settings, asked)
            raise ConfigError(f"environment: {name}: {error}", setting=asked)
    return found


def settings_environment(values: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which ``environment_overrides`` finds ``values``, given by ``group.name``."""
    return {_variable(place): value for place, value in values.items()}


def _variable(place: str) -> str:
    return _PREFIX + place.replace(".", "__").upper()
