"""Settings at their defaults, with the groups and the names of all index families."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.advisor.families.skipping.settings import SkippingSettings
from starskip.advisor.families.star_tree.settings import StarTreeSettings
from starskip.secondary.settings import SecondarySettings
from starskip.settings import Settings

_BUILT_IN = ("inverted", "range", "sorted", "fst", "star_tree", "skipping", "secondary")


def family_defaults(modules: Sequence[str] = (), faults: dict[str, str] | None = None) -> Settings:
    """Return all settings at their defaults, with those of the families of users' ``modules``.

    ``faults`` as in ``load_families``.
    """
    if not modules:
        # The DAG file needs no more, and families import the cost model's libraries.
        return Settings(
            families=(StarTreeSettings(), SkippingSettings(), SecondarySettings()), kinds=_BUILT_IN
        )
    from starskip.advisor.families.families import load_families  # noqa: PLC0415

    families = load_families(modules, faults)
    return Settings(
        families=tuple(family.settings() for family in families if family.settings is not None),
        kinds=tuple(family.name for family in families),
    )
