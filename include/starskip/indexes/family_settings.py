"""The groups of settings that index families bring."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.indexes.skipping.settings import SkippingSettings
from starskip.indexes.star_tree.settings import StarTreeSettings
from starskip.settings import Settings, SettingsGroup
from starskip.settings.settings import default_settings

FAMILY_SETTINGS: tuple[type[SettingsGroup], ...] = (StarTreeSettings, SkippingSettings)
"""Those of the families that ship here."""


def family_defaults(modules: Sequence[str] = ()) -> Settings:
    """Return all settings at their defaults, with the groups of the families of users' ``modules``."""
    del modules  # no family of a user's module brings settings yet
    return default_settings(FAMILY_SETTINGS)
