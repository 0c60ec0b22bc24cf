"""Secondary indexes of a lake table: from values to rows, and the intersection of several."""

from starskip.indexes.secondary.indexed_table import IndexedTable, open_table

__all__ = ["IndexedTable", "open_table"]
