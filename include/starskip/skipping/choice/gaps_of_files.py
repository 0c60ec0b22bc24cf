"""The gaps that an index of gap lists is to store for a workload, one row a file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from starskip.skipping.choice.disjunctive_gaps import disjunctive_gaps
from starskip.skipping.choice.range_workload import RangeWorkload
from starskip.skipping.choice.table_gaps import table_gaps


def gaps_of_files(values: pa.ListArray, workload: RangeWorkload, k: int) -> pa.ListArray:
    """Return at most ``k`` gaps of each file that skip most: int64 positions, rising, null where unknown.

    ``values``: sorted distinct values of each file, without null; a null row is an unknown one. Gap i is
    that between values i - 1 and i. Exact for ranges, good for queries with OR of them.
    """
    known = np.asarray(values.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    if workload.is_of_ranges:
        chosen = table_gaps(values, workload, per_file=k)
        counts = np.bincount(chosen.file, minlength=len(values))
        positions = chosen.gap
    else:
        offsets = values.offsets.to_numpy()
        found = [
            disjunctive_gaps(values.values[offsets[file] : offsets[file + 1]], workload, k)
            if known[file]
            else np.zeros(0, np.int64)
            for file in range(len(values))
        ]
        counts = np.array([len(each) for each in found], np.int64)
        positions = np.concatenate([np.zeros(0, np.int64), *found])
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(positions), mask=pa.array(~known))
