"""The one table of a query under another name: that under which its rows can be read."""

from __future__ import annotations

from sqlglot import exp

from starskip.errors import UnsupportedQuery
from starskip.indexes.star_tree.query.asked_table import asked_names, require_meant, table_name


def rename_table(select: exp.Select, name: str, answers_to: str | None = None) -> int:
    """Put ``name`` for that of the one table that is read, in place; return how often it stands there.

    ``answers_to``: the only table that may be asked; None for any. Raises UnsupportedQuery with the reason
    "several_tables" for a query over more than one, or none, "another_table" for one over another, and
    "sample" for one that asks for the table with more than its name.
    """
    if select.find(exp.TableSample, exp.Pivot, exp.Version):
        raise UnsupportedQuery(
            "samples, pivots and older versions of a table are not known here", reason="sample"
        )
    asked = asked_names(select)
    for asked_name in asked if answers_to is not None else ():
        require_meant(asked_name, str(answers_to))
    distinct = {"" if answers_to is not None else each.lower() for each in asked}
    tables = [each for each in select.find_all(exp.Table) if table_name(each) in asked]
    if len(distinct) != 1 or any(not isinstance(each.this, exp.Identifier) for each in tables):
        raise UnsupportedQuery(
            f"the query reads {len(distinct)} tables; a star-tree's own table is the only one here",
            reason="several_tables",
        )
    if select.find(exp.UDTF):
        raise UnsupportedQuery(
            "FROM names more than a table (VALUES, UNNEST or LATERAL); a star-tree's own table is the only "
            "one here",
            reason="several_tables",
        )
    for each in tables:
        rows = exp.Table(this=exp.to_identifier(name, quoted=True))
        each.replace(exp.alias_(rows, each.alias_or_name, table=True, quoted=True))
    return len(tables)
