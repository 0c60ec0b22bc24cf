"""Register index types by kind, and parse specifications such as ``minmax:ts`` into indexes."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import TypeVar

from starskip.errors import ConfigError
from starskip.extensions import INDEX_TYPES, NOTHING_RECORDED, extensions, loaded, own_extensions
from starskip.predicates.column_name import column_name, column_path
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
    Elements,
    MapValue,
    Ngrams,
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

    Raises ConfigError for an invalid kind, or the kind of a type that comes with Starskip.
    """
    kind = getattr(index_type, "kind", None)
    own = _OWN_KINDS | own_extensions(INDEX_TYPES).keys()
    if not isinstance(kind, str) or not _KIND.fullmatch(kind) or kind in own:
        raise ConfigError(
            f"index type {index_type.__name__}: kind {kind!r} must be a word of a-z, 0-9 and _ "
            f"that is none of {', '.join(sorted(own))}",
            setting="index",
        )
    _types[kind] = index_type
    return index_type


def comes_along(index_type: type[SkippingIndex]) -> bool:
    """Return whether a type comes with Starskip: a built-in one, or one of a package beside it."""
    place = f"{index_type.__module__}:{index_type.__qualname__}"
    return index_type in OWN_TYPES or place in (each.value for each in own_extensions(INDEX_TYPES).values())


def _type_of(kind: str) -> type[SkippingIndex] | None:
    """Return the type of that kind: built in, registered, or an extension; None if there is none."""
    if kind in _types or kind not in extensions(INDEX_TYPES):
        return _types.get(kind)
    extension = extensions(INDEX_TYPES)[kind]
    found: type[SkippingIndex] = loaded(extension)
    if getattr(found, "kind", None) != kind:
        raise ConfigError(f"{extension.value} is no index type whose kind is {kind}", setting="index")
    return found


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
    index_type = _type_of(kind)
    if index_type is None:
        known = {*_types, *extensions(INDEX_TYPES)}
        raise ConfigError(
            f"index {specification!r}: no index type is called {kind}; known are {', '.join(sorted(known))}"
            "; for one of your own name its module with --types"
            f"{'' if own_extensions(INDEX_TYPES) else NOTHING_RECORDED}",
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
