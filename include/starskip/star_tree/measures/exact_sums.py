"""Sums of integers and decimals without rounding, of any number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import CapExceeded
from starskip.star_tree.measures.arrow_buffers import (
    Mask,
    appended_masks,
    array_of,
    decimal_words,
    decimals_from_words,
    integers_of,
    merged_mask,
    taken_mask,
    valid_mask,
)
from starskip.star_tree.measures.measure_array import Positions, run_lengths

_BITS = np.int64(32)
_DIGIT = np.int64((1 << 32) - 1)
_ROOM = 1 << 62
"""Below this absolute value a sum with one more limb's carry still fits 64 bits."""


@dataclass(frozen=True, slots=True)
class ExactSums:
    """Unscaled integers in limbs: (k, n), least first, each limb but the last in 0 … 2^32 - 1.

    One limb holds 64 bits; a second one is added only where a sum might exceed them. ``scale``: the decimals'
    scale, None for integers.
    """

    limbs: npt.NDArray[np.int64]
    valid: Mask | None
    scale: int | None

    @classmethod
    def of_values(cls, array: pa.Array) -> Self:
        """Return the values of rows: integers of any width, or decimals."""
        if pa.types.is_decimal(array.type):
            return cls._of_decimals(array, array.type.scale, array.type.scale)
        if array.type == pa.uint64():
            return cls._of_decimals(array, 0, None)
        return cls(integers_of(array, pa.int64())[None, :], valid_mask(array), None)

    @classmethod
    def from_arrow(cls, array: pa.Array, scale: int | None) -> Self:
        """Return the sums of a stored column: unscaled, int64 or decimal128(38, 0)."""
        if array.type == pa.int64():
            return cls(integers_of(array, pa.int64())[None, :], valid_mask(array), scale)
        return cls._of_decimals(array, 0, scale)

    @classmethod
    def _of_decimals(cls, array: pa.Array, read_scale: int, scale: int | None) -> Self:
        low, high = decimal_words(array, read_scale)
        valid = valid_mask(array)
        narrow = low.view(np.int64)
        if np.array_equal(high, narrow >> np.int64(63)):
            return cls(narrow[None, :], valid, scale)
        digits = [low.astype(np.uint64) & np.uint64(_DIGIT), low >> np.uint64(32)]
        limbs = np.stack([*(digit.view(np.int64) for digit in digits), high & _DIGIT, high >> _BITS])
        return cls(limbs, valid, scale)

    def __len__(self) -> int:
        """See MeasureArray."""
        return int(self.limbs.shape[1])

    def take(self, positions: Positions) -> ExactSums:
        """See MeasureArray.take."""
        return ExactSums(self.limbs[:, positions], taken_mask(self.valid, positions), self.scale)

    def merged(self, starts: Positions) -> ExactSums:
        """See MeasureArray.merged."""
        if not len(starts):
            return self
        limbs = self.limbs
        top = limbs[-1]
        largest = max(int(top.max()), -int(top.min()))
        if largest * int(run_lengths(starts, len(self)).max()) >= _ROOM:
            limbs = _with_one_limb_more(limbs)
        summed = np.add.reduceat(limbs, starts, axis=1)
        for position in range(len(summed) - 1):
            summed[position + 1] += summed[position] >> _BITS
            summed[position] &= _DIGIT
        return ExactSums(summed, merged_mask(self.valid, starts), self.scale)

    def appended(self, others: Sequence[ExactSums]) -> ExactSums:
        """See MeasureArray.appended."""
        parts = [self, *others]
        width = max(len(part.limbs) for part in parts)
        widened = []
        for part in parts:
            limbs = part.limbs
            while len(limbs) < width:
                limbs = _with_one_limb_more(limbs)
            widened.append(limbs)
        valid = appended_masks([part.valid for part in parts], [len(part) for part in parts])
        return ExactSums(np.concatenate(widened, axis=1), valid, self.scale)

    def to_arrow(self) -> pa.Array:
        """See MeasureArray.to_arrow; unscaled."""
        if len(self.limbs) == 1:
            return array_of(self.limbs[0], self.valid)
        low, high = self._words()
        narrow = low.view(np.int64)
        if np.array_equal(high, narrow >> np.int64(63)):
            return array_of(narrow, self.valid)
        return decimals_from_words(low, high, 0, self.valid)

    def results(self) -> pa.Array:
        """See MeasureArray.results; sums of integers are int64 if all fit, else decimal128(38, 0)."""
        if self.scale is None:
            return self.to_arrow()
        return decimals_from_words(*self._words(), self.scale, self.valid)

    def _words(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        limbs = self.limbs
        if len(limbs) == 1:
            return limbs[0].view(np.uint64), limbs[0] >> np.int64(63)
        while len(limbs) < 4:
            limbs = _with_one_limb_more(limbs)
        low = limbs[0].view(np.uint64) | (limbs[1].view(np.uint64) << np.uint64(32))
        top = limbs[3] if len(limbs) == 4 else limbs[3] + (limbs[4] << _BITS)
        if len(limbs) > 5 or (len(top) and (int(top.max()) >= 1 << 31 or int(top.min()) < -(1 << 31))):
            raise _too_large()
        words = low, limbs[2] | (top << _BITS)
        _require_38_digits(decimals_from_words(*words, 0, self.valid))
        return words


def _with_one_limb_more(limbs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([limbs[:-1], limbs[-1:] & _DIGIT, limbs[-1:] >> _BITS])


def _require_38_digits(sums: pa.Array) -> None:
    largest = pc.min_max(sums)
    for end in (largest["min"].as_py(), largest["max"].as_py()):
        if end is not None and len(end.as_tuple().digits) > 38:
            raise _too_large()


def _too_large() -> CapExceeded:
    return CapExceeded("a sum has more than 38 digits, which no decimal holds; leave its column out")
