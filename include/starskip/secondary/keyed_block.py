"""The entries of a b-tree's block in memory, for repeated look-ups of key ranges, and its bitmaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from starskip.file_metadata.metadata_files import joined
from starskip.predicates.ordered_values import Keys, valid_mask
from starskip.secondary.entries import (
    Addresses,
    addresses_among,
    addresses_in,
    bitmap_of,
    rising_bitmap,
)

_SELDOM = 4
"""A query asks a block up to three times; more calls come from several queries."""
_SORTED_AT_ONCE = 256
"""Up to this many addresses are sorted each time; for more the order is kept."""


_DECODED = 3
"""Bytes of a bitmap in memory for each stored byte."""


@dataclass(eq=False)
class KeyedBlock:
    """The entries of a b-tree's block, arranged so that a key range's entries are found without sorting.

    ``keys``: the rows' keys, rising. ``ends``: the number of entries before each row, and of all.
    ``singles``: the rows of one entry, with their ``addresses``. ``listed``: the rows with a bitmap of
    entries, in ``lists``. ``asked``: the number of calls. The first calls keep no order, since making one
    takes longer, once.
    """

    keys: Keys
    ends: npt.NDArray[np.int64]
    singles: npt.NDArray[np.int64]
    addresses: Addresses
    listed: npt.NDArray[np.int64]
    lists: BlockBitmaps
    asked: int = 0

    @property
    def nbytes(self) -> int:
        """About its bytes, with the order that later calls keep."""
        numbers = len(self.ends) + len(self.singles) + 4 * len(self.addresses)
        return 8 * numbers + int(self.keys.nbytes) + 2 * self.lists.nbytes

    @cached_property
    def _rising(self) -> tuple[Addresses, npt.NDArray[np.int64], BitMap64]:
        """The addresses of single entries, rising, the place of each by its key, and their bitmap."""
        order = np.argsort(self.addresses)
        rising = self.addresses[order]
        return rising, order, rising_bitmap(rising)

    def bitmaps(self, start: int, end: int, among: BitMap64 | None = None) -> Iterator[BitMap64]:
        """Yield bitmaps, not to be changed, whose union holds the entries of rows from start to end.

        ``among``: the addresses of interest; entries outside them may be left out.
        """
        self.asked += 1
        is_kept = self.asked > _SELDOM
        if is_kept and start == 0 and end == len(self.keys):
            yield self._all
            return
        first, last = np.searchsorted(self.singles, [start, end]).tolist()
        if is_kept and last - first > _SORTED_AT_ONCE:
            yield self._singles(first, last, among)
        elif last > first:
            yield bitmap_of(addresses_among(self.addresses[first:last], among))
        for at in range(*np.searchsorted(self.listed, [start, end]).tolist()):
            yield self._list(at)

    @cached_property
    def _all(self) -> BitMap64:
        lists = [self._list(at) for at in range(len(self.listed))]
        return BitMap64.union(self._rising[2], *lists)

    def _list(self, at: int) -> BitMap64:
        found = self.lists.bitmap(at)
        assert found is not None
        return found

    def _singles(self, first: int, last: int, among: BitMap64 | None) -> BitMap64:
        rising, places, bitmap = self._rising
        if among is None:
            return rising_bitmap(rising[(places >= first) & (places < last)])
        common = addresses_in(bitmap & among)
        found = places[np.searchsorted(rising, common)]
        return rising_bitmap(common[(found >= first) & (found < last)])


def keyed_block(keys: Keys, rows: pa.Table) -> KeyedBlock:
    """Return the block of rows of a run that have these keys, none of them stopped."""
    address, postings = joined(rows, "address"), joined(rows, "postings")
    is_single = valid_mask(address)
    listed = np.flatnonzero(valid_mask(postings) & ~is_single)
    addresses = np.asarray(address.drop_null().to_numpy(zero_copy_only=False), np.int64).view(np.uint64)
    return KeyedBlock(
        keys,
        np.concatenate([[0], np.cumsum(rows["entries"].to_numpy())]).astype(np.int64),
        np.flatnonzero(is_single),
        addresses,
        listed,
        BlockBitmaps(postings.take(pa.array(listed))),
    )


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
