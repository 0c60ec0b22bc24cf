"""Build DuckDB's SQL for the steps after the grouping: arithmetic of the SELECT, HAVING, ORDER BY, LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable
from starskip.star_tree.query.aggregate_call import AggregateCall, aggregate_call, is_aggregate
from starskip.star_tree.query.group_expressions import GroupExpression

GROUPS_TABLE = "groups"
"""The name of the table of groups in ``Finishing.select``; its columns are g0, g1, … and a0, a1, …"""


@dataclass(frozen=True, slots=True)
class Finishing:
    """``names``: the columns of the answer. ``select``: DuckDB's SQL over GROUPS_TABLE.

    ``columns``: the columns of the groups, if the answer consists of such columns in any order; else None.
    ``sources``: for each item of the answer its column of the groups, or None.
    """

    names: tuple[str, ...]
    select: str
    columns: tuple[str, ...] | None
    sources: tuple[str | None, ...]


def finishing(
    select: exp.Select, groups: Sequence[GroupExpression], names: Sequence[str]
) -> tuple[Finishing, tuple[AggregateCall, ...]]:
    """Return the steps after the grouping of ``select``, and the distinct aggregations that they need.

    Raises UnsupportedQuery with a reason of aggregate_call, or "window", "filter_clause", "not_grouped",
    "ordinal", "argument".
    """
    calls: dict[AggregateCall, str] = {}
    items = [_over_groups(_without_alias(item), groups, calls) for item in select.expressions]
    having = select.args.get("having")
    condition = _over_groups(having.this, groups, calls) if having else None
    order = select.args.get("order")
    ordered = [_ordered(term, items, groups, calls) for term in order.expressions] if order else []
    finish = exp.select(*(exp.alias_(item, f"c{i}") for i, item in enumerate(items))).from_(GROUPS_TABLE)
    if condition is not None:
        finish.set("where", exp.Where(this=condition))
    if ordered:
        finish.set("order", exp.Order(expressions=ordered))
    for clause in ("limit", "offset", "distinct"):
        if select.args.get(clause) is not None:
            finish.set(clause, _bounded(select.args[clause]) if clause != "distinct" else exp.Distinct())
    sources = tuple(item.name if isinstance(item, exp.Column) else None for item in items)
    plain = tuple(name for name in sources if name is not None)
    bare = len(plain) == len(items) and not any(
        finish.args.get(key) for key in ("where", "order", "limit", "offset", "distinct")
    )
    return Finishing(tuple(names), finish.sql(dialect="duckdb"), plain if bare else None, sources), tuple(
        calls
    )


def _without_alias(item: exp.Expr) -> exp.Expr:
    inner: exp.Expr = item.this if isinstance(item, exp.Alias) else item
    while isinstance(inner, exp.Paren):
        inner = inner.this
    return inner


def _over_groups(
    node: exp.Expr, groups: Sequence[GroupExpression], calls: dict[AggregateCall, str]
) -> exp.Expr:
    """Return a copy of ``node`` in which group expressions and aggregations are columns of the groups."""
    places = {group.expression: f"g{position}" for position, group in enumerate(groups)}

    def replaced(found: exp.Expr) -> exp.Expr:
        if found in places:
            return exp.column(places[found], quoted=True)
        if isinstance(found, exp.Window):
            raise UnsupportedQuery("no star-tree answers a window function", reason="window")
        if isinstance(found, (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)):
            raise UnsupportedQuery(
                "no star-tree answers an aggregation with FILTER or WITHIN GROUP", reason="filter_clause"
            )
        if is_aggregate(found):
            call = aggregate_call(found)
            return exp.column(calls.setdefault(call, f"a{len(calls)}"), quoted=True)
        if isinstance(found, exp.Star):
            raise UnsupportedQuery("no star-tree answers SELECT *", reason="not_an_aggregation")
        if isinstance(found, exp.Column):
            raise UnsupportedQuery(
                f"{printable(found.name, 60)} is neither grouped nor aggregated", reason="not_grouped"
            )
        return found

    # transform goes from the outside in, and not into a replacement.
    over_groups: exp.Expr = node.transform(replaced)
    return over_groups


def _ordered(
    term: exp.Ordered,
    items: Sequence[exp.Expr],
    groups: Sequence[GroupExpression],
    calls: dict[AggregateCall, str],
) -> exp.Ordered:
    ordered = term.copy()
    if isinstance(term.this, exp.Literal):
        if not (term.this.this.isdecimal() and 1 <= int(term.this.this[:6]) <= len(items)):
            raise UnsupportedQuery(
                f"ORDER BY {term.this.sql()} names no item of the SELECT, which has {len(items)}",
                reason="ordinal",
            )
        return ordered
    key = _over_groups(_without_alias(term.this), groups, calls)
    # DISTINCT can be ordered by its items only, and by them only by position.
    ordered.set("this", exp.Literal.number(items.index(key) + 1) if key in items else key)
    return ordered


def _bounded(clause: exp.Expr) -> exp.Expr:
    """Return a LIMIT or OFFSET; its argument must be a number."""
    number = clause.args.get("count") if isinstance(clause, exp.Fetch) else clause.args.get("expression")
    is_open = isinstance(number, exp.Placeholder)  # the ? of a shape
    if number is None or not (is_open or (isinstance(number, exp.Literal) and number.name.isdecimal())):
        raise UnsupportedQuery("LIMIT and OFFSET take a whole number", reason="argument")
    kind = exp.Offset if isinstance(clause, exp.Offset) else exp.Limit
    return kind(expression=number.copy())
