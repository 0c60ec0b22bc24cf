"""Index type ``geobox:lat,lng[:boxes]``: bounding boxes of a file's points, at most 4 by default.

See "Extensible Data Skipping", table I. The boxes cover all points. They are made by repeated cuts: each
time, the one cut across a box that frees the largest area. Coordinates are rounded to double, so strict
comparisons become non-strict ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.errors import ConfigError
from starskip.indexes.skipping.clause import Clause
from starskip.indexes.skipping.index_types.column_index import check_family
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.indexes.skipping.value_ranges import Condition, RangesClause, conjuncts
from starskip.predicates.column_name import column_name
from starskip.predicates.comparison import Comparison, Operator
from starskip.predicates.data_types import NUMBERS
from starskip.predicates.expression import Expression

BOXES = 4
MOST_BOXES = 1000
Points = npt.NDArray[np.float64]
_FIELDS = ("lat_least", "lat_greatest", "lng_least", "lng_greatest")
_BOXES = pa.list_(pa.struct([(name, pa.float64()) for name in _FIELDS]))


def number_of_boxes(index: SkippingIndex, columns: str) -> int:
    """Return the number of boxes that an index has as its only argument, BOXES without one.

    ``columns``: how they are written. Raises ConfigError for other arguments, and another number of columns.
    """
    counts = [int(each) for each in index.arguments if each.isdecimal() and 1 <= int(each) <= MOST_BOXES]
    given = index.arguments
    if len(index.columns) != len(columns.split(",")) or len(given) > 1 or len(counts) != len(given):
        raise ConfigError(
            f"{index.specification}: write {index.kind}:{columns} or {index.kind}:{columns}:BOXES, "
            f"1 to {MOST_BOXES} of them",
            setting="index",
        )
    return counts[0] if counts else BOXES


class GeoBox(SkippingIndex):
    """Metadata column ``boxes``: a list of boxes, empty for a file without points; null is unknown."""

    kind = "geobox"

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Take two columns, and the number of boxes as an optional argument."""
        super().__init__(columns, arguments)
        self.boxes = number_of_boxes(self, "LAT,LNG")

    def check(self, data_types: Mapping[str, str]) -> None:
        """See SkippingIndex.check."""
        for column in self.columns:
            check_family(self, column, data_types, NUMBERS)

    def aggregates(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.aggregates."""
        lat, lng = (f"CAST({column} AS DOUBLE)" for column in columns)
        return {"points": f"collect_set(named_struct('lat', {lat}, 'lng', {lng}))"}

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """Compute the boxes of each file's points."""
        sets = collected["points"].combine_chunks()
        points = np.stack([_doubles(sets.values.field(number)) for number in (0, 1)], axis=1)
        missing = np.stack([_missing(sets.values.field(number)) for number in (0, 1)], axis=1)
        bounds = zip(sets.offsets[:-1].to_pylist(), sets.offsets[1:].to_pylist(), sets, strict=True)
        boxes = [
            _cover(points[start:end], missing[start:end], self.boxes) if each.is_valid else None
            for start, end, each in bounds
        ]
        return {"boxes": pa.array(boxes, _BOXES)}

    def label(self, node: Expression) -> Clause | None:
        """Label comparisons of the two columns, those of one AND together (figure 5)."""
        conditions = tuple(
            Condition(weaker, *_FIELDS[2 * axis : 2 * axis + 2])
            for each in conjuncts(node)
            if (name := column_name(each.column.path)) in self.columns
            and (weaker := _of_doubles(each)) is not None
            for axis in (self.columns.index(name),)
        )
        return RangesClause(self.specification, "boxes", conditions) if conditions else None


_WEAK = {Operator.BELOW: Operator.AT_MOST, Operator.ABOVE: Operator.AT_LEAST}
_KNOWN = frozenset({Operator.IN, Operator.BELOW, Operator.AT_MOST, Operator.AT_LEAST, Operator.ABOVE})


def _of_doubles(found: Comparison) -> Comparison | None:
    if found.negated or found.operator not in _KNOWN:
        return None
    if pa.types.is_float64(found.values.type):
        return found
    # Python rounds all of them as Java does.
    values = pa.array([float(each) for each in found.values.to_pylist()], pa.float64())
    return Comparison(found.column, _WEAK.get(found.operator, found.operator), values)


def _doubles(values: pa.Array) -> Points:
    return np.asarray(values.fill_null(0.0).to_numpy(zero_copy_only=False))


def _missing(values: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(values.is_null().to_numpy(zero_copy_only=False))


def _cover(points: Points, missing: npt.NDArray[np.bool_], count: int) -> list[tuple[float, ...]]:
    """Return boxes of all points; points with a null, NaN or infinite coordinate have boxes of their own."""
    finite = np.isfinite(points).all(axis=1) & ~missing.any(axis=1)
    boxes = [_box(group) for group in clustered(points[finite], count)]
    odd = ~finite & ~missing.all(axis=1)
    for which in np.unique(missing[odd], axis=0):
        of = odd & (missing == which).all(axis=1)
        boxes.append(_box(points[of], which))
    return boxes


def _box(points: Points, missing: npt.NDArray[np.bool_] | None = None) -> tuple[float, ...]:
    least, greatest = (np.sort(points, axis=0)[at] for at in (0, -1))  # NaN is last, as Spark has it
    if missing is not None:
        # An empty interval, since null satisfies no comparison.
        least, greatest = np.where(missing, np.nan, least), np.where(missing, -np.inf, greatest)
    return (least[0], greatest[0], least[1], greatest[1])


@dataclass(frozen=True, slots=True)
class _Cut:
    freed_area: float
    axis: int
    at: float


def clustered(points: Points, count: int) -> list[Points]:
    """Cut points into at most ``count`` groups with small boxes; further columns go with them."""
    if not len(points):
        return []
    extent = np.ptp(points, axis=0) / 2 if np.isfinite(np.ptp(points, axis=0)).all() else np.ones(2)
    # Points on a line have no area, but gaps.
    margin = np.where(extent > 0, extent, 1.0) * 1e-6
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
