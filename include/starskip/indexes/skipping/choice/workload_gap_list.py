"""``gaplist:c:k`` with the gaps that a workload is served by best, in place of the largest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from starskip.indexes.skipping.choice.gaps_of_files import gaps_of_files
from starskip.indexes.skipping.choice.range_workload import range_workload
from starskip.indexes.skipping.expression import Expression
from starskip.indexes.skipping.index_types.gap_list import GapList


class WorkloadGapList(GapList):
    """Collects for the queries of a workload; what is left of k are the largest gaps, for other queries.

    Of the same kind and specification as a GapList, which it is read as.
    """

    def __init__(
        self,
        columns: Sequence[str],
        arguments: Sequence[str] = (),
        *,
        predicates: Sequence[Expression] = (),
        weights: Sequence[float] = (),
    ) -> None:
        """Take what queries ask of the table, and how often."""
        super().__init__(columns, arguments)
        self.predicates = tuple(predicates)
        self.weights = tuple(weights)

    def gap_worths(self, sets: pa.ListArray) -> np.ndarray:
        """See GapList: a gap of the workload's is worth more than any width."""
        workload = range_workload(self.predicates, self.weights, self.columns[0], sets.type.value_type)
        gaps = gaps_of_files(sets, workload, self.gaps)
        worths = np.minimum(super().gap_worths(sets), np.finfo(np.float64).max)
        starts = sets.offsets.to_numpy()[:-1]
        counts = np.diff(gaps.offsets.to_numpy())
        worths[np.repeat(starts, counts) + gaps.values.to_numpy()] = np.inf
        return worths
