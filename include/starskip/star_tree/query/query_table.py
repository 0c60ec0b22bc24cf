"""Find the one table that a query reads, as Pinot does: in any case, with or without its database.

Clauses that no star-tree answers are refused with a reason.
"""

from __future__ import annotations

from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable
from starskip.sql.spelled_names import meant_table

_SHOWN_CHARACTERS = 120


def asked_names(select: exp.Expr) -> list[str]:
    """Return the names of the tables that a query reads, with their databases, each once.

    Names that WITH defines are no tables.
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


def require_meant(name: str, table: str) -> None:
    """Raise UnsupportedQuery with the reason "another_table" if ``name`` does not mean ``table``."""
    if meant_table(name, [table]) is None:
        asked, own = printable(name, _SHOWN_CHARACTERS), printable(table, _SHOWN_CHARACTERS)
        raise UnsupportedQuery(
            f"the query asks {asked}, and these star-trees are of {own}: ask FROM {own}, or name the "
            f"star-trees of {asked}",
            reason="another_table",
        )


_REFUSED = {
    "with_": ("subquery", "WITH"),
    "joins": ("several_tables", "a join"),
    "laterals": ("function", "LATERAL"),
    "windows": ("window", "WINDOW"),
    "qualify": ("window", "QUALIFY"),
    "pivots": ("function", "PIVOT"),
    "sample": ("sample", "TABLESAMPLE"),
    "connect": ("function", "CONNECT BY"),
    "cluster": ("function", "CLUSTER BY"),
    "distribute": ("function", "DISTRIBUTE BY"),
    "sort": ("function", "SORT BY"),
}


def single_table(select: exp.Select) -> exp.Table:
    """Return the one table; raise UnsupportedQuery for clauses that no star-tree answers, with a reason."""
    for key, (reason, clause) in _REFUSED.items():
        if select.args.get(key):
            raise UnsupportedQuery(f"no star-tree answers a query with {clause}", reason=reason)
    source = select.args.get("from_")
    table = source.this if source else None
    inner = [found for found in select.find_all(exp.Select, exp.SetOperation) if found is not select]
    if inner or isinstance(table, exp.Subquery):
        raise UnsupportedQuery("no star-tree answers a query with a subquery", reason="subquery")
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise UnsupportedQuery("the query names no table in FROM", reason="not_a_select")
    if any(table.args.get(key) for key in ("pivots", "sample", "joins", "laterals")):
        raise UnsupportedQuery("no star-tree answers a query with a sample, pivot or join", reason="sample")
    return table


def rename_table(select: exp.Select, name: str, answers_to: str | None = None) -> int:
    """Replace the name of the queried table by ``name``, in place; return the number of replacements.

    ``answers_to``: the only table that may be asked; None for any. Raises UnsupportedQuery with the reason
    "several_tables" for a query over no table or several, "another_table" for a query over another table, and
    "sample" where more than a name stands for the table.
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
