"""Bind the columns of a query to the table's columns, whatever their case."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable
from starskip.sql.spelled_names import Spelling


def bound_columns(select: exp.Select, table: exp.Table, columns: Collection[str] | None) -> None:
    """Replace every column of ``select`` by its quoted name without the table's; in place.

    A name that is no column but an alias of the SELECT is left for resolve_aliases. Raises UnsupportedQuery
    with the reason "unknown_column".
    """
    tables = {name.lower() for name in (table.alias_or_name, table.name)}
    aliases = {item.alias.lower() for item in select.expressions if isinstance(item, exp.Alias)}
    spelling = Spelling(columns) if columns is not None else None
    for column in list(select.find_all(exp.Column)):
        if isinstance(column.this, exp.Star):
            continue
        if column.table and column.table.lower() not in tables:
            raise UnsupportedQuery(
                f"{printable(column.sql(), 120)} is not a column of {printable(table.name, 60)}",
                reason="unknown_column",
            )
        name = column.name
        if spelling is not None:
            is_alias = name.lower() in aliases
            name = spelling.find(name) or name if is_alias else spelling.require(name)
        # Changed in place: replacing one of many items takes as long as there are items.
        for part in ("table", "db", "catalog"):
            column.set(part, None)
        column.set("this", exp.to_identifier(name, quoted=True))
