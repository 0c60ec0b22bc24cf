"""Unpack Pinot's fixed-bit integers: big-endian, most significant bit first (FixedBitIntReader)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

VALUES_PER_GROUP = 8
"""Eight values of b bits fill exactly b bytes: reads start at such a boundary."""


def unpack_fixed_bit(packed: bytes, bits: int, count: int) -> npt.NDArray[np.int32]:
    """Return the first ``count`` values of ``bits`` (1 to 31) each; ``packed`` starts at a value."""
    groups = -(-count // VALUES_PER_GROUP)
    padded = np.zeros(groups * bits, dtype=np.uint8)
    available = np.frombuffer(packed, dtype=np.uint8)[: padded.size]
    padded[: available.size] = available
    columns = padded.reshape(groups, bits)
    values = np.empty((groups, VALUES_PER_GROUP), dtype=np.int32)
    mask = (1 << bits) - 1
    for lane in range(VALUES_PER_GROUP):
        end_bit = (lane + 1) * bits
        word = np.zeros(groups, dtype=np.int64)
        for byte in range(lane * bits // 8, -(-end_bit // 8)):
            word = (word << 8) | columns[:, byte]
        values[:, lane] = (word >> (-end_bit % 8)) & mask
    return values.reshape(-1)[:count]


def fixed_bit_bytes(bits: int, count: int) -> int:
    """Return how many bytes ``count`` values take."""
    return -(-bits * count // 8)
