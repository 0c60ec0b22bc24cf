"""A secondary index by its specification: ``btree:ts``, ``rtree:lat,lng``, ``ngram:message``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property

import pyarrow as pa

from starskip.errors import ConfigError
from starskip.predicates.column_name import column_path
from starskip.predicates.ordered_values import is_text
from starskip.skipping.registry import specification_parts
from starskip.skipping.skipping_index import SkippingIndex

DEFAULT_GRAM_LENGTH = 3
_LONGEST_GRAM = 3
"""Characters of 21 bits each that fit a 64-bit number, by which grams are sorted."""
_COORDINATES = (
    pa.types.is_float64,
    pa.types.is_float32,
    pa.types.is_int8,
    pa.types.is_int16,
    pa.types.is_int32,
)
"""Types whose values are exact as doubles."""
_ORDERED = (
    pa.types.is_integer,
    pa.types.is_float64,
    pa.types.is_float32,
    pa.types.is_decimal128,
    pa.types.is_boolean,
    pa.types.is_date32,
    pa.types.is_timestamp,
    pa.types.is_string,
    pa.types.is_binary,
)


class Kind(Enum):
    """The kinds of index; PRIMARY keeps the bounds of row groups, the others map values to rows."""

    BTREE = "btree"
    RTREE = "rtree"
    NGRAM = "ngram"
    PRIMARY = "primary"


class SecondaryIndex(SkippingIndex):
    """An index that maps values of its columns to row addresses.

    It has columns and a name like a skipping index, so that the lifecycle of metadata is the same. It labels
    no predicate, since it selects rows and not files.
    """

    def __init__(self, kind: Kind, columns: tuple[str, ...], gram_length: int = DEFAULT_GRAM_LENGTH) -> None:
        """Take the parts of a specification."""
        given = (str(gram_length),) if gram_length != DEFAULT_GRAM_LENGTH else ()
        super().__init__(columns, given)
        self.kind_of_index = kind
        self.gram_length = gram_length

    @property
    def specification(self) -> str:
        """``KIND:COLUMN[,COLUMN][:ARGUMENT]``, which is also the index's name."""
        return ":".join([self.kind_of_index.value, ",".join(self.columns), *self.arguments])

    @cached_property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The columns as paths of columns and fields."""
        return tuple(column_path(name) for name in self.columns)

    def check(self, data_types: Mapping[str, pa.DataType]) -> None:
        """Raise ConfigError if columns of these Arrow types, by dotted name, cannot be indexed."""
        for name in self.columns:
            found = data_types.get(name)
            if found is None:
                raise ConfigError(
                    f"index {self.specification}: the table has no column {name}", setting="index"
                )
            if not self._takes(found):
                raise ConfigError(
                    f"index {self.specification}: column {name} is {found}; {_TAKEN[self.kind_of_index]}",
                    setting="index",
                )

    def _takes(self, found: pa.DataType) -> bool:
        if self.kind_of_index is Kind.NGRAM:
            return is_text(found)
        of = _COORDINATES if self.kind_of_index is Kind.RTREE else _ORDERED
        return any(is_of(found) for is_of in of)


_TAKEN = {
    Kind.BTREE: "a b-tree takes numbers, texts, binary values, booleans, dates and times",
    Kind.PRIMARY: "a clustering key is a number, text, binary value, boolean, date or time",
    Kind.RTREE: "an r-tree takes doubles, floats and whole numbers of up to 32 bits",
    Kind.NGRAM: "n-grams are of texts",
}


def secondary_index(specification: str) -> SecondaryIndex:
    """Parse a specification; raise ConfigError if it is invalid."""
    name, columns, arguments = specification_parts(specification)
    if name not in {kind.value for kind in Kind}:
        raise ConfigError(
            f"index {specification!r}: no kind of secondary index is called {name}; "
            "known are btree, ngram and rtree",
            setting="index",
        )
    kind = Kind(name)
    wanted = 2 if kind is Kind.RTREE else 1
    if len(columns) != wanted:
        raise ConfigError(
            f"index {specification!r}: {name} is of {wanted} column{'s' if wanted > 1 else ''}",
            setting="index",
        )
    if len(arguments) > (1 if kind is Kind.NGRAM else 0):
        raise ConfigError(f"index {specification!r}: too many arguments", setting="index")
    if not arguments:
        return SecondaryIndex(kind, columns)
    if not arguments[0].isdecimal() or not 1 <= int(arguments[0]) <= _LONGEST_GRAM:
        raise ConfigError(
            f"index {specification!r}: n is a whole number from 1 to {_LONGEST_GRAM}", setting="index"
        )
    return SecondaryIndex(kind, columns, int(arguments[0]))
