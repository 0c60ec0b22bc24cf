"""Entries of an index, (key, file, row position), as sorted rows with long posting lists as roaring bitmaps.

An address is ``file << 32 | row``: ``file`` is the position of the file in its segment. The rows of a run are
sorted by key. A row is one entry, with its address; or all entries of a key, with a serialised bitmap; or a
stopped key, with neither, only with the number of its entries.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from starskip.predicates.ordered_values import equal, order_keys

Addresses = npt.NDArray[np.uint64]
_MOST_TOLD = 64
"""Ratio of addresses to looked-up addresses from which a bitmap is quicker."""
_SHIFT = np.uint64(32)
_ROW_MASK = np.uint64(0xFFFFFFFF)


def addresses_of(file: int, rows: npt.NDArray[Any]) -> Addresses:
    """Return the addresses of rows of one file."""
    return (np.uint64(file) << _SHIFT) | rows.astype(np.uint64)


def file_of(addresses: Addresses) -> npt.NDArray[np.int64]:
    """Return the file of each address."""
    return (addresses >> _SHIFT).astype(np.int64)


def row_of(addresses: Addresses) -> npt.NDArray[np.int64]:
    """Return the row position of each address."""
    return (addresses & _ROW_MASK).astype(np.int64)


def bitmap_of(addresses: Addresses) -> BitMap64:
    """Return the bitmap of addresses in any order."""
    ordered = np.sort(addresses)
    if (
        len(ordered) > 1
        and ordered[-1] - ordered[0] == len(ordered) - 1
        and bool((np.diff(ordered) == 1).all())
    ):
        # Rows in the order of the key: a range costs next to nothing.
        found = BitMap64()
        found.add_range(int(ordered[0]), int(ordered[-1]) + 1)
        return found
    return rising_bitmap(ordered)


def rising_bitmap(addresses: Addresses) -> BitMap64:
    """Return the bitmap of rising addresses."""
    # From a NumPy array each number would become a Python object first, which takes four times as long.
    return BitMap64(array("Q", np.asarray(addresses, np.uint64).tobytes()))


def addresses_among(addresses: Addresses, among: BitMap64 | None) -> Addresses:
    """Return the addresses that are in ``among``; others may stay where removing them would cost much."""
    if among is None or not len(addresses) or len(among) > _MOST_TOLD * len(addresses):
        return addresses
    asked = addresses_in(among)
    at = np.searchsorted(asked, addresses)
    return addresses[asked.take(at, mode="clip") == addresses] if len(asked) else addresses[:0]


def addresses_in(bitmap: BitMap64) -> Addresses:
    """Return the addresses of a bitmap, rising."""
    return np.frombuffer(bitmap.to_array(), np.uint64)


def serialised(bitmap: BitMap64) -> bytes:
    """Return a bitmap as bytes, runs of rows compressed."""
    bitmap.run_optimize()
    return bytes(bitmap.serialize())


def run_rows(
    keys: Sequence[pa.Array],
    names: Sequence[str],
    addresses: Addresses,
    stopped: npt.NDArray[np.bool_] | None = None,
    *,
    long_list: int,
) -> pa.Table:
    """Return the rows of a run: ``keys`` sorted, the entries of each key with rising addresses.

    Keys of several columns are not grouped. ``stopped``: the entries whose key is stopped. ``long_list``: the
    number of entries of a key from which they become one list.
    """
    count = len(addresses)
    if len(keys) > 1 or not count:
        return _rows(keys, names, np.ones(count, np.int64), addresses, {})
    ordered = order_keys(keys[0])
    starts = np.flatnonzero(np.concatenate([[True], ~equal(ordered[1:], ordered[:-1])]))
    lengths = np.diff(np.append(starts, count))
    is_stopped = np.zeros(len(starts), np.bool_) if stopped is None else stopped[starts]
    long = np.flatnonzero((lengths > long_list) | is_stopped)
    keep = np.ones(count, np.bool_)
    entries = np.ones(count, np.int64)
    lists: dict[int, bytes | None] = {}
    for each in long.tolist():
        start, length = int(starts[each]), int(lengths[each])
        keep[start + 1 : start + length] = False
        entries[start] = length
        of = None if is_stopped[each] else rising_bitmap(addresses[start : start + length])
        lists[start] = None if of is None else serialised(of)
    kept = np.flatnonzero(keep)
    at = np.cumsum(keep) - 1
    return _rows(
        [keys[0].take(pa.array(kept))],
        names,
        entries[kept],
        addresses[kept],
        {int(at[start]): content for start, content in lists.items()},
    )


def _rows(
    keys: Sequence[pa.Array],
    names: Sequence[str],
    entries: npt.NDArray[np.int64],
    addresses: Addresses,
    lists: dict[int, bytes | None],
) -> pa.Table:
    count = len(addresses)
    is_list = np.zeros(count, np.bool_)
    is_list[list(lists)] = True
    postings: list[bytes | None] = [None] * count
    for position, content in lists.items():
        postings[position] = content
    return pa.table(
        [
            *keys,
            pa.array(entries),
            pa.array(addresses.view(np.int64), mask=is_list),
            pa.array(postings, pa.binary()),
        ],
        names=[*names, "entries", "address", "postings"],
    )


def entries_of(rows: pa.Table) -> tuple[pa.Array, Addresses]:
    """Return, for each entry of a run's rows without stopped keys, its row in the run and its address."""
    single = np.asarray(rows["address"].is_valid().to_numpy(zero_copy_only=False))
    at = [np.flatnonzero(single)]
    addresses = [np.asarray(rows["address"].drop_null().to_numpy()).view(np.uint64)]
    postings = rows["postings"]
    for position in np.flatnonzero(postings.is_valid().to_numpy(zero_copy_only=False)).tolist():
        found = addresses_in(BitMap64.deserialize(postings[position].as_py()))
        at.append(np.full(len(found), position))
        addresses.append(found)
    return pa.array(np.concatenate(at)), np.concatenate(addresses)


def bitmaps_of(rows: pa.Table) -> list[BitMap64]:
    """Return bitmaps whose union holds all entries of a run's rows without stopped keys."""
    single = np.asarray(rows["address"].drop_null().to_numpy()).view(np.uint64)
    lists = rows["postings"].drop_null().to_pylist()
    found = [BitMap64.deserialize(content) for content in lists]
    return [bitmap_of(single), *found] if len(single) else found
