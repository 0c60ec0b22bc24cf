"""Data skipping in Spark: ``from starskip.spark import skipping``.

The functions of ``__all__`` are the public API; docs/skipping-python.md describes each of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from starskip.extras import needing_extra

if TYPE_CHECKING:
    from starskip.spark.skipping.lifecycle import (
        create,
        delete,
        describe,
        list_indexes,
        optimize,
        refresh,
        restore,
        rotate,
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
    "rotate",
    "skip",
    "vacuum",
]
_OF_SESSIONS = frozenset({"disable", "enable", "explain", "is_enabled", "last_query_stats", "skip"})


def __getattr__(name: str) -> Any:
    """Import a public function when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        home = import_module(f"{__name__}.{'session' if name in _OF_SESSIONS else 'lifecycle'}")
    except ImportError:
        with needing_extra("spark"):
            import_module("pyspark")
        if _has_jvm():
            raise
        # Only the Spark Connect client is installed, which has neither a JVM nor py4j.
        return import_module(f"{__name__}.on_spark_connect").without_jvm(name)
    return getattr(home, name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


def _has_jvm() -> bool:
    try:
        import_module("py4j")
        return hasattr(import_module("pyspark"), "SparkContext")
    except ImportError:
        return False
