"""Bitmaps of the blocks of a run: stored ones, and ones that follow from a block's bounds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from starskip.secondary.intersection import Addresses

_DECODED = 3
"""Bytes of a bitmap in memory for each stored byte."""


@dataclass(frozen=True, slots=True)
class BlockBitmaps:
    """The stored bitmaps of neighbouring blocks, each decoded when it is first asked for."""

    contents: pa.Array
    decoded: dict[int, BitMap64 | None] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """About their bytes once all are decoded."""
        return int(self.contents.nbytes) * (1 + _DECODED)

    def bitmap(self, at: int) -> BitMap64 | None:
        """Return a bitmap, not to be changed."""
        if at not in self.decoded:
            content: bytes | None = self.contents[at].as_py()
            self.decoded[at] = None if content is None else BitMap64.deserialize(content)
        return self.decoded[at]


def stretches_of(lows: Addresses, highs: Addresses) -> BitMap64:
    """Return the bitmap of all addresses from each low to its high."""
    order = np.argsort(lows)
    lows, highs = lows[order], highs[order]
    begins = np.flatnonzero(np.concatenate([[True], lows[1:] != highs[:-1] + np.uint64(1)]))
    ends = highs[np.append(begins[1:] - 1, len(highs) - 1)]
    found = BitMap64()
    for low, high in zip(lows[begins].tolist(), ends.tolist(), strict=True):
        found.add_range(low, high + 1)
    return found
