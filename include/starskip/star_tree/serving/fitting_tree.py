"""Find the first tree that fits a query, or the reason why none does (Pinot's metadata check)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starskip.errors import printable
from starskip.star_tree.aggregation_query import AggregationQuery
from starskip.star_tree.measure import COUNT_ROWS, Measure, MeasureKind
from starskip.star_tree.query.aggregate_call import AggregateCall
from starskip.star_tree.serving.star_tree import StarTree

_SHOWN_TREES = 3


@dataclass(frozen=True, slots=True)
class FittingTree:
    """``position`` of the tree. ``kept``: for each measure of the query, the tree's measure that serves it.

    Where a column has no nulls, the number of its values serves for the number of rows, and vice versa.
    """

    position: int
    kept: Mapping[Measure, Measure]


def fitting_tree(query: AggregationQuery, trees: Sequence[StarTree]) -> FittingTree | str:
    """Return the first tree that fits, or a sentence on what each tree lacks."""
    lacks = []
    for position, tree in enumerate(trees):
        kept, lack = _fitted(query, tree)
        if lack is None:
            return FittingTree(position, kept)
        if lack not in lacks:
            lacks.append(lack)
    if len(trees) == 1:
        return f"the star-tree does not fit: {lacks[0]}"
    more = f"; and {len(lacks) - _SHOWN_TREES} more reasons" if len(lacks) > _SHOWN_TREES else ""
    return f"none of {len(trees)} star-trees fits: {'; '.join(lacks[:_SHOWN_TREES])}{more}"


def _fitted(query: AggregationQuery, tree: StarTree) -> tuple[dict[Measure, Measure], str | None]:
    order = tree.config.dimensions_split_order
    for column, clause in _columns(query):
        if column not in order:
            names = ", ".join(printable(name, 60) for name in order)
            return {}, f"{printable(column, 60)} is in {clause} and not among its dimensions ({names})"
    kept: dict[Measure, Measure] = {}
    for call in query.aggregates:
        for measure in call.measures:
            found = _kept(measure, tree)
            if found is None:
                return {}, f"{_shown(call)} is not pre-aggregated in it"
            kept[measure] = found
    return kept, None


def _columns(query: AggregationQuery) -> list[tuple[str, str]]:
    filtered = [(each.column, "WHERE") for each in query.conjuncts if each.column is not None]
    return filtered + [(group.column, "GROUP BY") for group in query.group_by]


def _kept(measure: Measure, tree: StarTree) -> Measure | None:
    measures = tree.config.measures
    if measure in measures:
        return measure
    if measure == COUNT_ROWS:
        counted = (
            m for m in measures if m.kind is MeasureKind.COUNT and m.column not in tree.columns_with_nulls
        )
        return next(counted, None)
    is_count = measure.kind is MeasureKind.COUNT and measure.column in tree.config.columns
    if is_count and measure.column not in tree.columns_with_nulls:
        return _kept(COUNT_ROWS, tree)
    return None


def _shown(call: AggregateCall) -> str:
    return f"{call.function.value}({printable(call.column, 60)})"
