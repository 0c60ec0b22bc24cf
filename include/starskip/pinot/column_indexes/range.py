"""Pinot's range indexes: the predicates that they serve, obstacles, and sizes.

Measured on 0.11: a range index answers ranges and never an equality. In the source of the release tags
(FilterOperatorUtils.getLeafFilterOperator, RangeIndexBasedFilterOperator): range indexes come with 0.4, scan
the ends of a range until 0.10 makes them exact, and answer = (not IN) from 1.0 on.
"""

from __future__ import annotations

from starskip.pinot.column_indexes.access_path import AccessPath, Obstacle, StoredColumns, StoredSizes
from starskip.pinot.column_indexes.inverted import INVERTED_NAME
from starskip.pinot.column_indexes.stored_index import (
    MULTI_VALUE,
    dictionary_obstacle,
    size_of_stored,
)
from starskip.pinot.index_sizes.index_format import IndexFormat
from starskip.pinot.index_sizes.range_index_bytes import range_index_bytes
from starskip.pinot.index_sizes.uniform_bytes import uniform_range_bytes
from starskip.pinot.target_version import TargetVersion
from starskip.sql.predicate import Leaf, Operator
from starskip.tables.table_overview import ColumnOverview

RANGE_NAME = "range"
_SEGMENT_INDEX = "range_index"
_NUMBERS = ("INT", "LONG", "FLOAT", "DOUBLE", "TIMESTAMP")
_LEGACY_READS_RATIO = 2 / 20
"""Before 0.10 the index keeps 20 ranges a column, and scans the first and the last that a query touches."""


def _serves(leaf: Leaf, target: TargetVersion) -> bool:
    if target.release < (0, 4):
        return False
    return leaf.operator is Operator.RANGE or (leaf.operator is Operator.EQUAL and target.release >= (1, 0))


def _reads_ratio(target: TargetVersion) -> float:
    return _LEGACY_READS_RATIO if target.release < (0, 10) else 0.0


def _obstacle(column: ColumnOverview) -> Obstacle | None:
    if not column.is_single_value:
        return MULTI_VALUE
    return None if column.data_type in _NUMBERS else dictionary_obstacle(column)


def _sizes(columns: StoredColumns, index_format: IndexFormat) -> StoredSizes:
    uniform = uniform_range_bytes(
        columns.cardinality, columns.entries, columns.rows, columns.is_single_value, index_format
    )
    return size_of_stored(columns, _SEGMENT_INDEX, ~columns.is_sorted, uniform)


RANGE_PATH = AccessPath(
    serves=_serves,
    obstacle=_obstacle,
    reads_ratio=_reads_ratio,
    # From 1.0 on it answers an equality too. Without this rule it would be in every set beside an inverted
    # index.
    yields_to=(INVERTED_NAME,),
    segment_index=_SEGMENT_INDEX,
    sizes=_sizes,
    window_bytes=range_index_bytes,
)
