"""Find the points of an r-tree in a box or a shape; count them by a sample of the blocks at its border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

from starskip.secondary.access_paths import PointPath
from starskip.secondary.entries import Addresses, addresses_among, addresses_in, rising_bitmap
from starskip.secondary.range_reads import BlockReads
from starskip.secondary.run_reader import RunReader

_Coordinates = npt.NDArray[np.float64]
_LOOKED_AT = 4
"""Blocks that can be read in the time in which one block's points are compared."""
_SAMPLED_AT_BORDER = 4
"""Blocks whose points are tested to estimate the others."""


def box_of(path: PointPath) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the least and the greatest x, and the least and the greatest y."""
    least_x, least_y, most_x, most_y = path.box
    return (least_x, most_x), (least_y, most_y)


def holds(path: PointPath, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return which points belong to a path."""
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
    """Count the entries of blocks within a box; estimate the entries of blocks whose points must be tested.

    The box covers a share of each of the latter blocks. Points are not spread evenly, so some blocks are
    read, and the ratio of their points to their shares is applied to the others.
    """
    sure = 0
    at_border: list[tuple[RunReader, npt.NDArray[np.int64]]] = []
    for run in runs:
        blocks, inside = run.point_blocks(box_of(path))
        is_whole = inside & (path.shape is None)
        sure += run.entries_of_blocks(blocks[is_whole])
        if not is_whole.all():
            at_border.append((run, blocks[~is_whole]))
    if not at_border:
        return sure
    entries = np.concatenate([run.entries_of_each_block[blocks] for run, blocks in at_border])
    expected = entries * np.concatenate([_covered_shares(path, run, blocks) for run, blocks in at_border])
    ends = np.cumsum([len(blocks) for _, blocks in at_border])
    sampled = np.unique(np.linspace(0, len(entries) - 1, _SAMPLED_AT_BORDER).astype(np.int64))
    found = 0
    for each in sampled.tolist():
        number = int(np.searchsorted(ends, each, side="right"))
        run, blocks = at_border[number]
        found += len(points_held(path, run, blocks[[each - ends[number]]]))
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
    for (lows, highs), (least, most) in zip(run.boxes, box_of(path), strict=True):
        low, high = lows[blocks], highs[blocks]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            covered = (np.minimum(high, most) - np.maximum(low, least)) / (high - low)
        shares *= np.where((high > low) & np.isfinite(high - low), covered, 1.0)
    return shares


@dataclass(frozen=True, slots=True)
class _PointBlock:
    """The points of an r-tree's block in the order of their addresses, so that few points are found fast."""

    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    addresses: Addresses
    bitmap: BitMap64 = field(init=False)

    def __post_init__(self) -> None:
        """Make the bitmap of its addresses."""
        object.__setattr__(self, "bitmap", rising_bitmap(self.addresses))

    @property
    def nbytes(self) -> int:
        """About its bytes; the bitmap has about as many as the addresses."""
        return 4 * int(self.addresses.nbytes)

    def places(self, among: BitMap64) -> npt.NDArray[np.int64]:
        """Return the positions of the points whose addresses are in ``among``."""
        common = self.bitmap & among
        return np.searchsorted(self.addresses, addresses_in(common))


def points_held(
    path: PointPath, run: RunReader, blocks: npt.NDArray[np.int64], among: BitMap64 | None = None
) -> Addresses:
    """Return the addresses of the points in some blocks that belong to a path.

    ``among``: the addresses of interest; others may be left out. From its second use on a block is kept
    sorted by address, so that only the points in ``among`` are tested; sorting takes longer, once.
    """
    if among is None:
        x, y, addresses = _points(run, blocks)
        return addresses[holds(path, x, y)]
    again = np.fromiter((each in run.asked_points for each in blocks.tolist()), np.bool_, len(blocks))
    run.asked_points.update(blocks.tolist())
    x, y, addresses = _points(run, blocks[~again])
    found = [addresses_among(addresses[holds(path, x, y)], among)]
    asked = [_point_block(run, block) for block in blocks[again].tolist()]
    parts = [(block, block.places(among)) for block in asked]
    if parts:
        x, y = (np.concatenate([getattr(block, of)[at] for block, at in parts]) for of in ("x", "y"))
        addresses = np.concatenate([block.addresses[at] for block, at in parts])
        found.append(addresses[holds(path, x, y)])
    return np.concatenate(found)


def _point_block(run: RunReader, number: int) -> _PointBlock:
    def load() -> _PointBlock:
        x, y, addresses = _points(run, np.array([number]))
        order = np.argsort(addresses)
        return _PointBlock(x[order], y[order], addresses[order])

    found: _PointBlock = run.cache.get((run.storage.place, run.rows.name, number, "points"), load)
    return found


def _points(run: RunReader, blocks: npt.NDArray[np.int64]) -> tuple[_Coordinates, _Coordinates, Addresses]:
    """Return x, y and the addresses of all points of some blocks."""
    columns = [[run.block(each)[name] for each in blocks.tolist()] for name in ("x", "y", "address")]
    x, y, address = (np.concatenate([each.to_numpy() for each in parts] or [[]]) for parts in columns)
    return x, y, address.astype(np.int64, copy=False).view(np.uint64)


def reads_of_points(path: PointPath, run: RunReader) -> BlockReads:
    """Return the reads of a run for a path; a block whose points are tested counts as several."""
    blocks, inside = run.point_blocks(box_of(path))
    is_whole = inside & (path.shape is None)
    at_border = blocks[~is_whole].tolist()
    return BlockReads(
        int(is_whole.sum()) + len(at_border) * _LOOKED_AT,
        sum(not run.is_held(block) for block in at_border),
        0,
        run.entries_of_blocks(blocks[is_whole]),
    )
