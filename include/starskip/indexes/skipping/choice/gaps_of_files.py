"""The gaps that an index of gap lists is to store for a workload, one row a file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from starskip.indexes.skipping.choice.disjunctive_gaps import disjunctive_gaps
from starskip.indexes.skipping.choice.optimal_gaps import optimal_gaps
from starskip.indexes.skipping.choice.range_workload import RangeWorkload


def gaps_of_files(values: pa.ListArray, workload: RangeWorkload, k: int) -> pa.ListArray:
    """Return at most ``k`` gaps of each file that skip most: int64 positions, rising, null where unknown.

    ``values``: sorted distinct values of each file, without null; a null row is an unknown one. Gap i is
    that between values i - 1 and i. Exact for ranges, good for queries with OR of them.
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
