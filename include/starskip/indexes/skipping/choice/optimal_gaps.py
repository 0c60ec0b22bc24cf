"""The k gaps of a file that skip most of a workload's ranges (seed 003, IV-C; its reference [31]).

The sorted distinct values v_1 < … < v_n of a file leave n - 1 gaps (v_i, v_{i+1}), the largest intervals
without a value. A range query skips the file only if no value lies in it; then it lies below v_1 or above
v_n, which the bounds tell for nothing, or in one of the gaps, and in no other one since they are disjoint.
To store less than a whole gap helps no more queries, and costs as much. So each query belongs to one gap at
most, the weight that a set of gaps skips is the sum of their own weights, and the k heaviest gaps are the
best k: no search is needed.

Ties go to the gap that comes first. Queries with OR need several gaps: see disjunctive_gaps.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from starskip.indexes.skipping.choice.range_workload import Positions, RangeWorkload


def optimal_gaps(values: pa.Array, workload: RangeWorkload, k: int) -> Positions:
    """Return at most ``k`` gaps, rising; gap i is that between ``values[i - 1]`` and ``values[i]``.

    ``values``: sorted, distinct, without null, in Spark's order. Gaps that no query lies in are left out.
    Raises ValueError for a workload with OR, of which the heaviest gaps are not the best.
    """
    if not workload.is_of_ranges:
        raise ValueError("a query of several ranges needs several gaps: use disjunctive_gaps")
    places, weights = workload.places(values), workload.weights[workload.query]
    inside = (places.low == places.high) & (places.low > 0) & (places.low < len(values)) & (weights > 0)
    gaps, which = np.unique(places.low[inside], return_inverse=True)
    weight = np.bincount(which, weights[inside], len(gaps))
    heaviest = np.argsort(-weight, kind="stable")[: max(k, 0)]
    return np.sort(gaps[heaviest])
