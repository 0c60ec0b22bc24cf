"""The family of secondary indexes: from values to rows of lake tables, several of them intersected."""

from __future__ import annotations

from starskip.indexes.family import Family
from starskip.indexes.secondary.settings import SecondarySettings

SECONDARY = Family(
    name="secondary",
    singular="a secondary index",
    plural="secondary indexes",
    settings=SecondarySettings,
)
