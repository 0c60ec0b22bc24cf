"""Translate a predicate into intervals that contain all values of one column in matching rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from starskip.predicates.column_name import column_name
from starskip.predicates.comparison import Comparison, ComparisonOperator, comparison_of
from starskip.predicates.expression import Call, Column, Expression, nodes
from starskip.predicates.like_pattern import like_prefix
from starskip.predicates.ordered_values import order_keys, positions, ranked, same_order
from starskip.predicates.prefix_bounds import text_after

Interval = tuple[int, int]
"""A pair of cuts, see range_workload; empty unless the first is below the second."""

_MAX_DEPTH = 200
"""A predicate nested deeper counts as unknown."""


@dataclass(frozen=True, slots=True)
class ColumnIntervals:
    """Disjoint rising intervals over sorted distinct ``literals``; empty if no value matches."""

    literals: pa.Array
    intervals: tuple[Interval, ...]


def column_intervals(predicate: Expression, column: str, data_type: pa.DataType) -> ColumnIntervals | None:
    """Return intervals that contain the column's value in every matching row, None if any value may match."""
    found = [
        comparison
        for node in nodes(predicate)
        if (comparison := _comparison(node, column, data_type)) is not None
    ]
    literals = pa.concat_arrays([pa.array([], data_type), *(_bounds(item, data_type) for item in found)])
    distinct, _ = ranked(literals)
    intervals = _Reader(column, data_type, distinct).read(predicate, 0)
    return None if intervals is None else ColumnIntervals(distinct, tuple(intervals))


@dataclass(frozen=True, slots=True)
class _Reader:
    column: str
    data_type: pa.DataType
    literals: pa.Array

    def read(self, node: Expression, depth: int) -> list[Interval] | None:
        if depth > _MAX_DEPTH:
            return None
        if isinstance(node, Call) and node.name in ("And", "Or"):
            return self._joined(node, depth)
        comparison = _comparison(node, self.column, self.data_type)
        return None if comparison is None else self._of(comparison)

    def _joined(self, node: Call, depth: int) -> list[Interval] | None:
        operands = [self.read(operand, depth + 1) for operand in node.arguments]
        known = [operand for operand in operands if operand is not None]
        if not known or (node.name == "Or" and len(known) < len(operands)):
            return None
        if node.name == "Or":
            return _union([interval for operand in known for interval in operand])
        kept = known[0]
        for operand in known[1:]:
            kept = _intersection(kept, operand)
        return kept

    def _of(self, comparison: Comparison) -> list[Interval]:
        bounds = _bounds(comparison, self.data_type)
        ranks = positions(order_keys(self.literals), order_keys(bounds), "left").tolist()
        end = 2 * len(self.literals)
        if comparison.operator is ComparisonOperator.IN:
            return _union([(2 * rank, 2 * rank + 1) for rank in ranks])
        if comparison.operator in _ONE_SIDED:
            return [_ONE_SIDED[comparison.operator](ranks[0], end)]
        return [(2 * ranks[0], 2 * ranks[1] if len(ranks) > 1 else end)]


_ONE_SIDED: dict[ComparisonOperator, Callable[[int, int], Interval]] = {
    ComparisonOperator.BELOW: lambda rank, _: (-1, 2 * rank),
    ComparisonOperator.AT_MOST: lambda rank, _: (-1, 2 * rank + 1),
    ComparisonOperator.AT_LEAST: lambda rank, end: (2 * rank, end),
    ComparisonOperator.ABOVE: lambda rank, end: (2 * rank + 1, end),
}
_KNOWN = {*_ONE_SIDED, ComparisonOperator.IN, ComparisonOperator.STARTS_WITH, ComparisonOperator.LIKE}


def _comparison(node: Expression, column: str, data_type: pa.DataType) -> Comparison | None:
    found = comparison_of(node) if isinstance(node, Call | Column) else None
    if (
        found is None
        or found.negated
        or found.operator not in _KNOWN
        or column_name(found.column.path) != column
    ):
        return None
    if not same_order(found.values.type, data_type):
        return None
    if not _fits(found.values, data_type):
        return None
    if found.operator is ComparisonOperator.LIKE and not like_prefix(found.text, found.escape):
        return None
    return found


def _fits(values: pa.Array, data_type: pa.DataType) -> bool:
    """Return whether literals are values of the column's type: a decimal may have too many digits."""
    try:
        values.cast(data_type)
    except pa.ArrowInvalid:
        return False
    return True


def _bounds(comparison: Comparison, data_type: pa.DataType) -> pa.Array:
    """Return the bounds of a comparison in the column's type; for a prefix, the prefix and its successor."""
    if comparison.operator not in (ComparisonOperator.STARTS_WITH, ComparisonOperator.LIKE):
        return comparison.values.cast(data_type)
    text = comparison.text
    is_like = comparison.operator is ComparisonOperator.LIKE
    prefix = like_prefix(text, comparison.escape) if is_like else text
    after = text_after(prefix)
    return pa.array([prefix] if after is None else [prefix, after], data_type)


def _union(intervals: Sequence[Interval]) -> list[Interval]:
    joined: list[Interval] = []
    for low, high in sorted(interval for interval in intervals if interval[0] < interval[1]):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def _intersection(left: Sequence[Interval], right: Sequence[Interval]) -> list[Interval]:
    """Intersect two disjoint rising lists by one pass over both."""
    found: list[Interval] = []
    first = second = 0
    while first < len(left) and second < len(right):
        low = max(left[first][0], right[second][0])
        high = min(left[first][1], right[second][1])
        if low < high:
            found.append((low, high))
        if left[first][1] < right[second][1]:
            first += 1
        else:
            second += 1
    return found
