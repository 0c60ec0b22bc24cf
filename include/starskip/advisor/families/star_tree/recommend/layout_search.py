"""Search the best split order, leaf threshold T and star nodes of a tree over given dimensions.

The order of the split changes how many documents there are (OpenSearch RFC 12498 saw 70 %). So it is searched
for: all orders of up to four dimensions, otherwise uphill from two orders by moving one dimension at a time.
A star node is skipped for the dimensions that every shape filters or groups by: no query would follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

from starskip.advisor.families.star_tree.recommend.asked_shape import AnswerableShape
from starskip.advisor.families.star_tree.recommend.cuboids import Dimensions
from starskip.advisor.families.star_tree.recommend.simulated_tree import TreeLayout
from starskip.advisor.families.star_tree.recommend.tree_forecast import Forecaster, TreeForecast

MAX_LEAF_RECORDS = (10_000, 3_000, 1_000, 300, 100)
"""The thresholds that are tried, Pinot's default first."""
SUFFICIENT_RATIO = 0.99
"""Share of the best saving that is enough: the tree with fewest documents that reaches it is taken."""
_EXHAUSTIVE_DIMENSIONS = 4
_MOST_STEPS = 12


def saving_of(forecast: TreeForecast, shapes: Sequence[AnswerableShape]) -> float:
    """Return the entries that the shapes' queries would not scan."""
    return sum(shape.saving_entries(forecast.entries_read[shape.shape_id]) for shape in shapes)


def best_layout(
    forecaster: Forecaster, dimensions: Dimensions, shapes: Sequence[AnswerableShape], most_documents: float
) -> TreeForecast | None:
    """Return the forecast of the best tree for ``shapes``; None if all have more than ``most_documents``."""
    if forecaster.base_documents(dimensions) > most_documents:
        return None
    skipped = dimensions.intersection(*(shape.dimensions for shape in shapes))

    def forecasts(order: tuple[str, ...]) -> list[TreeForecast]:
        made: list[TreeForecast] = []
        for most in MAX_LEAF_RECORDS:
            same = made[-1].with_threshold(most) if made else None
            made.append(same or forecaster.forecast(TreeLayout(order, most, skipped), shapes))
            if made[-1].documents > most_documents:
                # A smaller threshold splits more, never less.
                break
        return made

    found: list[TreeForecast] = []
    orders = permutations(sorted(dimensions)) if len(dimensions) <= _EXHAUSTIVE_DIMENSIONS else ()
    for order in orders:
        found += forecasts(order)
    if not found:
        for start in first_orders(forecaster, dimensions, shapes):
            found += _uphill(start, forecasts, shapes, most_documents)
    return sufficient(found, shapes, most_documents)


def sufficient(
    found: Sequence[TreeForecast], shapes: Sequence[AnswerableShape], most_documents: float
) -> TreeForecast | None:
    """Return the forecast with fewest documents among the forecasts that save nearly as much as the best."""
    small = [item for item in found if item.documents <= most_documents]
    if not small:
        return None
    enough = max(saving_of(item, shapes) for item in small)
    enough -= abs(enough) * (1 - SUFFICIENT_RATIO)
    good = [item for item in small if saving_of(item, shapes) >= enough]
    return min(
        good,
        key=lambda item: (item.documents, item.layout.dimensions_split_order, -item.layout.max_leaf_records),
    )


def first_orders(
    forecaster: Forecaster, dimensions: Dimensions, shapes: Sequence[AnswerableShape]
) -> list[tuple[str, ...]]:
    """Return two orders to start from: the sharpest filter first, and the most values first, as in Pinot."""

    def sharpness(name: str) -> float:
        return sum(shape.entries_scanned * forecaster.matching_ratio(shape, name) for shape in shapes)

    by_filter = sorted(dimensions, key=lambda name: (sharpness(name), name))
    by_cardinality = sorted(dimensions, key=lambda name: (-forecaster.cardinality(name), name))
    return list(dict.fromkeys((tuple(by_filter), tuple(by_cardinality))))


def _uphill(
    order: tuple[str, ...],
    forecasts: Callable[[tuple[str, ...]], list[TreeForecast]],
    shapes: Sequence[AnswerableShape],
    most_documents: float,
) -> list[TreeForecast]:
    """Move single dimensions as long as that gives a better tree."""
    found = forecasts(order)
    tried = {order}
    for _ in range(_MOST_STEPS):
        best = sufficient(found, shapes, most_documents)
        start = best.layout.dimensions_split_order if best else order
        neighbours = [moved for moved in _neighbours(start) if moved not in tried]
        tried.update(neighbours)
        for moved in neighbours:
            found += forecasts(moved)
        after = sufficient(found, shapes, most_documents)
        if after is None or (best is not None and after.layout == best.layout):
            break
    return found


def _neighbours(order: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for position in range(len(order) - 1):
        yield (*order[:position], order[position + 1], order[position], *order[position + 2 :])
    for position in range(2, len(order)):
        yield (order[position], *order[:position], *order[position + 1 :])
