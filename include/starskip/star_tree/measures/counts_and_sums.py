"""Counts of rows, or of values that are not null, and sums of floats in 64 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.star_tree.measures.arrow_buffers import (
    Mask,
    appended_masks,
    array_of,
    floats_of,
    integers_of,
    merged_mask,
    taken_mask,
    valid_mask,
)
from starskip.star_tree.measures.measure_array import Positions


@dataclass(frozen=True, slots=True)
class Counts:
    """int64, never null: a group without values counts 0."""

    values: npt.NDArray[np.int64]

    @classmethod
    def of_rows(cls, rows: int) -> Self:
        """Return a count of 1 for each row."""
        return cls(np.ones(rows, np.int64))

    @classmethod
    def of_values(cls, array: pa.Array) -> Self:
        """Return 1 for each value and 0 for each null."""
        valid = valid_mask(array)
        return cls.of_rows(len(array)) if valid is None else cls(valid.astype(np.int64))

    @classmethod
    def from_arrow(cls, array: pa.Array) -> Self:
        """Return the counts of a stored column."""
        return cls(integers_of(array, pa.int64()))

    def __len__(self) -> int:
        """See MeasureArray."""
        return len(self.values)

    def take(self, positions: Positions) -> Counts:
        """See MeasureArray.take."""
        return Counts(self.values[positions])

    def merged(self, starts: Positions) -> Counts:
        """See MeasureArray.merged."""
        return Counts(np.add.reduceat(self.values, starts)) if len(starts) else self

    def appended(self, others: Sequence[Counts]) -> Counts:
        """See MeasureArray.appended."""
        return Counts(np.concatenate([self.values, *(other.values for other in others)]))

    def to_arrow(self) -> pa.Array:
        """See MeasureArray.to_arrow."""
        return array_of(self.values, None)

    def results(self) -> pa.Array:
        """See MeasureArray.results."""
        return self.to_arrow()


@dataclass(frozen=True, slots=True)
class FloatSums:
    """float64, 0 where not valid; the last digits depend on the order of the documents."""

    values: npt.NDArray[np.float64]
    valid: Mask | None

    @classmethod
    def from_arrow(cls, array: pa.Array) -> Self:
        """Return the sums of a column of rows, or of stored sums."""
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
