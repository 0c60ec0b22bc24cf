"""Bounds and null counts of files from a table format's log or manifests, as indexes of a query.

They are copied when files are listed, and no data file is opened for them. One group of columns, ``BOUNDS``,
has the bounds of all columns of the table, by a column's name or id in files and its type. The format itself
skips files by them; here they serve an OR with one part that the format can decide and another that an index
of ours can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.file_metadata.collect_order import BOUNDS, CollectOrder
from starskip.predicates.comparison import Comparison, ComparisonOperator
from starskip.predicates.data_types import family_of
from starskip.predicates.expression import Expression
from starskip.skipping.clause import Clause, all_of
from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.index_types.min_max import MinMax, MinMaxClause
from starskip.skipping.index_types.null_count import NullClause, NullCount
from starskip.skipping.skipping_index import SkippingIndex
from starskip.skipping.value_ranges import anded_comparisons

ROWS = "rows"
MAX_NUMBER = "max_number"
"""The ``end`` of a floating-point column's greatest value except NaN."""
_WITHOUT_NAN = frozenset({ComparisonOperator.IN, ComparisonOperator.BELOW, ComparisonOperator.AT_MOST})


def bound_name(end: str, identity: str, kind: str) -> str:
    """Return the metadata column of an ``end``: min, max, max_number, nulls, or values (their number).

    ``identity``: the column's name or id in files; ``kind``: its type in Spark. With another type it is
    another metadata column.
    """
    return f"{end}:{kind}:{identity}"


class FormatBounds(SkippingIndex):
    """The group ``BOUNDS``, collected like an index; it belongs to the table, and no user names it."""

    kind = BOUNDS

    def __init__(self) -> None:
        """Name no column."""
        super().__init__(())

    @property
    def specification(self) -> str:
        """The name of the group."""
        return BOUNDS

    def label(self, node: Expression) -> Clause | None:  # noqa: ARG002 - SkippingIndex's
        """Label nothing: ``indexes_of`` makes indexes for the columns in a query."""
        return None


class _OfFormat(SkippingIndex):
    """An index of one column over the group ``BOUNDS``."""

    def __init__(self, column: str, identity: str, data_type: str, told: str) -> None:
        """Take the column's name in a query's expressions, and the name of the index for people."""
        super().__init__((column,))
        self._identity = identity
        self._data_type = data_type
        self._told = told

    @property
    def specification(self) -> str:
        """``FORMAT:KIND:COLUMN``."""
        return self._told

    def _name(self, end: str) -> str:
        return bound_name(end, self._identity, self._data_type)


class _FormatMinMax(_OfFormat, MinMax):
    """Least and greatest value, and the greatest number of a column of floating point."""

    def label(self, node: Expression) -> Clause | None:
        """Label as MinMax does, and in an AND also comparisons that NaN cannot satisfy."""
        found = super().label(node)
        own = [self._named(found, "max")] if isinstance(found, MinMaxClause) else []
        if self._data_type in ("float", "double"):
            of_numbers = (MinMaxClause(BOUNDS, each) for each in _of_numbers(node, self))
            own += [self._named(each, MAX_NUMBER) for each in of_numbers]
        return all_of(own)

    def _named(self, clause: MinMaxClause, end: str) -> MinMaxClause:
        least, greatest, values = map(self._name, ("min", end, "values"))
        return replace(clause, index=BOUNDS, least=least, greatest=greatest, values=values)


class _FormatNulls(_OfFormat, NullCount):
    """The number of nulls."""

    def label(self, node: Expression) -> Clause | None:
        """Label as NullCount does."""
        found = super().label(node)
        if not isinstance(found, NullClause):
            return found
        return replace(found, index=BOUNDS, nulls=self._name("nulls"))


def _of_numbers(node: Expression, index: ColumnIndex) -> Iterator[Comparison]:
    """Yield the comparisons that a file's greatest number must satisfy, if NaN cannot satisfy the AND.

    NaN is greatest, and the formats need not record whether a file has NaN. With ``x >= 1`` alone a file with
    NaN may match; with ``x <= 2`` or ``x = 1`` beside it NaN does not.
    """
    mine = [each for each in anded_comparisons(node) if index.is_of(each.column) and not each.negated]
    limited = [each for each in mine if each.operator in _WITHOUT_NAN and not _has_nan(each.values)]
    if not limited:
        return
    for each in mine:
        if each.operator is ComparisonOperator.IN and each in limited:
            yield replace(each, operator=ComparisonOperator.AT_LEAST, values=pa.array([pc.min(each.values)]))
        elif each.operator in (ComparisonOperator.AT_LEAST, ComparisonOperator.ABOVE):
            yield each


def _has_nan(values: pa.Array) -> bool:
    return not pa.types.is_floating(values.type) or bool(pc.any(pc.is_nan(values)).as_py())


def indexes_of(
    table_format: str, name: str, told: str, identity: str, data_type: str
) -> tuple[SkippingIndex, ...]:
    """Return the indexes of a column over the bounds of the table's own format.

    ``name``: the column's name in expressions; ``told``: its name in the table; ``data_type``: Spark's type.
    """
    made: list[SkippingIndex] = [
        of(name, identity, data_type, f"{table_format}:{of.kind}:{told}")
        for of in (_FormatMinMax, _FormatNulls)
        if of.families is None or family_of(data_type) in of.families
    ]
    return tuple(made)


def is_of_format(index: Any) -> bool:
    """Return whether an index is over the bounds of the table's own format."""
    return isinstance(index, _OfFormat)


def without_bounds(order: CollectOrder) -> tuple[CollectOrder, bool]:
    """Return an order without the group ``BOUNDS``, and whether the order had it."""
    others = tuple(each for each in order.indexes if not isinstance(each, FormatBounds))
    return replace(order, indexes=others), len(others) < len(order.indexes)
