"""Find the tables and columns that names mean, whatever their case."""

from __future__ import annotations

from collections.abc import Collection

from starskip.errors import UnsupportedQuery, printable, some_of


class Spelling:
    """The columns of a table, found by their names in any case."""

    def __init__(self, columns: Collection[str]) -> None:
        """Take the names as the table spells them."""
        self._columns = frozenset(columns)
        lower: dict[str, list[str]] = {}
        for name in columns:
            lower.setdefault(name.lower(), []).append(name)
        self._lower = {low: names[0] for low, names in lower.items() if len(names) == 1}

    def find(self, name: str) -> str | None:
        """Return the column that ``name`` means; None if there is none, or several up to case."""
        return name if name in self._columns else self._lower.get(name.lower())

    def require(self, name: str) -> str:
        """Return ``find(name)``; raise UnsupportedQuery with the reason "unknown_column" if it is None."""
        found = self.find(name)
        if found is None:
            raise UnsupportedQuery(
                f"the table has no column {printable(name, 60)}; it has {some_of(self._columns, name)}",
                reason="unknown_column",
            )
        return found


def meant_table(name: str, tables: Collection[str]) -> str | None:
    """Return the table that ``name`` means; None if there is none, or several that differ in case only.

    Compared are first the exact name, then without regard to case, then without the database
    (``sales.orders`` is ``orders``).
    """
    while name:
        same = [table for table in tables if table.lower() == name.lower()]
        if name in same or len(same) == 1:
            return name if name in same else same[0]
        name = name.partition(".")[2]
    return None
