"""The one table of a query under another name: that under which its rows can be read."""

from __future__ import annotations

from sqlglot import exp

from starskip.errors import UnsupportedQuery


def put_table(select: exp.Select, name: str) -> int:
    """Put ``name`` for that of the one table that is read, in place; return how often it stands there.

    Raises UnsupportedQuery with the reason "several_tables" for a query over more than one, or none, and
    "sample" for one that asks for the table with more than its name.
    """
    if select.find(exp.TableSample, exp.Pivot, exp.Version):
        raise UnsupportedQuery(
            "samples, pivots and older versions of a table are not known here", reason="sample"
        )
    defined = {each.alias.lower() for each in select.find_all(exp.CTE)}
    tables = [each for each in select.find_all(exp.Table) if each.name.lower() not in defined]
    names = {each.name.lower() for each in tables}
    if len(names) != 1 or any(not isinstance(each.this, exp.Identifier) for each in tables):
        raise UnsupportedQuery(
            f"the query reads {len(names)} tables; a star-tree's own table is the only one here",
            reason="several_tables",
        )
    for each in tables:
        rows = exp.Table(this=exp.to_identifier(name, quoted=True))
        each.replace(exp.alias_(rows, each.alias_or_name, table=True, quoted=True))
    return len(tables)
