"""Settings at their defaults, with the groups and the names of the index families that there are."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.indexes.skipping.settings import SkippingSettings
from starskip.indexes.star_tree.settings import StarTreeSettings
from starskip.settings import Settings

_KINDS = ("inverted", "range", "sorted", "star_tree", "skipping")


def family_defaults(modules: Sequence[str] = ()) -> Settings:
    """Return all settings at their defaults, with those of the families of users' ``modules``."""
    del modules  # no family of a user's module brings settings yet
    return Settings(families=(StarTreeSettings(), SkippingSettings()), kinds=_KINDS)
