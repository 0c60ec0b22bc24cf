"""The gaps of all files of a table for a workload: each file's best, or the best of all under one budget.

Gaps of different files are independent, and so are those of one file for ranges (optimal_gaps): with a
budget for the table the heaviest pairs of file and gap are the best, each weighed by what skipping its file
saves. With a limit a file as well, a file's lighter gaps make room for those of other files, which is still
the best choice: the two limits are laminar, a matroid, where greedy is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.skipping.choice.optimal_gaps import weighed_gaps
from starskip.skipping.choice.range_workload import Positions, RangeWorkload
from starskip.skipping.ordered_values import order_keys


@dataclass(frozen=True, slots=True)
class TableGaps:
    """Chosen gaps by file, then position; gap i of a file is between its values i - 1 and i.

    ``weights``: the weight of the queries that lie in each, times the file's weight.
    """

    file: Positions
    gap: Positions
    weights: npt.NDArray[np.float64]


def table_gaps(
    values: pa.ListArray,
    workload: RangeWorkload,
    *,
    per_file: int,
    total: int | None = None,
    file_weights: npt.ArrayLike | None = None,
) -> TableGaps:
    """Return the gaps that skip most of a workload of ranges.

    ``values``: sorted distinct values of each file, null where they are not known. ``per_file``, ``total``:
    how many gaps a file and the table may have. ``file_weights``: bytes or rows that skipping each file
    saves, 1 by default. Raises ValueError for a workload with OR.
    """
    if not workload.is_of_ranges:
        raise ValueError("a query of several ranges needs several gaps: use disjunctive_gaps")
    saved = np.ones(len(values)) if file_weights is None else np.asarray(file_weights, np.float64)
    weights = workload.weights[workload.query]
    files: list[Positions] = []
    gaps: list[Positions] = []
    amounts: list[npt.NDArray[np.float64]] = []
    literals = order_keys(workload.literals)
    keys = order_keys(values.values)
    known = np.asarray(values.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    offsets = values.offsets.to_numpy()
    for file in np.flatnonzero(known).tolist():
        own = keys[offsets[file] : offsets[file + 1]]
        found, weight = weighed_gaps(workload.places_of(literals, own), weights, len(own))
        if len(found) > per_file:
            heaviest = np.sort(np.argsort(-weight, kind="stable")[:per_file])
            found, weight = found[heaviest], weight[heaviest]
        if len(found):
            files.append(np.full(len(found), file))
            gaps.append(found)
            amounts.append(weight * saved[file])
    none = np.zeros(0, np.int64)
    chosen = TableGaps(
        np.concatenate([none, *files]),
        np.concatenate([none, *gaps]),
        np.concatenate([np.zeros(0), *amounts]),
    )
    if total is None or len(chosen.gap) <= total:
        return chosen
    best = np.sort(np.argsort(-chosen.weights, kind="stable")[:total])
    return TableGaps(chosen.file[best], chosen.gap[best], chosen.weights[best])
