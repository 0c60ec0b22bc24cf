"""Pinot's inverted indexes: the predicates that they serve, obstacles, and sizes.

Measured on 0.11: an inverted index answers =, <>, IN and NOT IN, and never a range, LIKE or a function. In
the source of the release tags (FilterOperatorUtils.getLeafFilterOperator): from 1.5 on LIKE and REGEXP_LIKE
go through the dictionary, if the dictionary has fewer than 10,000 values.
"""

from __future__ import annotations

import numpy as np

from starskip.pinot.column_indexes.access_path import AccessPath, StoredColumns, StoredSizes
from starskip.pinot.column_indexes.stored_index import dictionary_obstacle, size_of_stored
from starskip.pinot.index_sizes.index_format import IndexFormat
from starskip.pinot.index_sizes.inverted_index_bytes import inverted_index_bytes
from starskip.pinot.index_sizes.uniform_bytes import uniform_inverted_bytes
from starskip.pinot.target_version import TargetVersion
from starskip.sql.predicate import EQUALITIES, PATTERNS, Leaf

INVERTED_NAME = "inverted"
_SEGMENT_INDEX = "inverted_index"


def _serves(leaf: Leaf, target: TargetVersion) -> bool:
    if leaf.operator in PATTERNS:
        return leaf.column in target.pattern_columns
    return leaf.operator in EQUALITIES


def _sizes(columns: StoredColumns, index_format: IndexFormat) -> StoredSizes:
    applies = ~columns.is_sorted & columns.has_dictionary
    uniform = uniform_inverted_bytes(columns.cardinality, columns.entries, columns.rows, index_format)
    return size_of_stored(columns, _SEGMENT_INDEX, applies, np.asarray(uniform))


INVERTED_PATH = AccessPath(
    serves=_serves,
    obstacle=dictionary_obstacle,
    segment_index=_SEGMENT_INDEX,
    sizes=_sizes,
    window_bytes=inverted_index_bytes,
)
