"""Boxes that hold all points, or all boxes, of a file: every one, or few that cover them all.

Few boxes are made by repeated cuts: each time, the cut across a box that frees the largest area.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

HELD, _KEPT = 50_000, 256
"""The number of boxes up to which each is kept, and the number to which more are reduced."""
Points = npt.NDArray[np.float64]


class CoverBoxes:
    """Finite boxes (n x 4: least x, least y, greatest x, greatest y) in bounded memory."""

    def __init__(self) -> None:
        """Start without a box."""
        self.bounds: Points = np.zeros((0, 4))

    def add(self, bounds: Points) -> None:
        """Take further boxes; a point is a box without extent."""
        self.bounds = np.concatenate([self.bounds, bounds])
        if len(self.bounds) > HELD:
            self.bounds = np.unique(self.bounds, axis=0)
        if len(self.bounds) > HELD:
            self.bounds = self.cover(_KEPT)

    def cover(self, count: int) -> Points:
        """Return at most ``count`` boxes that cover all boxes, which are grouped by their centres."""
        middles = self.bounds[:, :2] / 2 + self.bounds[:, 2:] / 2
        groups = _clustered(np.concatenate([middles, self.bounds], axis=1), count)
        boxes = [np.concatenate([each[:, 2:4].min(axis=0), each[:, 4:6].max(axis=0)]) for each in groups]
        return np.array(boxes).reshape(-1, 4)


@dataclass(frozen=True, slots=True)
class _Cut:
    freed_area: float
    axis: int
    at: float


def _clustered(points: Points, count: int) -> list[Points]:
    """Cut points into at most ``count`` groups with small boxes; further columns go with them."""
    if not len(points):
        return []
    extent = np.ptp(points[:, :2], axis=0) / 2
    # Points on a line have no area, but gaps.
    margin = np.where(np.isfinite(extent) & (extent > 0), extent, 1.0) * 1e-6
    groups = [(points, _best_cut(points, margin))]
    while len(groups) < count:
        best = max(range(len(groups)), key=lambda at: groups[at][1].freed_area)
        group, cut = groups[best]
        if cut.freed_area <= 0:
            break
        left = group[:, cut.axis] <= cut.at
        groups[best : best + 1] = [(half, _best_cut(half, margin)) for half in (group[left], group[~left])]
    return [group for group, _ in groups]


def _best_cut(points: Points, margin: Points) -> _Cut:
    """Return the cut that leaves most area outside of the two boxes that it makes."""
    best = _Cut(0.0, 0, 0.0)
    for axis in (0, 1) if len(points) > 1 else ():
        ordered = points[np.argsort(points[:, axis], kind="stable")]
        along, across = ordered[:, axis], ordered[:, 1 - axis]
        with np.errstate(over="ignore", invalid="ignore"):
            heights, back = _spread(across) + margin[1 - axis], _spread(across[::-1])[::-1] + margin[1 - axis]
            whole = (along[-1] - along[0] + margin[axis]) * heights[-1]
            left = (along[:-1] - along[0] + margin[axis]) * heights[:-1]
            right = (along[-1] - along[1:] + margin[axis]) * back[1:]
            freed = np.where(along[1:] > along[:-1], whole - left - right, 0.0)
        freed = np.nan_to_num(freed, nan=0.0)
        at = int(np.argmax(freed))
        if freed[at] > best.freed_area:
            best = _Cut(float(freed[at]), axis, float(along[at]))
    return best


def _spread(values: Points) -> Points:
    return np.asarray(np.maximum.accumulate(values) - np.minimum.accumulate(values))
