"""Settings of secondary indexes in a Spark session, such as ``spark.starskip.secondary.planning_entries``."""

from __future__ import annotations

from collections.abc import Mapping

from starskip.secondary.settings import SecondarySettings
from starskip.settings import Settings
from starskip.settings.group import declared_settings
from starskip.settings.setting_value import setting_value, value_text

_NAMES = {f"spark.starskip.{each.place}": each for each in declared_settings(SecondarySettings)}
SECONDARY_NAMES = tuple(_NAMES)


def secondary_settings(of_session: Mapping[str, str]) -> SecondarySettings:
    """Return the settings of a session, with defaults; raise ConfigError naming a wrong one."""
    given = {
        each.name: setting_value(each, of_session[name])
        for name, each in _NAMES.items()
        if name in of_session
    }
    return SecondarySettings(**given)


def as_session_settings(settings: Settings) -> dict[str, str]:
    """Return a night's settings in the form that ``secondary_settings`` reads."""
    own = settings.of(SecondarySettings)
    return {name: value_text(getattr(own, each.name)) for name, each in _NAMES.items()}
