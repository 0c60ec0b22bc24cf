"""Register index types by kind, and parse specifications such as ``minmax:ts`` into indexes."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import TypeVar

from starskip.errors import ConfigError
from starskip.predicates.column_name import column_name, column_path
from starskip.skipping.contrib.formatted import Formatted
from starskip.skipping.contrib.geometry_box import GeometryBox
from starskip.skipping.contrib.ip_networks import IpNetworks
from starskip.skipping.contrib.metric_dist import MetricDist
from starskip.skipping.index_types.affixes import Prefix, Suffix
from starskip.skipping.index_types.bloom_filter import BloomFilter
from starskip.skipping.index_types.elements import Elements, MapValue
from starskip.skipping.index_types.gap_list import GapList
from starskip.skipping.index_types.geo_box import GeoBox
from starskip.skipping.index_types.hybrid import Hybrid
from starskip.skipping.index_types.min_max import MinMax, Partition
from starskip.skipping.index_types.ngrams import Ngrams
from starskip.skipping.index_types.null_count import NullCount
from starskip.skipping.index_types.value_list import ValueList
from starskip.skipping.skipping_index import SkippingIndex

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
    GeometryBox,
    Elements,
    MapValue,
    Ngrams,
    IpNetworks,
    Formatted,
    MetricDist,
    Partition,
)
"""The built-in index types."""

_types: dict[str, type[SkippingIndex]] = {each.kind: each for each in OWN_TYPES}
_OWN_KINDS = frozenset(_types)
_KIND = re.compile(r"[a-z][a-z0-9_]*")
_PART = r"(?:`(?:[^`]|``)+`|[^\s.,:`]+)"
_COLUMN = rf"{_PART}(?:\.{_PART})*"
_SPECIFICATION = re.compile(rf"({_KIND.pattern}):({_COLUMN}(?:,{_COLUMN})*)((?::[^:]*)*)")

Registered = TypeVar("Registered", bound=type[SkippingIndex])


def register(index_type: Registered) -> Registered:
    """Register a user's index type by its ``kind``; a decorator. A later type of the same kind replaces it.

    Raises ConfigError for an invalid kind, or the kind of a built-in type.
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


def specification_parts(specification: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Parse ``KIND:COLUMN[,COLUMN…][:ARGUMENT…]`` into kind, column names and arguments.

    Raises ConfigError if it is invalid.
    """
    found = _SPECIFICATION.fullmatch(specification)
    if found is None:
        raise ConfigError(
            f"index {specification!r}: write KIND:COLUMN[,COLUMN…][:ARGUMENT…], such as minmax:ts; "
            "column names of other signs in backticks",
            setting="index",
        )
    kind, columns, arguments = found.groups()
    names = tuple(column_name(column_path(each)) for each in re.findall(_COLUMN, columns))
    return kind, names, tuple(arguments.split(":")[1:])


def index_from_specification(specification: str) -> SkippingIndex:
    """Parse ``KIND:COLUMN[,COLUMN…][:ARGUMENT…]`` into an index; raise ConfigError if it is invalid."""
    kind, names, arguments = specification_parts(specification)
    index_type = _types.get(kind)
    if index_type is None:
        raise ConfigError(
            f"index {specification!r}: no index type is called {kind}; known are {', '.join(sorted(_types))}"
            "; for one of your own name its module with --module",
            setting="index",
        )
    return index_type.parsed(names, arguments)


def load_modules(names: Iterable[str]) -> None:
    """Import modules that register index types or map functions; raise ConfigError if an import fails."""
    for name in names:
        try:
            importlib.import_module(name)
        except ConfigError:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            # The module itself is missing, not one that it imports.
            if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
                why = "Python finds none of that name; put its folder on PYTHONPATH"
            raise ConfigError(
                f"module {name!r} of index types cannot be imported: {why}", setting="modules"
            ) from error
