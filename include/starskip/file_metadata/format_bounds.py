"""Bounds and numbers of nulls that a table format's log or manifests have of files, as indexes of a query.

They are copied when files are listed, and no data file is opened for them: one group of columns, ``BOUNDS``,
has those of all columns of the table, by what files know a column by and its type. The format itself leaves
files out by them; here they are for an OR of which the format knows one part and an index of ours the other.
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
"""The end of the greatest value of a column of floating point that is not NaN."""
_WITHOUT_NAN = frozenset({ComparisonOperator.IN, ComparisonOperator.BELOW, ComparisonOperator.AT_MOST})


def bound_name(end: str, identity: str, kind: str) -> str:
    """Return the metadata column of an ``end``: min, max, max_number, nulls, or values, their number.

    ``identity``: what files know the column by; ``kind``: its type in Spark. With another type it is another
    column.
    """
    return f"{end}:{kind}:{identity}"


class FormatBounds(SkippingIndex):
    """The group ``BOUNDS`` among what is collected of files; it belongs to a table, and no user names it."""

    kind = BOUNDS

    def __init__(self) -> None:
        """Be of no column by name."""
        super().__init__(())

    @property
    def specification(self) -> str:
        """The name of the group."""
        return BOUNDS

    def label(self, node: Expression) -> Clause | None:  # noqa: ARG002 - SkippingIndex's
        """Label nothing: ``indexes_of`` makes indexes of the columns that a query asks for."""
        return None


class _OfFormat(SkippingIndex):
    """An index of one column over the group ``BOUNDS``."""

    def __init__(self, column: str, identity: str, data_type: str, told: str) -> None:
        """Take the column's name in a query's expressions, and how the index is told of."""
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
        """Label what MinMax labels, and in an AND what no NaN satisfies."""
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
        """Label what NullCount labels."""
        found = super().label(node)
        if not isinstance(found, NullClause):
            return found
        return replace(found, index=BOUNDS, nulls=self._name("nulls"))


def _of_numbers(node: Expression, index: ColumnIndex) -> Iterator[Comparison]:
    """Yield what the greatest number of a file has to satisfy where NaN cannot satisfy an AND.

    NaN is greatest, and the formats do not tell, or need not, whether a file has some: with ``x >= 1`` alone
    such a file may match, with ``x <= 2`` or ``x = 1`` beside it no NaN does.
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
    """Return the indexes of a column that a table's format has itself.

    ``name``: the column's in expressions; ``told``: its name in the table; ``data_type``: Spark's.
    """
    made: list[SkippingIndex] = [
        of(name, identity, data_type, f"{table_format}:{of.kind}:{told}")
        for of in (_FormatMinMax, _FormatNulls)
        if of.families is None or family_of(data_type) in of.families
    ]
    return tuple(made)


def is_of_format(index: Any) -> bool:
    """Return whether an index is one that the table's format has itself."""
    return isinstance(index, _OfFormat)


def without_bounds(order: CollectOrder) -> tuple[CollectOrder, bool]:
    """Return an order without the group ``BOUNDS``, and whether that was among it."""
    others = tuple(each for each in order.indexes if not isinstance(each, FormatBounds))
    return replace(order, indexes=others), len(others) < len(order.indexes)
