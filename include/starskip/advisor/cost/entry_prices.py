"""Nanoseconds that Pinot takes for an entry, by how the column is stored and what is asked of it.

Only their ratios count: each query's own time says how long its entries take together, and the prices say
how that time is shared out among them. Fitted on a real Pinot 0.11 (``make bench-latency``), in nanoseconds
of a core of that machine.
"""

from __future__ import annotations

from starskip.sql.predicate import PATTERNS, Leaf, Operator
from starskip.tables.row_window import ColumnWindow

SINGLE_VALUE_NS = 3.5
MULTI_VALUE_NS = 14.0
RAW_NS = 5.0
PATTERN_NS = 80.0
EXPRESSION_NS = 10.0
INDEXED_ROW_NS = 2.0
"""Price of a row that an index on a column finds."""
POST_FILTER_NS = 6.0
MATCHED_ROW_NS = 6.0
"""Price of a row that passes the whole filter, beside its entries post filter."""
SCATTERED_NS = 2.0
"""Nanoseconds that an entry takes more if it is read behind an index, and not in order."""


def entry_ns(leaf: Leaf, column: ColumnWindow | None) -> float:
    """Return the nanoseconds of an entry that a scan reads for ``leaf``; ``column``: None if not in sight."""
    if leaf.operator is Operator.EXPRESSION or leaf.expression:
        return EXPRESSION_NS
    if leaf.operator in PATTERNS:
        return PATTERN_NS
    if column is None:
        return SINGLE_VALUE_NS
    if column.offsets is not None:
        return MULTI_VALUE_NS
    return SINGLE_VALUE_NS if column.dictionary is not None else RAW_NS
