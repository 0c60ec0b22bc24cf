"""Settings at their defaults, with the groups and the names of the index families that there are."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.indexes.families import load_families
from starskip.settings import Settings


def family_defaults(modules: Sequence[str] = ()) -> Settings:
    """Return all settings at their defaults, with those of the families of users' ``modules``."""
    families = load_families(modules)
    return Settings(
        families=tuple(family.settings() for family in families if family.settings is not None),
        kinds=tuple(family.name for family in families),
    )
