"""Pinot's FST indexes: patterns on a text column, answered through the dictionary and an inverted index.

An FST index finds the values that a pattern matches; which rows hold them says the inverted index. For a
pattern one is worth nothing without the other, so this family is both together (measured on 0.11: an FST
index alone still scans every row). In the source of the release tags (FilterOperatorUtils, FilterPlanNode):
since 0.8; from 1.5 on small dictionaries need none. A pattern with flags needs another index (IFST).
"""

from __future__ import annotations

import numpy as np

from starskip.pinot.column_indexes.access_path import AccessPath, Obstacle, StoredColumns, StoredSizes
from starskip.pinot.column_indexes.inverted import INVERTED_NAME
from starskip.pinot.column_indexes.stored_index import MULTI_VALUE, dictionary_obstacle, size_of_stored
from starskip.pinot.index_sizes.index_format import IndexFormat
from starskip.pinot.index_sizes.uniform_bytes import uniform_inverted_bytes
from starskip.pinot.target_version import TargetVersion
from starskip.sql.predicate import EQUALITIES, PATTERNS, Leaf
from starskip.tables.table_overview import ColumnOverview

FST_NAME = "fst"
_SEGMENT_INDEX = "fst_index"


def _serves(leaf: Leaf, target: TargetVersion) -> bool:
    if INVERTED_NAME in leaf.skipped_indexes:
        return False
    return leaf.operator in EQUALITIES or (
        leaf.operator in PATTERNS and len(leaf.slots) == 1 and target.release >= (0, 8)
    )


def _obstacle(column: ColumnOverview) -> Obstacle | None:
    if not column.is_single_value:
        return MULTI_VALUE
    if column.data_type != "STRING":
        return Obstacle("no_text", f"it holds {column.data_type}, and an FST index holds texts")
    return dictionary_obstacle(column)


def _sizes(columns: StoredColumns, index_format: IndexFormat) -> StoredSizes:
    """Return the bytes of both indexes; an FST is taken to be as large as the dictionary, which is plenty."""
    applies = ~columns.is_sorted & columns.has_dictionary
    inverted = uniform_inverted_bytes(columns.cardinality, columns.entries, columns.rows, index_format)
    texts = columns.index_bytes("dictionary")
    return size_of_stored(columns, _SEGMENT_INDEX, applies, np.asarray(inverted) + texts)


FST_PATH = AccessPath(
    serves=_serves,
    obstacle=_obstacle,
    # Where no pattern needs it, an inverted index by itself does.
    yields_to=(INVERTED_NAME,),
    segment_index=_SEGMENT_INDEX,
    sizes=_sizes,
)
"""The access path of a column with an FST index and an inverted one."""
