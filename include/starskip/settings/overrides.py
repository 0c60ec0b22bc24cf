"""Settings laid over others: a file over the defaults, the environment over the file, arguments last.

The later value wins if it is present: None means "not given", and 0 and false survive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from starskip.errors import ConfigError, printable
from starskip.settings.group import declared_settings
from starskip.settings.setting_value import setting_value
from starskip.settings.settings import Settings


def with_overrides(settings: Settings, overrides: Mapping[str, Any], *, origin: str) -> Settings:
    """Return ``settings`` with the given values laid over.

    Names are ``group.name``, or names of groups with a mapping of names inside. ``origin`` says where the
    values come from. Raises ConfigError for a name or value that is wrong.
    """
    known = {each.place: each for each, _ in settings.items()}
    found: dict[str, Any] = {}
    try:
        for place, value in _by_place(settings, overrides):
            if place not in known:
                raise unknown_setting(settings, place)
            if place in found:
                raise ConfigError(f"{place} is given twice: leave one out", setting=place)
            found[place] = value
        given = {place: value for place, value in found.items() if value is not None}
        return settings.changed({place: setting_value(known[place], value) for place, value in given.items()})
    except ConfigError as error:
        raise ConfigError(f"{origin}: {error}", setting=error.setting) from None


def unknown_setting(settings: Settings, name: str) -> ConfigError:
    """Return the error about an unknown setting, with similar names."""
    groups = {group.group: group for group in settings.groups}
    group = groups.get(name.partition(".")[0])
    if group is not None:
        places = [each.place for each in declared_settings(type(group))]
        near = get_close_matches(name, places, n=1)
        use = ", ".join(dict.fromkeys([*near, *places]))
    else:
        use = f"{_nearest_place(settings, name)}, or another one of the groups {', '.join(groups)}"
    return ConfigError(f"setting {printable(name, 100)!r} is not known: use {use}", setting=name)


def _nearest_place(settings: Settings, name: str) -> str:
    group, dot, inside = name.partition(".")
    places = [each.place for each, _ in settings.items()]
    near_groups = get_close_matches(group, [each.group for each in settings.groups], n=1) if dot else []
    same_name = [f"{each}.{inside}" for each in near_groups if f"{each}.{inside}" in places]
    near = same_name or get_close_matches(name, places, n=1, cutoff=0.5)
    return near[0] if near else f"{near_groups[0] if near_groups else 'group'}.name"


def _by_place(settings: Settings, overrides: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    groups = {group.group for group in settings.groups}
    for name, value in overrides.items():
        if name not in groups:
            yield str(name), value
        elif isinstance(value, Mapping):
            yield from ((f"{name}.{inside}", of_name) for inside, of_name in value.items())
        elif value is not None:
            raise ConfigError(f"{name} must map names of settings to values", setting=name)
