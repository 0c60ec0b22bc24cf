"""Count the points of an r-tree in a box or a shape, by its blocks and a sample of those at the border."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.indexes.secondary.access_paths import PointPath
from starskip.indexes.secondary.run_reader import RunReader

_LOOKED_AT = 4
"""Blocks that are read in the time that the points of one block take to be compared."""
_SAMPLED_AT_BORDER = 4
"""Blocks whose points are looked at to estimate how many the others hold."""


def box_of(path: PointPath) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the least and the greatest x, and the least and the greatest y."""
    least_x, least_y, most_x, most_y = path.box
    return (least_x, most_x), (least_y, most_y)


def holds(path: PointPath, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return which points a path has."""
    least_x, least_y, most_x, most_y = path.box
    found = (x >= least_x) & (x <= most_x) & (y >= least_y) & (y <= most_y)
    if path.shape is None or not found.any():
        return np.asarray(found)
    at = np.flatnonzero(found)
    if path.distance is None:
        found[at] = path.shape.contains(x[at], y[at])
    else:
        distances = path.shape.distances(x[at], y[at])
        found[at] = distances < path.distance if path.below else distances <= path.distance
    return np.asarray(found)


def count_points(path: PointPath, runs: Sequence[RunReader]) -> int:
    """Count the entries of the blocks in a box; estimate those of blocks whose points have to be looked at.

    Of each of these the box covers a share. Points are not spread evenly: some blocks are read, and the
    others are taken to hold as many times what their shares tell as those do.
    """
    sure, looked_at, held, shares = 0, [], [], []
    for run in runs:
        overlapping, inside = run.point_blocks(box_of(path))
        blocks, is_whole = np.array(overlapping, np.int64), inside & (path.shape is None)
        entries_of = run.entries_of_each_block
        sure += int(entries_of[blocks[is_whole]].sum())
        looked_at += [(run, block) for block in blocks[~is_whole].tolist()]
        held.append(entries_of[blocks[~is_whole]])
        shares.append(_covered_shares(path, run, blocks[~is_whole]))
    if not looked_at:
        return sure
    entries = np.concatenate(held)
    expected = np.concatenate(shares) * entries
    sampled = np.unique(np.linspace(0, len(looked_at) - 1, _SAMPLED_AT_BORDER).astype(np.int64))
    found = sum(_points_in(path, *looked_at[at]) for at in sampled)
    others = np.delete(entries, sampled).sum()
    of_sampled = expected[sampled].sum()
    if of_sampled > 0:
        rest = found / of_sampled * np.delete(expected, sampled).sum()
    else:
        rest = found / entries[sampled].sum() * others
    return sure + int(found + np.ceil(min(rest, others)))


def _covered_shares(
    path: PointPath, run: RunReader, blocks: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the share of each block's box that the box of a path covers."""
    shares = np.ones(len(blocks))
    for name, (least, most) in zip(("x", "y"), box_of(path), strict=True):
        low, high = (
            run.bounds[f"{end}_{name}"].take(pa.array(blocks)).to_numpy().astype(np.float64)
            for end in ("low", "high")
        )
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            covered = (np.minimum(high, most) - np.maximum(low, least)) / (high - low)
        shares *= np.where((high > low) & np.isfinite(high - low), covered, 1.0)
    return shares


def _points_in(path: PointPath, run: RunReader, block: int) -> int:
    """Return the number of entries of a block that a path has, all of its points looked at."""
    rows = run.points(block, lambda x, y: holds(path, x, y))
    return int(pc.sum(rows["entries"]).as_py() or 0)


def blocks_of_points(path: PointPath, run: RunReader) -> int:
    """Count blocks in a box, each at its border, or of a shape, as several: its points are looked at."""
    blocks, inside = run.point_blocks(box_of(path))
    whole = int(inside.sum()) if path.shape is None else 0
    return whole + (len(blocks) - whole) * _LOOKED_AT
