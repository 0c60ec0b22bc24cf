"""Index types by their kind, those of users too, and indexes by their specification ``minmax:ts``."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import TypeVar

from starskip.errors import ConfigError
from starskip.indexes.skipping.column_name import column_name, column_path
from starskip.indexes.skipping.index_types.bloom_filter import BloomFilter
from starskip.indexes.skipping.index_types.formatted import Formatted
from starskip.indexes.skipping.index_types.gap_list import GapList
from starskip.indexes.skipping.index_types.geo_box import GeoBox
from starskip.indexes.skipping.index_types.hybrid import Hybrid
from starskip.indexes.skipping.index_types.metric_dist import MetricDist
from starskip.indexes.skipping.index_types.min_max import MinMax
from starskip.indexes.skipping.index_types.null_count import NullCount
from starskip.indexes.skipping.index_types.partition import Partition
from starskip.indexes.skipping.index_types.prefix import Prefix
from starskip.indexes.skipping.index_types.suffix import Suffix
from starskip.indexes.skipping.index_types.value_list import ValueList
from starskip.indexes.skipping.skipping_index import SkippingIndex

OWN_TYPES: tuple[type[SkippingIndex], ...] = (
    MinMax,
    NullCount,
    ValueList,
    BloomFilter,
    Hybrid,
    Prefix,
    Suffix,
    GapList,
    GeoBox,
    Formatted,
    MetricDist,
    Partition,
)
"""The index types that come with Starskip."""

_types: dict[str, type[SkippingIndex]] = {each.kind: each for each in OWN_TYPES}
_OWN_KINDS = frozenset(_types)
_KIND = re.compile(r"[a-z][a-z0-9_]*")
_PART = r"(?:`(?:[^`]|``)+`|[^\s.,:`]+)"
_COLUMN = rf"{_PART}(?:\.{_PART})*"
_SPECIFICATION = re.compile(rf"({_KIND.pattern}):({_COLUMN}(?:,{_COLUMN})*)((?::[^:]*)*)")

Registered = TypeVar("Registered", bound=type[SkippingIndex])


def register(index_type: Registered) -> Registered:
    """Make an index type of a user known by its ``kind``; a decorator. A later one of that kind replaces it.

    Raises ConfigError for a kind that is none, or that of a type of Starskip's own.
    """
    kind = getattr(index_type, "kind", None)
    if not isinstance(kind, str) or not _KIND.fullmatch(kind) or kind in _OWN_KINDS:
        raise ConfigError(
            f"index type {index_type.__name__}: kind {kind!r} must be a word of a-z, 0-9 and _ "
            f"that is none of {', '.join(sorted(_OWN_KINDS))}",
            setting="index",
        )
    _types[kind] = index_type
    return index_type


def index_from_specification(specification: str) -> SkippingIndex:
    """Return the index that ``KIND:COLUMN[,COLUMN…][:ARGUMENT…]`` names; raise ConfigError if none does."""
    found = _SPECIFICATION.fullmatch(specification)
    if found is None:
        raise ConfigError(
            f"index {specification!r}: write KIND:COLUMN[,COLUMN…][:ARGUMENT…], such as minmax:ts; "
            "column names of other signs in backticks",
            setting="index",
        )
    kind, columns, arguments = found.groups()
    index_type = _types.get(kind)
    if index_type is None:
        raise ConfigError(
            f"index {specification!r}: no index type is called {kind}; known are {', '.join(sorted(_types))}"
            "; for one of your own name its module with --module",
            setting="index",
        )
    names = [column_name(column_path(each)) for each in re.findall(_COLUMN, columns)]
    return index_type.parsed(names, arguments.split(":")[1:])


def load_modules(names: Iterable[str]) -> None:
    """Import modules that register index types and map functions; raise ConfigError if one cannot be."""
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            # Not one that this module imports in turn.
            if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
                why = "Python finds none of that name; put its folder on PYTHONPATH"
            raise ConfigError(
                f"module {name!r} of index types cannot be imported: {why}", setting="modules"
            ) from error
