"""Bounds and numbers of nulls that a table format's log or manifests have of files, as indexes of a query.

They are copied when files are listed, and no data file is opened for them: one group of columns, ``BOUNDS``,
has those of all columns of the table, by what files know a column by and its type. The format itself leaves
files out by them; here they are for an OR of which the format knows one part and an index of ours the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starskip.indexes.skipping.clause import Clause
from starskip.indexes.skipping.index_types.min_max import MinMax, MinMaxClause
from starskip.indexes.skipping.index_types.null_count import NullClause, NullCount
from starskip.indexes.skipping.metadata.collect_order import BOUNDS, CollectOrder
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.predicates.data_types import family_of
from starskip.predicates.expression import Expression

ROWS = "rows"


def bound_name(end: str, identity: str, kind: str) -> str:
    """Return the metadata column of a column's ``end``: min, max, nulls, or values, the number without nulls.

    ``identity``: what files know the column by; ``kind``: its type in Spark. With another type it is another
    column, of which the files of before have none.
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
    """Least and greatest value."""

    def label(self, node: Expression) -> Clause | None:
        """Label what MinMax labels."""
        found = super().label(node)
        if not isinstance(found, MinMaxClause):
            return found
        least, greatest, values = map(self._name, ("min", "max", "values"))
        return replace(found, index=BOUNDS, least=least, greatest=greatest, values=values)


class _FormatNulls(_OfFormat, NullCount):
    """The number of nulls."""

    def label(self, node: Expression) -> Clause | None:
        """Label what NullCount labels."""
        found = super().label(node)
        if not isinstance(found, NullClause):
            return found
        return replace(found, index=BOUNDS, nulls=self._name("nulls"))


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
