"""Keep some keys of a block, with the number of entries before each, to count a key range without reading.

They are an equi-depth histogram of a b-tree's block whose keys have several entries each: there the span of
the keys does not show how many entries a part of them has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.file_metadata.metadata_files import joined
from starskip.predicates.ordered_values import Keys, equal, order_keys, positions
from starskip.secondary.key_ranges import KeyRange

KEYS, ROWS, BEFORE = "fence_keys", "fence_rows", "fence_entries"
"""Columns of the table of blocks: lists of keys, of their rows in the block, of the entries before each."""
FENCES = (KEYS, ROWS, BEFORE)
_MOST = 64
"""Most fences of a block.

A key with more entries than lie between two fences has a second fence behind it, which is not counted.
"""
_APART = 1024
"""Least entries between two fences: all bounds of a run are held in memory."""
_MOST_BYTES = 2048
"""About the bytes of a block's keys that are kept; long texts have fewer fences."""
Numbers = npt.NDArray[np.int64]


def fences_of(rows: pa.Table, starts: Numbers, ends: Numbers) -> dict[str, pa.Array]:
    """Return the fences of a b-tree's blocks, whose rows go from each start to its end.

    Null for a block most of whose keys have one entry.
    """
    key = joined(rows, "key").slice(0, int(ends[-1]) if len(ends) else 0)
    ordered = order_keys(key)
    is_new = np.concatenate([[True], ~equal(ordered[1:], ordered[:-1])])
    entries = rows["entries"].to_numpy().astype(np.int64)
    lengths: list[int | None] = []
    places: list[Numbers] = [np.empty(0, np.int64)]
    before: list[Numbers] = [np.empty(0, np.int64)]
    firsts: list[Numbers] = [np.empty(0, np.int64)]
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        of_block = entries[start:end]
        if of_block.sum() < 2 * is_new[start:end].sum():
            lengths.append(None)
            continue
        key_bytes = max(key.slice(start, end - start).nbytes, 1)
        mine = _places(of_block, min(_MOST, max(1, _MOST_BYTES * len(of_block) // key_bytes)))
        lengths.append(len(mine))
        places.append(mine)
        firsts.append(mine + start)
        before.append((np.cumsum(of_block) - of_block)[mine])
    values = (key.take(pa.array(np.concatenate(firsts))), *(map(np.concatenate, (places, before))))
    return {name: _lists(lengths, pa.array(each)) for name, each in zip(FENCES, values, strict=True)}


def _places(entries: Numbers, most: int) -> Numbers:
    """Return the rows at which about equal parts of the entries begin."""
    if len(entries) <= most:
        return np.arange(len(entries))
    ends = np.cumsum(entries)
    most = min(most, -(-int(ends[-1]) // _APART))
    found = np.searchsorted(ends, np.arange(most) * (ends[-1] / most), side="right")
    heavy = found[entries[found] > ends[-1] / most] + 1
    found = np.unique(np.concatenate([[0], found, heavy]))
    return found[found < len(entries)]


def _lists(lengths: Sequence[int | None], values: pa.Array) -> pa.Array:
    offsets = np.cumsum([0, *(each or 0 for each in lengths)])
    is_null = pa.array([each is None for each in lengths], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=is_null)


@dataclass(frozen=True, slots=True)
class Fences:
    """The fences of a block: comparable keys, and rows and entries before each, with the block's end."""

    keys: Keys
    rows: Numbers
    before: Numbers

    def count(self, low: Keys | None, high: Keys | None, wanted: KeyRange) -> tuple[int, int]:
        """Return the least and greatest possible number of the block's entries in a range.

        ``low`` and ``high``: its bounds, comparable with the block's keys.
        """
        begin, end = (0, 0), (int(self.before[-1]),) * 2
        if low is not None:
            begin = self._before(low, is_at=not wanted.low_included)
        if high is not None:
            end = self._before(high, is_at=wanted.high_included)
        return max(0, end[0] - begin[1]), max(0, end[1] - begin[0])

    def fit(self, keys: Keys, entries: Numbers) -> bool:
        """Return whether the fences fit a block with these keys and entries."""
        rows, ends = self.rows[:-1], np.cumsum(entries)
        if len(rows) and not (rows[0] >= 0 and rows[-1] < len(keys) and (np.diff(rows) > 0).all()):
            return False
        places = rows if isinstance(keys, np.ndarray) else pa.array(rows)
        before = np.append((ends - entries)[rows], ends[-1])
        return bool(equal(self.keys, keys.take(places)).all() and (before == self.before).all())

    def _before(self, key: Keys, *, is_at: bool) -> tuple[int, int]:
        """Return the least and greatest number of entries below ``key``; with ``is_at``, up to it."""
        at = int(positions(self.keys, key, "right" if is_at else "left")[0])
        if at == 0:
            return 0, 0
        most = int(self.before[at])
        # A single row between two fences certainly comes before.
        is_known = self.rows[at] - self.rows[at - 1] == 1
        return (most if is_known else int(self.before[at - 1])), most
