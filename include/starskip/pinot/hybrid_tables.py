"""The halves of hybrid tables: OFFLINE and REALTIME of one table, as Pinot names them.

A table whose two halves are known is two tables here, T_OFFLINE and T_REALTIME: each has its own config,
indexes and segments. Of a table with one half alone the name has no type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

TABLE_TYPES = ("OFFLINE", "REALTIME")


def half_name(table: str, table_type: str | None) -> str:
    """Return the name of a half; of no half if ``table_type`` is None."""
    return f"{table}_{table_type}" if table_type else table


def halves_of(table: str) -> tuple[str, ...]:
    """Return the names of both halves."""
    return tuple(half_name(table, each) for each in TABLE_TYPES)


def without_type(table: str) -> tuple[str, str | None]:
    """Return a table's name without its type, and the type; None if it has none."""
    for each in TABLE_TYPES:
        if table.endswith(f"_{each}"):
            return table.removesuffix(f"_{each}"), each
    return table, None


def hybrid_tables(names: Collection[str]) -> frozenset[str]:
    """Return the tables of which both halves are among ``names``, without their types."""
    found = {without_type(name)[0] for name in names}
    return frozenset(table for table in found if all(half in names for half in halves_of(table)))


def tables_of_halves(names: Iterable[str]) -> frozenset[str]:
    """Return the tables of the halves among ``names``, without their types.

    The other half is known, too, but may have failed, or be none of the tables of this run.
    """
    return frozenset(table for table, table_type in map(without_type, names) if table_type)


def with_halves(tables: Iterable[str], hybrids: Collection[str]) -> tuple[str, ...]:
    """Return the tables, each of ``hybrids`` by its halves."""
    named = (halves_of(table) if table in hybrids else (table,) for table in tables)
    return tuple(dict.fromkeys(name for names in named for name in names))
