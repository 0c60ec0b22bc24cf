"""Obstacles and sizes that indexes stored in Pinot's segments have in common."""

from __future__ import annotations

import numpy as np

from starskip.pinot.column_indexes.access_path import Amounts, Flags, Obstacle, StoredColumns, StoredSizes
from starskip.tables.table_overview import ColumnOverview

MULTI_VALUE = Obstacle("multi_value", "no such index or order is built on a multi-value column")
_NO_DICTIONARY = Obstacle("no_dictionary", "it is stored without a dictionary, which the index needs")


def dictionary_obstacle(column: ColumnOverview) -> Obstacle | None:
    """Return the obstacle of a column that no segment stores with a dictionary."""
    return None if column.dictionary_ratio > 0 else _NO_DICTIONARY


def size_of_stored(
    columns: StoredColumns, segment_index: str, applies: Flags, uniform_bytes: Amounts
) -> StoredSizes:
    """Return the sizes of an index that segments hold under the name ``segment_index``."""
    existing = columns.index_bytes(segment_index)
    to_build = np.where(applies & (existing == 0), uniform_bytes + columns.magic_bytes, 0)
    return StoredSizes(applies, existing, to_build)
