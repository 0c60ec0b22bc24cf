"""Nanoseconds that Pinot takes for an entry, by how the column is stored and what is asked of it.

Only their ratios count: each query's own time says how long its entries take together, and the prices say
how that time is shared out among them. Fitted on a real Pinot 0.11 (``make bench-latency``), in nanoseconds
of a core of that machine.

A scan alone, or behind an index, reads rows in batches; a scan that another one advances from row to row
reads each by itself, which costs more.
"""

from __future__ import annotations

from dataclasses import dataclass

from starskip.sql.predicate import PATTERNS, Leaf, Operator
from starskip.tables.row_window import ColumnWindow

INDEXED_ROW_NS = 2.0
"""Price of a row that an index on a column finds."""
ITERATED_ROW_NS = 42.0
"""Price of a row that the iterators of an AND, an OR or a NOT find by scans, one row at a time."""
SCATTERED_NS = 3.5
"""Nanoseconds that an entry takes more if it is read behind an index, and not in order."""
POST_FILTER_NS = 6.0
PROJECTED_ROW_NS = 8.0
"""Price of a row whose columns are read behind the filter, beside its entries post filter."""


@dataclass(frozen=True, slots=True)
class EntryPrice:
    """Nanoseconds of an entry: read in a batch of rows, and by itself as an iterator is advanced to a row."""

    batch_ns: float = 0.0
    single_ns: float = 0.0


FREE = EntryPrice()
EQUAL = EntryPrice(2.0, 6.5)
"""Price of one value of a dictionary that is compared with another."""
OTHER = EntryPrice(4.0, 8.0)
"""Price of a value of a dictionary that is looked for in a list or a range."""
MULTI_VALUE = EntryPrice(26.0, 26.0)
RAW = EntryPrice(4.5, 4.5)
PATTERN = EntryPrice(100.0, 100.0)
EXPRESSION = EntryPrice(20.0, 20.0)


def entry_price(leaf: Leaf, column: ColumnWindow | None) -> EntryPrice:
    """Return the price of an entry that a scan reads for ``leaf``; ``column``: None if not in sight."""
    if leaf.operator is Operator.EXPRESSION or leaf.expression:
        return EXPRESSION
    if leaf.operator in PATTERNS:
        return PATTERN
    if column is not None and column.offsets is not None:
        return MULTI_VALUE
    if column is not None and column.dictionary is None:
        return RAW
    return EQUAL if leaf.operator is Operator.EQUAL else OTHER
