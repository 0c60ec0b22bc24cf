"""Convert the predicates of a workload on one column to intervals between its literals.

A cut is a position in the order of values: cut 2r lies before the r-th literal, 2r + 1 after it. An interval
is a pair of cuts. So ``a <= c``, ``c < b``, ``c = v`` and ``c IN (...)`` have one form, and AND and OR
operate on numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.advisor.families.skipping.choice.column_intervals import ColumnIntervals, column_intervals
from starskip.predicates.expression import Expression
from starskip.predicates.ordered_values import Keys, order_keys, positions, ranked

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RangeWorkload:
    """Intervals (``low_cut``, ``high_cut``) of queries on one column; several of one query are an OR.

    ``literals``: sorted, distinct, not null. ``low_cut`` -1 and ``high_cut`` 2 * literals are unbounded.
    ``query``: the query of each interval, rising. ``weights``: the number of runs of each query.
    """

    literals: pa.Array
    low_cut: Positions
    high_cut: Positions
    query: Positions
    weights: npt.NDArray[np.float64]

    @property
    def is_of_ranges(self) -> bool:
        """True if each query is one range; then the best gaps are found exactly."""
        return len(np.unique(self.query)) == len(self.query)

    def places(self, values: pa.Array) -> Places:
        """Return the positions of the intervals among a file's sorted distinct values."""
        return self.places_of(order_keys(self.literals), order_keys(values))

    def places_of(self, literals: Keys, values: Keys) -> Places:
        """Return the positions for keys (see ordered_values)."""
        count = len(self.literals)
        at = np.empty(2 * count + 2, np.int64)
        at[0], at[-1] = 0, len(values)
        at[1:-1:2] = positions(values, literals, "left")
        at[2:-1:2] = positions(values, literals, "right")
        return Places(at[self.low_cut + 1], at[self.high_cut + 1])


@dataclass(frozen=True, slots=True)
class Places:
    """``low``: the number of values below an interval; ``high``: the number of values not above it."""

    low: Positions
    high: Positions


def range_workload(
    predicates: Sequence[Expression], weights: Sequence[float], column: str, data_type: pa.DataType
) -> RangeWorkload:
    """Return the intervals of predicates on ``column`` (its dotted name, the Arrow type of its values).

    Predicates that do not bound the column are left out.
    """
    found: list[ColumnIntervals] = []
    kept: list[float] = []
    for predicate, weight in zip(predicates, weights, strict=True):
        intervals = column_intervals(predicate, column, data_type)
        if intervals is not None:
            found.append(intervals)
            kept.append(weight)
    return _of(found, kept, data_type)


def _of(found: Sequence[ColumnIntervals], weights: Sequence[float], data_type: pa.DataType) -> RangeWorkload:
    literals = pa.concat_arrays([pa.array([], data_type), *(item.literals for item in found)])
    distinct, rank = ranked(literals)
    low: list[int] = []
    high: list[int] = []
    query: list[int] = []
    first = 0
    for number, item in enumerate(found):
        ranks = rank[first : first + len(item.literals)]
        first += len(item.literals)
        # Literals of one query become literals of the workload: 2r + s becomes 2 * rank[r] + s.
        cuts = np.concatenate(
            [[-1], np.repeat(ranks, 2) * 2 + np.tile([0, 1], len(ranks)), [2 * len(distinct)]]
        )
        for begin, end in item.intervals:
            low.append(int(cuts[begin + 1]))
            high.append(int(cuts[end + 1]))
            query.append(number)
    return RangeWorkload(
        literals=distinct,
        low_cut=np.array(low, np.int64),
        high_cut=np.array(high, np.int64),
        query=np.array(query, np.int64),
        weights=np.array(weights, np.float64),
    )
