"""Count the entries of a range of keys in a run, and what is read for them, by the bounds of its blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from starskip.indexes.secondary.key_range import KeyRange
from starskip.indexes.secondary.run_reader import RunReader

_FEW_AT_ENDS = 0.1
"""Blocks at the ends of a range are not read where they have at most this share of its other entries."""


@dataclass(frozen=True, slots=True)
class BlockReads:
    """Counts the blocks that are read for a range of keys or a box; those ``unread`` are not in memory.

    ``told``: entries of blocks within it that their bounds tell, ``within``: those of all within it.
    """

    blocks: int
    unread: int
    told: int
    within: int


def reads_of_range(run: RunReader, wanted: KeyRange) -> BlockReads:
    """Return what is read of a run for a range of keys."""
    overlapping, within = run.overlapping(wanted)
    is_told = run.is_stretch[within.start : within.stop]
    entries = run.entries_of_each_block[within.start : within.stop]
    ends = [block for block in overlapping if block not in within]
    unread = sum(not run.is_held(block) for block in ends)
    if not is_told.all():
        unread += run.unread_bitmaps(within)
    blocks = len(overlapping) - int(is_told.sum())
    return BlockReads(blocks, unread, int(entries[is_told].sum()), int(entries.sum()))


def count_range(run: RunReader, wanted: KeyRange) -> int:
    """Estimate the number of entries in a range of keys by the blocks within it and at its ends.

    Of a block of numbers at an end the share of its keys' span is taken that lies in the range. Other blocks
    there are read, but where they have few entries beside those within: half of theirs is taken then, 5 % off
    at most.
    """
    overlap = run.overlap(wanted)
    if overlap.entries is None:
        found = int(run.entries_of_each_block[overlap.within.start : overlap.within.stop].sum())
        ends = []
        for block in overlap.blocks:
            if block in overlap.within:
                continue
            share = _spanned_share(run, block, wanted)
            if share is None:
                ends.append(block)
            else:
                found += max(1, round(int(run.entries_of_each_block[block]) * share))
        of_ends = run.entries_of_blocks(ends)
        if of_ends <= _FEW_AT_ENDS * found:
            found += of_ends // 2
        else:
            for block in ends:
                found += int(run.slice_of(run.block(block), wanted)["entries"].to_numpy().sum())
        overlap.entries = found
    return overlap.entries


def _spanned_share(run: RunReader, block: int, wanted: KeyRange) -> float | None:
    """Return the share of a block's span of keys that lies in a range; None if only its keys can tell.

    That is so for one key, for other keys than numbers, and where keys have long lists: a few keys may have
    most of the entries.
    """
    lows, highs = run.key_bounds
    if wanted.of_null or wanted.is_point or not isinstance(lows, np.ndarray):
        return None
    if lows.dtype.kind not in "iuf":
        return None
    if run.stored_rows(block) < run.entries_of_each_block[block]:
        return None
    least, most = float(lows[block]), float(highs[block])
    low = least if wanted.low is None else max(least, float(run.keys_of(wanted.low)[0]))
    high = most if wanted.high is None else min(most, float(run.keys_of(wanted.high)[0]))
    one = float(lows.dtype.kind != "f")
    if not 0 < most - least < np.inf or not low <= high:
        return None
    return (high - low + one) / (most - least + one)
