"""Pinot's FST indexes: patterns on a text column, answered through the dictionary and an inverted index.

An FST index finds the values that a pattern matches; which rows hold them says the inverted index. For a
pattern one is worth nothing without the other, so this family is both together (measured on 0.11: an FST
index alone still scans every row). In the source of the release tags (FilterOperatorUtils, FilterPlanNode):
since 0.8; from 1.5 on small dictionaries need none. A pattern with flags needs another index (IFST).

Pinot counts no entries for it, and yet it is not for nothing. Measured on 0.11 (60 segments of 20,000 rows
with 18,700 texts each): LIKE '%/p/17' took 257 ms by scanning and 483 ms by an FST index, which follows
each value to its end; LIKE 'http://h7%' took 254 and 29 ms. A value walked costs as much as two rows
scanned. Which patterns have a beginning no shape tells, so each of them is charged with the walk: the index
pays where rows are many times the values.
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
_BYTES_OF_DICTIONARY = 0.3
"""Bytes of an FST for one of the dictionary, measured on 0.11: 0.14 and 0.26."""
_WALKED_ENTRIES = 2.0
"""Entries that walking one value of the dictionary costs."""


def _serves(leaf: Leaf, target: TargetVersion) -> bool:
    if INVERTED_NAME in leaf.skipped_indexes:
        return False
    return leaf.operator in EQUALITIES or (
        leaf.operator in PATTERNS and len(leaf.slots) == 1 and target.release >= (0, 8)
    )


def _dictionary_reads(leaf: Leaf) -> float:
    return _WALKED_ENTRIES if leaf.operator in PATTERNS else 0.0


def _obstacle(column: ColumnOverview) -> Obstacle | None:
    if not column.is_single_value:
        return MULTI_VALUE
    if column.data_type != "STRING":
        return Obstacle("no_text", f"it holds {column.data_type}, and an FST index holds texts")
    return dictionary_obstacle(column)


def _sizes(columns: StoredColumns, index_format: IndexFormat) -> StoredSizes:
    """Return the bytes of both indexes."""
    applies = ~columns.is_sorted & columns.has_dictionary
    inverted = uniform_inverted_bytes(columns.cardinality, columns.entries, columns.rows, index_format)
    texts = _BYTES_OF_DICTIONARY * columns.index_bytes("dictionary")
    return size_of_stored(columns, _SEGMENT_INDEX, applies, np.asarray(inverted) + texts)


FST_PATH = AccessPath(
    serves=_serves,
    obstacle=_obstacle,
    # Where no pattern needs it, an inverted index by itself does.
    yields_to=(INVERTED_NAME,),
    segment_index=_SEGMENT_INDEX,
    sizes=_sizes,
    dictionary_reads=_dictionary_reads,
)
"""The access path of a column with an FST index and an inverted one."""
