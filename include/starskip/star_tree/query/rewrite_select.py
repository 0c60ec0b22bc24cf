"""Rewrite a SELECT in place: bind columns, resolve aliases, make approximate functions exact."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal

from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable
from starskip.sql.spelled_names import Spelling
from starskip.star_tree.function_column_pair import AggregationFunction
from starskip.star_tree.query.aggregate_call import AggregateCall, exact_call, is_aggregate


def resolve_aliases(select: exp.Select, columns: Collection[str] | None) -> None:
    """Replace aliases in WHERE, GROUP BY, HAVING and ORDER BY of ``select`` by their expressions; in place.

    ``columns``: the table's; where they are not known, a name that may be an alias is taken for one.
    """
    aliases = {item.alias.lower(): item.this for item in select.expressions if isinstance(item, exp.Alias)}
    if not aliases:
        return
    shadowed = {name.lower() for name in columns or ()}
    for clause in ("where", "group", "having"):
        _replace(select.args.get(clause), {a: e for a, e in aliases.items() if a not in shadowed})
    _replace(select.args.get("order"), aliases)


def _replace(clause: exp.Expr | None, aliases: dict[str, exp.Expr]) -> None:
    if clause is None:
        return
    for column in list(clause.find_all(exp.Column)):
        standing_for = aliases.get(column.name.lower())
        if standing_for is not None and not isinstance(column.this, exp.Star):
            inner = standing_for.copy()
            column.replace(inner if isinstance(column.parent, (exp.Group, exp.Ordered)) else exp.paren(inner))


def make_exact(select: exp.Select, integers: Collection[str] = ()) -> None:
    """Replace approximate functions and Pinot's own by exact ones; in place.

    The range of a column among ``integers`` is computed in DuckDB's 128 bits: 64 bits may overflow.
    """
    for node in list(select.walk()):
        if isinstance(node, (exp.Anonymous, exp.ApproxDistinct, exp.ApproxQuantile)) and is_aggregate(node):
            node.replace(_exact(exact_call(node), integers))


def _exact(call: AggregateCall, integers: Collection[str]) -> exp.Expr:
    column = exp.column(call.column, quoted=True)
    if call.percentile is not None:
        # As a decimal: the float 1.1 / 100 is above 0.011, and would select the next rank.
        share = Decimal(repr(float(call.percentile))) / 100
        rank = exp.PercentileDisc(this=exp.Literal.number(format(share, "f")))
        return exp.WithinGroup(this=rank, expression=exp.Order(expressions=[exp.Ordered(this=column)]))
    if call.function is AggregationFunction.MINMAXRANGE:
        wide = exp.cast(column, "int128") if call.column in integers else column
        return exp.paren(exp.Max(this=wide) - exp.Min(this=wide.copy()))
    return exp.Count(this=exp.Distinct(expressions=[column]))


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
