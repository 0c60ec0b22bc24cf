"""Judge comparisons by value ranges: a list of ranges for each file, in flat columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.predicates.comparison import Comparison, ComparisonOperator, comparison_of
from starskip.predicates.expression import Call, Expression
from starskip.predicates.ordered_values import (
    Keys,
    at_most,
    below,
    equal,
    mask_of,
    order_keys,
    positions,
    same_order,
    sorted_keys,
    valid_mask,
)
from starskip.predicates.prefix_bounds import first_after
from starskip.skipping.clause import Clause
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.skipping.value_sets import any_of

MOST_CONJUNCTS = 100
"""Conjuncts that are judged together; each is also judged alone."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison, with the names of the fields that bound the compared values in a range."""

    comparison: Comparison
    least: str
    greatest: str


@dataclass(frozen=True, slots=True)
class RangesClause(Clause):
    """Passes files with a range in which all conditions can hold; null passes.

    ``column`` of the index is a list of structs of bounds. Conditions on one column that are possible one by
    one in a range are possible together, since intervals that meet pairwise have a common value. Conditions
    on several columns bound a box.
    """

    index: str
    column: str
    conditions: tuple[Condition, ...]

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        sets = metadata.column(self.index, self.column)
        ranges = sets.values
        possible = np.ones(len(ranges), np.bool_)
        for each in self.conditions:
            least, greatest = ranges.field(each.least), ranges.field(each.greatest)
            possible &= possible_between(each.comparison, least, greatest)
        return any_of(sets, possible) | ~valid_mask(sets)


def anded_comparisons(node: Expression) -> Iterator[Comparison]:
    """Yield the comparisons of an AND of any depth, up to MOST_CONJUNCTS."""
    waiting, found = [node], 0
    while waiting and found < MOST_CONJUNCTS:
        each = waiting.pop()
        if isinstance(each, Call) and each.name == "And":
            waiting.extend(each.arguments)
        elif (comparison := comparison_of(each)) is not None:
            yield comparison
        found += 1


def is_possible_known(comparison: Comparison) -> bool:
    """Return whether ``possible_between`` supports the comparison."""
    return comparison.operator in (_CERTAIN if comparison.negated else _POSSIBLE)


def bounds_judged(comparison: Comparison, least: str, greatest: str) -> tuple[str, str]:
    """Return the names of the two bounds that ``possible_between`` needs, which may be the same."""
    if comparison.operator in (ComparisonOperator.BELOW, ComparisonOperator.AT_MOST):
        return least, least
    if comparison.operator in (ComparisonOperator.AT_LEAST, ComparisonOperator.ABOVE):
        return greatest, greatest
    return least, greatest


def possible_between(comparison: Comparison, least: pa.Array, greatest: pa.Array) -> Mask:
    """Return for each pair of bounds whether a value between can satisfy the comparison; true for null."""
    if not same_order(least.type, comparison.values.type):
        return np.ones(len(least), np.bool_)
    low, high, values = order_keys(least), order_keys(greatest), order_keys(comparison.values)
    if comparison.negated:
        possible = ~_CERTAIN[comparison.operator](low, high, values)
    else:
        possible = _POSSIBLE[comparison.operator](low, high, values)
    if least.null_count or greatest.null_count:
        possible |= ~(valid_mask(least) & valid_mask(greatest))
    return possible


def _in(least: Keys, greatest: Keys, values: Keys) -> Mask:
    if len(values) == 1:
        return at_most(least, values) & ~below(greatest, values)
    ordered = sorted_keys(values)
    return positions(ordered, greatest, "right") > positions(ordered, least, "left")


def _starts_with(least: Keys, greatest: Keys, values: Keys) -> Mask:
    after = first_after(values[0].as_py())
    reached = ~below(greatest, values)
    return reached & below(least, pa.array([after])) if after is not None else reached


def _all_in(least: Keys, greatest: Keys, values: Keys) -> Mask:
    return equal(least, greatest) & _in(least, greatest, values)


def _all_start_with(least: Keys, greatest: Keys, values: Keys) -> Mask:
    prefix = values[0].as_py()
    return mask_of(pc.starts_with(least, prefix)) & mask_of(pc.starts_with(greatest, prefix))


_Judge = Callable[[Keys, Keys, Keys], Mask]
_POSSIBLE: Mapping[ComparisonOperator, _Judge] = {
    ComparisonOperator.IN: _in,
    ComparisonOperator.BELOW: lambda least, _, values: below(least, values),
    ComparisonOperator.AT_MOST: lambda least, _, values: at_most(least, values),
    ComparisonOperator.AT_LEAST: lambda _, greatest, values: ~below(greatest, values),
    ComparisonOperator.ABOVE: lambda _, greatest, values: ~at_most(greatest, values),
    ComparisonOperator.STARTS_WITH: _starts_with,
}
"""Judges whether a value between the bounds can satisfy the comparison."""
_CERTAIN: Mapping[ComparisonOperator, _Judge] = {
    ComparisonOperator.IN: _all_in,
    ComparisonOperator.STARTS_WITH: _all_start_with,
}
"""Judges whether all values satisfy the comparison, so that no value satisfies its NOT."""
