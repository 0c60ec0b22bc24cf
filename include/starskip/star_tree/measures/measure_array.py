"""The protocol of all arrays of intermediate results: reorder, merge by group, store, finish."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Positions = npt.NDArray[np.int64]


class MeasureArray(Protocol):
    """One intermediate result a document; values are merged in runs, so rows are sorted first."""

    def __len__(self) -> int:
        """Return the number of values."""
        ...

    def take(self, positions: Positions) -> Self:
        """Return the values at ``positions``, in that order."""
        ...

    def merged(self, starts: Positions) -> Any:
        """Return one value a run; ``starts`` are the runs' first positions, the first being 0.

        The result may be an array of another kind (rows become sketches), which can be merged again.
        """
        ...

    def appended(self, others: Sequence[Self]) -> Self:
        """Return these values, followed by the values of ``others``."""
        ...

    def to_arrow(self) -> pa.Array:
        """Return the values in their stored form; ``stored_measure`` reads them back."""
        ...

    def results(self) -> pa.Array:
        """Return the results for a query: null where a group has only nulls."""
        ...


def run_lengths(starts: Positions, length: int) -> Positions:
    """Return the number of values of each run, of ``length`` values in all."""
    return np.diff(starts, append=length)


def range_positions(starts: Positions, ends: Positions) -> Positions:
    """Return all positions of the ranges ``[start, end)``, one range after the other."""
    lengths = ends - starts
    offsets = np.cumsum(lengths) - lengths
    positions: Positions = np.arange(int(lengths.sum())) + np.repeat(starts - offsets, lengths)
    return positions
