"""Spark queries leave irrelevant files alone: ``from starskip.spark import skipping`` (seeds 003, 004)."""

from starskip.spark.skipping.lifecycle import (
    create,
    delete,
    describe,
    list_indexes,
    optimize,
    refresh,
    restore,
    vacuum,
)
from starskip.spark.skipping.session import (
    disable,
    enable,
    explain,
    is_enabled,
    last_query_stats,
    skip,
)

__all__ = [
    "create",
    "delete",
    "describe",
    "disable",
    "enable",
    "explain",
    "is_enabled",
    "last_query_stats",
    "list_indexes",
    "optimize",
    "refresh",
    "restore",
    "skip",
    "vacuum",
]
