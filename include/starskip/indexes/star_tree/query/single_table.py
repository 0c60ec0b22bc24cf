"""The one table of a query, and the clauses that no star-tree answers."""

from __future__ import annotations

from sqlglot import exp

from starskip.errors import UnsupportedQuery

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
