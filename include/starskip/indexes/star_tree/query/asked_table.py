"""The table that a name in FROM means, as Pinot finds it: in any case, and with or without its database."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable

_SHOWN_CHARACTERS = 120


def asked_names(select: exp.Expr) -> list[str]:
    """Return the names of the tables that a query reads, with their databases, each once.

    What WITH defines is no table.
    """
    defined = {each.alias.lower() for each in select.find_all(exp.CTE)}
    found = (
        table_name(table)
        for table in select.find_all(exp.Table)
        if table.args.get("db") or table.name.lower() not in defined
    )
    return list(dict.fromkeys(found))


def table_name(table: exp.Table) -> str:
    """Return a table's name with its database: ``sales.orders``, without quotes."""
    return ".".join(part.name for part in table.parts)


def meant_table(name: str, tables: Collection[str]) -> str | None:
    """Return the one of ``tables`` that ``name`` means, None if none is meant, or several but for their case.

    First the name as it is, then in any case, then so without its database (``sales.orders`` is ``orders``).
    """
    while name:
        same = [table for table in tables if table.lower() == name.lower()]
        if name in same or len(same) == 1:
            return name if name in same else same[0]
        name = name.partition(".")[2]
    return None


def require_meant(name: str, table: str) -> None:
    """Raise UnsupportedQuery with the reason "another_table" if ``name`` does not mean ``table``."""
    if meant_table(name, [table]) is None:
        asked, own = printable(name, _SHOWN_CHARACTERS), printable(table, _SHOWN_CHARACTERS)
        raise UnsupportedQuery(
            f"the query asks {asked}, and these star-trees are of {own}: ask FROM {own}, or name the "
            f"star-trees of {asked}",
            reason="another_table",
        )
