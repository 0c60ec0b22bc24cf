"""Sums of floats, in 64 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.indexes.star_tree.measures.arrow_buffers import (
    Mask,
    appended_masks,
    array_of,
    floats_of,
    merged_mask,
    taken_mask,
    valid_mask,
)
from starskip.indexes.star_tree.measures.measure_array import Positions


@dataclass(frozen=True, slots=True)
class FloatSums:
    """float64, 0 where not valid; the order of adding, and so the last digits, is that of the documents."""

    values: npt.NDArray[np.float64]
    valid: Mask | None

    @classmethod
    def from_arrow(cls, array: pa.Array) -> Self:
        """Return the sums of a column: of rows, or as stored."""
        return cls(floats_of(array), valid_mask(array))

    def __len__(self) -> int:
        """See MeasureArray."""
        return len(self.values)

    def take(self, positions: Positions) -> FloatSums:
        """See MeasureArray.take."""
        return FloatSums(self.values[positions], taken_mask(self.valid, positions))

    def merged(self, starts: Positions) -> FloatSums:
        """See MeasureArray.merged."""
        if not len(starts):
            return self
        with np.errstate(over="ignore", invalid="ignore"):  # infinities are values here
            return FloatSums(np.add.reduceat(self.values, starts), merged_mask(self.valid, starts))

    def appended(self, others: Sequence[FloatSums]) -> FloatSums:
        """See MeasureArray.appended."""
        parts = [self, *others]
        return FloatSums(
            np.concatenate([part.values for part in parts]),
            appended_masks([part.valid for part in parts], [len(part) for part in parts]),
        )

    def to_arrow(self) -> pa.Array:
        """See MeasureArray.to_arrow."""
        return array_of(self.values, self.valid)

    def results(self) -> pa.Array:
        """See MeasureArray.results."""
        return self.to_arrow()
