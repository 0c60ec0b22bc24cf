"""Map values of a raw column to the unsigned integers that a bit-sliced range index stores.

Whole numbers less the least of the segment (BitSlicedRangeIndexCreator); floats by their bits, in an
order that is that of the floats (FPOrdering.ordinalOf).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def ordinals(values: pa.Array) -> tuple[npt.NDArray[np.uint64], int] | None:
    """Return the ordinal of each value and the number of bits kept; None for what is no such number."""
    if pa.types.is_floating(values.type):
        return _of_floats(values.to_numpy(zero_copy_only=False))
    if pa.types.is_integer(values.type) or pa.types.is_timestamp(values.type):
        numbers = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
        # The difference of two 64-bit numbers fits 64 bits without a sign.
        differences = (numbers - numbers.min(initial=np.iinfo(np.int64).max)).view(np.uint64)
        return differences, bit_count(int(differences.max(initial=0)))
    return None


def bit_count(largest: int) -> int:
    """Return the bits of the largest ordinal; even where all are 0 one is kept."""
    return max(largest.bit_length(), 1)


def _of_floats(numbers: npt.NDArray[np.floating[Any]]) -> tuple[npt.NDArray[np.uint64], int]:
    width = 8 * numbers.itemsize
    sign, all_bits = np.uint64(1 << (width - 1)), np.uint64((1 << width) - 1)
    # Pinot sees one zero, and NaN below everything.
    one_zero = np.where(numbers == 0, numbers.dtype.type(0), numbers)
    bits = one_zero.view(f"u{numbers.itemsize}").astype(np.uint64)
    ordered = np.where(bits & sign, ~bits & all_bits, bits ^ sign)
    ordered[np.isnan(numbers) | np.isneginf(numbers)] = 0
    ordered[np.isposinf(numbers)] = all_bits
    return ordered, width
