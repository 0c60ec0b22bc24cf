"""Look up the lists of n-grams in the runs of an index.

A condition looks up many grams in every run of an index, and for each it needs a row or two of a small block.
So the keys of a block are kept as bytes once it is read: finding a key takes no call of Arrow.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from starskip.file_metadata.metadata_files import joined
from starskip.predicates.ordered_values import valid_mask
from starskip.secondary.entries import Addresses, bitmap_of
from starskip.secondary.intersection import union
from starskip.secondary.run_reader import RunReader

GramKeys = tuple[bytes, bytes]
"""The first and the last key of a gram; the keys between are its other length partitions."""
_KEY_BYTES = 64
"""About the bytes of a key in memory, with its count and address."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A block's rows: keys in order, each with its number of entries and its address or list."""

    keys: Sequence[bytes]
    entries: npt.NDArray[np.int64]
    addresses: Addresses
    is_single: npt.NDArray[np.bool_]
    postings: pa.Array
    decoded: dict[int, BitMap64] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """About its bytes once all lists are decoded."""
        return _KEY_BYTES * len(self.keys) + 2 * int(self.postings.nbytes)

    def within(self, keys: GramKeys) -> range:
        """Return the rows of a gram."""
        return range(bisect_left(self.keys, keys[0]), bisect_right(self.keys, keys[1]))

    def lists(self, rows: range) -> list[BitMap64] | None:
        """Return bitmaps of all entries of some rows, not to be changed; None if a row is stopped."""
        at = np.asarray(rows, np.int64)
        is_single = self.is_single[at]
        found = []
        for row in at[~is_single].tolist():
            if row not in self.decoded:
                content = self.postings[row].as_py()
                if content is None:
                    return None
                self.decoded[row] = BitMap64.deserialize(content)
            found.append(self.decoded[row])
        singles = self.addresses[at[is_single]]
        return [*found, bitmap_of(singles)] if len(singles) else found


def gram_blocks(run: RunReader, keys: GramKeys) -> range:
    """Return the blocks of a run that may have keys of a gram."""
    lows, highs = run.bounds_as_bytes
    first = bisect_left(highs, keys[0])
    return range(first, max(first, bisect_right(lows, keys[1])))


def count_gram(runs: Sequence[RunReader], keys: GramKeys) -> int:
    """Return the number of entries of a gram; blocks that it shares with other grams are read."""
    found = 0
    for run in runs:
        lows, highs = run.bounds_as_bytes
        for number in gram_blocks(run, keys):
            if keys[0] <= lows[number] and highs[number] <= keys[1]:
                found += int(run.entries_of_each_block[number])
            else:
                block = _block(run, number)
                rows = block.within(keys)
                found += int(block.entries[rows.start : rows.stop].sum())
    return found


def gram_rows(runs: Sequence[RunReader], keys: GramKeys) -> BitMap64 | None:
    """Return the rows of a gram in some runs; None if one run has stopped it."""
    found: list[BitMap64] = []
    for block in _blocks(runs, keys):
        lists = block.lists(block.within(keys))
        if lists is None:
            return None
        found += lists
    return union(found)


def _blocks(runs: Sequence[RunReader], keys: GramKeys) -> Iterator[_Block]:
    return (_block(run, number) for run in runs for number in gram_blocks(run, keys))


def _block(run: RunReader, number: int) -> _Block:
    def load() -> _Block:
        rows = run.block(number)
        address = joined(rows, "address")
        return _Block(
            joined(rows, "key").to_pylist(),
            np.asarray(rows["entries"].to_numpy(), np.int64),
            np.asarray(address.fill_null(0).to_numpy(), np.int64).view(np.uint64),
            valid_mask(address),
            joined(rows, "postings"),
        )

    found: _Block = run.cache.get((run.storage.place, run.rows.name, number, "grams"), load)
    return found
