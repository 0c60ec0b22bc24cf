"""Secondary indexes of a lake table: from values to rows, and the intersection of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starskip.secondary.indexed_table import IndexedTable, open_table

__all__ = ["IndexedTable", "open_table"]


def __getattr__(name: str) -> Any:
    # The DAG file imports only the family's settings; the rest would import Arrow and DuckDB.
    if name in __all__:
        from starskip.secondary import indexed_table  # noqa: PLC0415

        return getattr(indexed_table, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
