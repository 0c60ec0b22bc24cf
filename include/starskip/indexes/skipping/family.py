"""The family of skipping indexes: metadata of files by which queries on the lake leave files alone."""

from __future__ import annotations

from starskip.indexes.family import Family
from starskip.indexes.skipping.settings import SkippingSettings

SKIPPING = Family(
    name="skipping",
    singular="a skipping index",
    plural="skipping indexes",
    settings=SkippingSettings,
)
"""Skipping indexes of tables of the lake."""
