"""Intersect k sorted inputs of row addresses, reading none further than needed.

The loop is the INTERSECT operator's of AsterixDB: find the greatest address at hand, have every other input
catch up with it, yield it where all have it; as soon as one input ends, all is done. Inputs catch up by
galloping (Bentley and Yao, 1976) and come in pieces, so that what lies behind the end is never read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

Addresses = npt.NDArray[np.uint64]


class SortedInput:
    """A cursor over rising addresses that arrive in sorted pieces; ``addresses_read`` counts what arrived."""

    def __init__(self, pieces: Iterable[Addresses]) -> None:
        """Take pieces that rise within and across; none is read yet."""
        self._pieces: Iterator[Addresses] = iter(pieces)
        self._piece: Addresses = np.empty(0, np.uint64)
        self._at = 0
        self.addresses_read = 0
        self.comparisons = 0

    def head(self) -> np.uint64 | None:
        """Return the address at hand, None behind the last one."""
        while self._at >= len(self._piece):
            piece = next(self._pieces, None)
            if piece is None:
                return None
            self._piece, self._at = piece, 0
            self.addresses_read += len(piece)
        return np.uint64(self._piece[self._at])

    def advance(self) -> None:
        """Go behind the address at hand."""
        self._at += 1

    def seek(self, address: np.uint64) -> np.uint64 | None:
        """Go to the first address that is at least ``address`` and return it, None if there is none."""
        while (head := self.head()) is not None and head < address:
            if self._piece[-1] < address:
                # A whole piece lies before it.
                self._at = len(self._piece)
                continue
            self._gallop(address)
        return head

    def _gallop(self, address: np.uint64) -> None:
        step, low = 1, self._at
        while low + step < len(self._piece) and self._piece[low + step] < address:
            self.comparisons += 1
            low, step = low + step, 2 * step
        high = min(low + step, len(self._piece) - 1)
        self._at = low + int(np.searchsorted(self._piece[low : high + 1], address))


def intersect(inputs: Sequence[SortedInput]) -> Iterator[np.uint64]:
    """Yield the addresses that all inputs have, rising; ends with the first input that ends."""
    if not inputs:
        return
    while True:
        greatest = inputs[0].head()
        if greatest is None:
            return
        matched = 1
        at = 1
        while matched < len(inputs):
            found = inputs[at % len(inputs)].seek(greatest)
            if found is None:
                return
            if found > greatest:
                greatest, matched = found, 1
            else:
                matched += 1
            at += 1
        yield greatest
        for each in inputs:
            each.advance()
