"""Rewrite a query so that its answers can be compared: without ORDER BY and LIMIT, approximations listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from starskip.errors import UnsupportedQuery
from starskip.indexes.star_tree.query.aggregate_call import AggregateCall, aggregate_call, is_aggregate
from starskip.indexes.star_tree.query.sql_select import sql_select
from starskip.sql.pinot_dialect import PinotDialect

# Ranks by which a group's percentile may be off beside the sketch's bound: one value of a group that has
# at least so many; between them a sketch interpolates.
_ONE_VALUE = ((1_000, 0.001), (100, 0.01), (10, 0.1), (0, 1.0))


@dataclass(frozen=True, slots=True)
class ComparableQuery:
    """``sql``: the query without ORDER BY and LIMIT, under which ties may fall out either way.

    ``keys``: the positions of items that aggregate nothing. ``approximate``: the positions of items that are
    approximate, with their aggregation. ``unbounded``: why the answer cannot be compared, empty if it can.
    """

    sql: str
    keys: tuple[int, ...]
    approximate: Mapping[int, AggregateCall]
    unbounded: str


def comparable_query(sql: str) -> ComparableQuery:
    """Return ``sql``, one SELECT in Pinot's dialect, made comparable; raises UnsupportedQuery."""
    select = sql_select(sql, "pinot")
    for clause in ("order", "limit", "offset", "fetch"):
        select.set(clause, None)
    approximate: dict[int, AggregateCall] = {}
    keys = []
    unbounded = ""
    for position, item in enumerate(select.expressions):
        bare = item.unalias()
        calls = [
            aggregate_call(node) for node in item.walk() if isinstance(node, exp.Expr) and is_aggregate(node)
        ]
        if not calls:
            keys.append(position)
        elif any(map(_is_approximate, calls)):
            if is_aggregate(bare):
                approximate[position] = calls[0]
            else:
                unbounded = "arithmetic with an approximate value has no stated bound"
    having = select.args.get("having")
    if having and any(_is_approximate(aggregate_call(node)) for node in having.walk() if is_aggregate(node)):
        unbounded = "HAVING on an approximate value has no stated bound"
    return ComparableQuery(select.sql(dialect=PinotDialect), tuple(keys), approximate, unbounded)


def percentile_bounds_query(query: ComparableQuery, position: int, ratio: float) -> str:
    """Return a query for the keys of ``query`` and exact bounds of its percentile at ``position``.

    Bounds are the number of values, the least and the greatest, and pairs of percentiles, a pair an entry of
    ``_ONE_VALUE`` but the last; ``ratio`` is the share of all ranks that the sketch may be off.
    """
    select = sql_select(query.sql, "pinot")
    call = query.approximate[position]
    if call.percentile is None:
        raise UnsupportedQuery("the percentile is not given", reason="placeholder")
    column = next(iter(select.expressions[position].find_all(exp.Column)))
    bounds: list[exp.Expr] = [kind(this=column.copy()) for kind in (exp.Count, exp.Min, exp.Max)]
    for _, one_value in _ONE_VALUE[:-1]:
        for side in (-1, 1):
            rank = min(max(call.percentile + side * 100 * (ratio + one_value), 0.0), 100.0)
            bounds.append(_percentile(column.copy(), rank))
    # GROUP BY may name a key by its alias.
    keys = [select.expressions[key] for key in query.keys]
    select.set("expressions", [*keys, *(exp.alias_(item, f"bound_{i}") for i, item in enumerate(bounds))])
    select.set("having", None)
    return select.sql(dialect=PinotDialect)


def bound_columns(count: int, keys: int) -> tuple[int, int]:
    """Return the positions of a group's bounds in an answer of ``percentile_bounds_query``.

    ``count``: the values in the group; ``keys``: how many keys the query has.
    """
    tier = next(i for i, (least, _) in enumerate(_ONE_VALUE) if count >= least)
    if tier == len(_ONE_VALUE) - 1:
        return keys + 1, keys + 2
    return keys + 3 + 2 * tier, keys + 4 + 2 * tier


def _is_approximate(call: AggregateCall) -> bool:
    return any(measure.kind.is_sketch for measure in call.measures)


def _percentile(column: exp.Expr, rank: float) -> exp.Expr:
    return exp.Anonymous(this="PERCENTILEEST", expressions=[column, exp.Literal.number(repr(rank))])
