"""Values that a sketch of quantiles cannot hold, counted beside it: NaN, and for t-digests infinities too.

They have ranks all the same, as in Spark and DuckDB: -Infinity is the least, NaN the greatest, above
Infinity. A t-digest would compute NaN as the mean of two infinities. The counts are appended to the sketch's
own bytes, and only if there are any, so that other programs can read all other sketches.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starskip.star_tree.measure import MeasureKind

_COUNTS = struct.Struct("<QQQ")
_MARK = b"starskip.apart.1"
_NAMES = ("-Infinity", "Infinity", "NaN")


@dataclass(frozen=True, slots=True)
class ValuesApart:
    """Counts of the values -Infinity, Infinity and NaN that a sketch does not hold."""

    least: int = 0
    infinite: int = 0
    nan: int = 0

    def __add__(self, other: ValuesApart) -> ValuesApart:
        """Return the counts of both."""
        return ValuesApart(self.least + other.least, self.infinite + other.infinite, self.nan + other.nan)

    @property
    def count(self) -> int:
        """Return the sum of the counts."""
        return self.least + self.infinite + self.nan

    def stored(self, sketch: bytes) -> bytes:
        """Return a serialised sketch with these counts appended, if any is not 0."""
        if not self.count:
            return sketch
        return sketch + _COUNTS.pack(self.least, self.infinite, self.nan) + _MARK

    def __str__(self) -> str:
        """Return the counts above 0 as ``|-Infinity:1|NaN:2``; the empty text for none."""
        counts = zip(_NAMES, (self.least, self.infinite, self.nan), strict=True)
        return "".join(f"|{name}:{count}" for name, count in counts if count)


def parted(stored: bytes) -> tuple[bytes, ValuesApart]:
    """Return the sketch and the values counted beside it, from the form of ``ValuesApart.stored``."""
    if not stored.endswith(_MARK):
        return stored, ValuesApart()
    end = len(stored) - len(_MARK) - _COUNTS.size
    return stored[:end], ValuesApart(*_COUNTS.unpack_from(stored, end))


def is_apart(numbers: npt.NDArray[np.float64], kind: MeasureKind) -> npt.NDArray[np.bool_]:
    """Return which values a sketch of that kind cannot hold."""
    return np.isnan(numbers) if kind is MeasureKind.KLL else ~np.isfinite(numbers)


def values_apart(
    numbers: npt.NDArray[np.float64], apart: npt.NDArray[np.bool_], starts: npt.NDArray[np.int64]
) -> dict[int, ValuesApart]:
    """Return the counts of the values that are ``apart``, by run, for runs that have some.

    ``starts``: the first positions of the runs, the first being 0.
    """
    values = numbers[apart]
    runs, where = np.unique(
        np.searchsorted(starts, np.flatnonzero(apart), side="right") - 1, return_inverse=True
    )
    counts = (
        np.bincount(where[is_one], minlength=len(runs)).tolist()
        for is_one in (values == -np.inf, values == np.inf, np.isnan(values))
    )
    return {run: ValuesApart(*each) for run, *each in zip(runs.tolist(), *counts, strict=True)}
