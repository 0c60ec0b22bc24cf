"""Index type ``gaplist:c:k`` that stores the gaps which skip most of a workload, in place of the widest.

The sorted distinct values v_1 < … < v_n of a file leave n - 1 gaps (v_i, v_{i+1}). A range query skips the
file only if its range holds no value. Then the range lies below v_1 or above v_n, which the bounds show, or
within exactly one gap, since gaps are disjoint. Part of a gap skips no more queries than the whole gap, at
the same cost. So each range query belongs to at most one gap, the savings of gaps add up, and the k heaviest
gaps are the best k ("Extensible Data Skipping", IV-C). Queries with OR need several gaps: see
disjunctive_gaps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from starskip.advisor.families.skipping.choice.disjunctive_gaps import disjunctive_gaps
from starskip.advisor.families.skipping.choice.range_workload import Positions, RangeWorkload, range_workload
from starskip.predicates.expression import Expression
from starskip.skipping.index_types.gap_list import GapList


class WorkloadGapList(GapList):
    """A GapList collected for a workload; the widest gaps fill up to k, for other queries.

    It has the kind and specification of a GapList, and is read as one.
    """

    def __init__(
        self,
        columns: Sequence[str],
        arguments: Sequence[str] = (),
        *,
        predicates: Sequence[Expression] = (),
        weights: Sequence[float] = (),
    ) -> None:
        """Take the predicates of the workload with the number of queries of each."""
        super().__init__(columns, arguments)
        self.predicates = tuple(predicates)
        self.weights = tuple(weights)

    def gap_worths(self, sets: pa.ListArray) -> np.ndarray:
        """See GapList; a gap that the workload needs is worth more than any width."""
        workload = range_workload(self.predicates, self.weights, self.columns[0], sets.type.value_type)
        gaps = gaps_of_files(sets, workload, self.gaps)
        worths = np.minimum(super().gap_worths(sets), np.finfo(np.float64).max)
        starts = sets.offsets.to_numpy()[:-1]
        counts = np.diff(gaps.offsets.to_numpy())
        worths[np.repeat(starts, counts) + gaps.values.to_numpy()] = np.inf
        return worths


def gaps_of_files(values: pa.ListArray, workload: RangeWorkload, k: int) -> pa.ListArray:
    """Return at most ``k`` gaps of each file that skip most: rising int64 positions, null where unknown.

    ``values``: the sorted distinct values of each file, without null; a null row is an unknown file. Gap i
    lies between values i - 1 and i. The choice is exact for ranges, heuristic for queries with OR.
    """
    best = optimal_gaps if workload.is_of_ranges else disjunctive_gaps
    known = np.asarray(values.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    offsets = values.offsets.to_numpy()
    none = np.zeros(0, np.int64)
    found = [
        best(values.values[offsets[file] : offsets[file + 1]], workload, k) if known[file] else none
        for file in range(len(values))
    ]
    ends = np.concatenate([[0], np.cumsum([len(each) for each in found])]).astype(np.int32)
    return pa.ListArray.from_arrays(
        pa.array(ends), pa.array(np.concatenate([none, *found])), mask=pa.array(~known)
    )


def optimal_gaps(values: pa.Array, workload: RangeWorkload, k: int) -> Positions:
    """Return the ``k`` heaviest gaps of one file's sorted distinct ``values``, in rising order.

    Gaps without a query are left out; of equal gaps the first is taken. Raises ValueError for a workload with
    OR, for which the heaviest gaps are not the best.
    """
    if not workload.is_of_ranges:
        raise ValueError("a query of several ranges needs several gaps: use disjunctive_gaps")
    places, weights = workload.places(values), workload.weights[workload.query]
    inside = (places.low == places.high) & (places.low > 0) & (places.low < len(values)) & (weights > 0)
    gaps, which = np.unique(places.low[inside], return_inverse=True)
    weight = np.bincount(which, weights[inside], len(gaps))
    heaviest = np.argsort(-weight, kind="stable")[: max(k, 0)]
    return np.sort(gaps[heaviest])
