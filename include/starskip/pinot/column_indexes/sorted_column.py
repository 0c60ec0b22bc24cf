"""The sort order of rows: a sorted column answers equalities and ranges by position (measured on 0.11)."""

from __future__ import annotations

import numpy as np

from starskip.pinot.column_indexes.access_path import AccessPath, Obstacle, StoredColumns, StoredSizes
from starskip.pinot.column_indexes.stored_index import MULTI_VALUE, dictionary_obstacle
from starskip.pinot.index_sizes.index_format import IndexFormat
from starskip.pinot.target_version import TargetVersion
from starskip.sql.predicate import EQUALITIES, PATTERNS, Leaf, Operator
from starskip.tables.table_overview import ColumnOverview

SORTED_NAME = "sorted"
_ENTRY_BYTES = 8


def _serves(leaf: Leaf, target: TargetVersion) -> bool:
    if leaf.operator in PATTERNS:
        return leaf.column in target.pattern_columns
    return leaf.operator in EQUALITIES or leaf.operator is Operator.RANGE


def _obstacle(column: ColumnOverview) -> Obstacle | None:
    return MULTI_VALUE if not column.is_single_value else dictionary_obstacle(column)


def _sizes(columns: StoredColumns, _format: IndexFormat) -> StoredSizes:
    """Return the bytes that sorting adds: first and last row of each value instead of bits for each row."""
    change = _ENTRY_BYTES * columns.cardinality + columns.magic_bytes - columns.index_bytes("forward_index")
    applies = ~columns.is_sorted & columns.is_single_value & columns.has_dictionary
    return StoredSizes(applies, np.where(applies, change, 0), np.zeros(len(change)))


SORTED_PATH = AccessPath(serves=_serves, obstacle=_obstacle, reorders=True, sizes=_sizes)
