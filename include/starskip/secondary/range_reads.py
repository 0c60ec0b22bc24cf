"""Count the entries of a key range in a run, and the blocks to read for them, by the bounds of its blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from starskip.secondary.fences import FENCES, KEYS, Fences
from starskip.secondary.key_ranges import KeyRange
from starskip.secondary.run_reader import RunReader

_IN_DOUBT = 0.1
"""Up to this share of doubtful entries, blocks at the ends of a range are not read to count it."""


@dataclass(frozen=True, slots=True)
class BlockReads:
    """Counts the blocks to read for a range of keys or a box; ``unread`` blocks are not in memory.

    ``told``: entries of inner blocks that follow from the bounds alone; ``within``: entries of all inner
    blocks.
    """

    blocks: int
    unread: int
    told: int
    within: int


def reads_of_range(run: RunReader, wanted: KeyRange) -> BlockReads:
    """Return the reads of a run for a range of keys."""
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

    For a block at an end its span of numbers or its fences bound the entries in the range. If too many
    entries are in doubt, such blocks are read; otherwise half of the doubtful entries count, 5 % off at most.
    """
    overlap = run.overlap(wanted)
    if overlap.entries is None:
        known = int(run.entries_of_each_block[overlap.within.start : overlap.within.stop].sum())
        least = most = 0
        doubtful = []
        for block in overlap.blocks:
            if block in overlap.within:
                continue
            told = _told_entries(run, block, wanted)
            if told[0] == told[1]:
                known += told[0]
            else:
                doubtful.append(block)
                least, most = least + told[0], most + told[1]
        if most - least <= _IN_DOUBT * (known + least):
            overlap.entries = known + least + (most - least) // 2
        else:
            read = (run.slice_of(run.block(block), wanted) for block in doubtful)
            overlap.entries = known + sum(int(rows["entries"].to_numpy().sum()) for rows in read)
    return overlap.entries


def _told_entries(run: RunReader, block: int, wanted: KeyRange) -> tuple[int, int]:
    """Return the least and greatest number of a block's entries in a range, without reading the block.

    A share that follows from the span of its keys counts as exact.
    """
    fences = fences_in(run, block)
    if fences is not None:
        low, high = (bound if bound is None else run.keys_of(bound) for bound in (wanted.low, wanted.high))
        return fences.count(low, high, wanted)
    entries = int(run.entries_of_each_block[block])
    share = _spanned_share(run, block, wanted)
    if share is None:
        return 0, entries
    found = max(1, round(entries * share))
    return found, found


def fences_in(run: RunReader, block: int) -> Fences | None:
    """Return the fences of a block; None where most of its keys have one entry."""
    if not run.bounds[KEYS][block].is_valid:
        return None
    keys, rows, before = (run.bounds[name][block].values for name in FENCES)
    ends = run.stored_rows(block), int(run.entries_of_each_block[block])
    return Fences(
        run.keys_of(keys),
        *(np.append(each.to_numpy(), end) for each, end in zip((rows, before), ends, strict=True)),
    )


def _spanned_share(run: RunReader, block: int, wanted: KeyRange) -> float | None:
    """Return the share of a block's span of keys that lies in a range; None if the block must be read.

    The block must be read for a range of one key, for keys that are no numbers, and where keys have long
    lists, since a few keys may have most of the entries.
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
