"""Exact functions in the place of those that star-trees approximate: what runs on a table's rows."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal

from sqlglot import exp

from starskip.indexes.star_tree.function_column_pair import AggregationFunction
from starskip.indexes.star_tree.query.aggregate_call import AggregateCall, exact_call, is_aggregate


def make_exact(select: exp.Select, integers: Collection[str] = ()) -> None:
    """Put exact functions for those that are approximate or Pinot's own; in place.

    The range of a column among ``integers`` is taken in 128 bits, which DuckDB has: one of 64 may overflow.
    """
    for node in list(select.walk()):
        if isinstance(node, (exp.Anonymous, exp.ApproxDistinct, exp.ApproxQuantile)) and is_aggregate(node):
            node.replace(_exact(exact_call(node), integers))


def _exact(call: AggregateCall, integers: Collection[str]) -> exp.Expr:
    column = exp.column(call.column, quoted=True)
    if call.percentile is not None:
        # As a decimal: the float 1.1 / 100 is above 0.011, and would be the rank of the next value.
        share = Decimal(repr(float(call.percentile))) / 100
        rank = exp.PercentileDisc(this=exp.Literal.number(format(share, "f")))
        return exp.WithinGroup(this=rank, expression=exp.Order(expressions=[exp.Ordered(this=column)]))
    if call.function is AggregationFunction.MINMAXRANGE:
        wide = exp.cast(column, "int128") if call.column in integers else column
        return exp.paren(exp.Max(this=wide) - exp.Min(this=wide.copy()))
    return exp.Count(this=exp.Distinct(expressions=[column]))
