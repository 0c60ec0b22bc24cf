"""Match the paths of two listings of one table, which mostly have the same order.

Runs in the same order are compared in bulk, and found again after insertions and deletions; only the rest is
hashed.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_WINDOW = 256
"""Paths within which the listings are searched for the next common one; also the first run compared."""
_MOST_GAPS = 2_000
_FEW = 8


def match_paths(paths: pa.Array, among: pa.Array) -> npt.NDArray[np.int64]:
    """Return for each path its position in ``among``, whose paths are distinct; -1 if it is absent.

    Two listings of a million paths take half a second, nearly equal ones some 50 milliseconds; null is
    absent.
    """
    found = np.full(len(paths), -1, np.int64)
    at = among_at = 0
    for _ in range(_MOST_GAPS):
        same = _equal_from(paths, at, among, among_at)
        found[at : at + same] = np.arange(among_at, among_at + same)
        at, among_at = at + same, among_at + same
        ahead = _index_in(paths.slice(at, _WINDOW), among.slice(among_at, _WINDOW))
        met = np.flatnonzero(ahead >= 0)
        if not len(met):
            break
        at, among_at = at + int(met[0]), among_at + int(ahead[met[0]])
    left = np.flatnonzero(found < 0)
    if len(left):
        found[left] = _hashed(paths.take(pa.array(left)) if len(left) < len(paths) else paths, among)
    if paths.null_count:
        found[np.asarray(paths.is_null())] = -1
    return found


class Files(Protocol):
    """Sizes in bytes and modification times in milliseconds since the epoch, by position."""

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The sizes."""

    @property
    def modified_ms(self) -> npt.NDArray[np.int64]:
        """The modification times."""


def same_files(at: npt.NDArray[np.int64], files: Files, among: Files) -> npt.NDArray[np.int64]:
    """Return the positions of match_paths, -1 also for files of another size or modification time."""
    known = np.flatnonzero(at >= 0)
    there = at[known]
    same = (among.sizes[there] == files.sizes[known]) & (among.modified_ms[there] == files.modified_ms[known])
    found = np.full(len(at), -1, np.int64)
    found[known[same]] = there[same]
    return found


def _equal_from(paths: pa.Array, at: int, among: pa.Array, among_at: int) -> int:
    """Return the length of the common run from both positions."""
    found, piece = 0, _WINDOW
    while True:
        mine, theirs = paths.slice(at + found, piece), among.slice(among_at + found, piece)
        shorter = min(len(mine), len(theirs))
        mine, theirs = mine.slice(0, shorter), theirs.slice(0, shorter)
        if not mine.equals(theirs):
            same = np.asarray(pc.fill_null(pc.equal(mine, theirs), False))
            return found + int(np.argmin(same))
        found += shorter
        if shorter < piece:
            return found
        piece *= 2


def _hashed(paths: pa.Array, among: pa.Array) -> npt.NDArray[np.int64]:
    if len(paths) * _FEW >= len(among):
        return _index_in(paths, among)
    few = pc.unique(paths.drop_null())
    at = _index_in(among, few)
    places = np.full(len(few) + 1, -1, np.int64)
    places[at[at >= 0]] = np.flatnonzero(at >= 0)
    # The last place stands for null.
    return places[_index_in(paths, few)]


def _index_in(values: pa.Array, among: pa.Array) -> npt.NDArray[np.int64]:
    found = pc.index_in(values, value_set=among, skip_nulls=True)
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), np.int64)
