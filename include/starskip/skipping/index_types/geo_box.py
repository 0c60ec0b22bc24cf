"""Index type ``geobox:lat,lng[:boxes]``: bounding boxes of a file's points, at most 4 by default.

See "Extensible Data Skipping", table I. The boxes cover all points. Coordinates are rounded to double, so
strict comparisons become non-strict ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from starskip.errors import ConfigError
from starskip.predicates.column_name import column_name
from starskip.predicates.comparison import Comparison, ComparisonOperator
from starskip.predicates.data_types import NUMBERS
from starskip.predicates.expression import Expression
from starskip.skipping.clause import Clause
from starskip.skipping.collectors.cover_boxes import CoverBoxes, Points
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.index_types.column_index import check_family
from starskip.skipping.skipping_index import SkippingIndex
from starskip.skipping.value_ranges import Condition, RangesClause, anded_comparisons

BOXES = 4
MOST_BOXES = 1000
_AXES = ("lat", "lng")
_PARTS = ("lat_least", "lng_least", "lat_greatest", "lng_greatest")
_FINITE, _ALL_MISSING = -1, 3
"""The kind of a part's finite box; other kinds say which coordinates are null, 3 means both."""
_FIELDS = ("lat_least", "lat_greatest", "lng_least", "lng_greatest")
_BOXES = pa.list_(pa.struct([(name, pa.float64()) for name in _FIELDS]))


def number_of_boxes(index: SkippingIndex, columns: str) -> int:
    """Return the number of boxes in an index's only argument, BOXES without an argument.

    ``columns``: how the columns are written. Raises ConfigError for other arguments, and another number of
    columns.
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

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        return {name: f"CAST({column} AS DOUBLE)" for name, column in zip(_AXES, columns, strict=True)}

    def collector(self, schema: pa.Schema) -> FileCollector:  # noqa: ARG002 - the values are doubles
        """See SkippingIndex.collector."""
        return _PointsCollector(self.boxes)

    def label(self, node: Expression) -> Clause | None:
        """Label comparisons of the two columns, all comparisons of one AND together (figure 5)."""
        conditions = tuple(
            Condition(weaker, *_FIELDS[2 * axis : 2 * axis + 2])
            for each in anded_comparisons(node)
            if (name := column_name(each.column.path)) in self.columns
            and (weaker := _of_doubles(each)) is not None
            for axis in (self.columns.index(name),)
        )
        return RangesClause(self.specification, "boxes", conditions) if conditions else None


_WEAK = {
    ComparisonOperator.BELOW: ComparisonOperator.AT_MOST,
    ComparisonOperator.ABOVE: ComparisonOperator.AT_LEAST,
}
_KNOWN = frozenset(
    {
        ComparisonOperator.IN,
        ComparisonOperator.BELOW,
        ComparisonOperator.AT_MOST,
        ComparisonOperator.AT_LEAST,
        ComparisonOperator.ABOVE,
    }
)


def _of_doubles(found: Comparison) -> Comparison | None:
    if found.negated or found.operator not in _KNOWN:
        return None
    if pa.types.is_float64(found.values.type):
        return found
    # Python rounds all of them as Java does.
    values = pa.array([float(each) for each in found.values.to_pylist()], pa.float64())
    return Comparison(found.column, _WEAK.get(found.operator, found.operator), values)


class _PointsCollector(FileCollector):
    """Collects boxes of a file's points; points with a null, NaN or infinity have boxes of their own."""

    def __init__(self, boxes: int) -> None:
        self._count = boxes
        self._finite = CoverBoxes()
        self._odd: dict[int, Points] = {}
        """Least lat and lng, greatest lat and lng, keyed by which coordinates are null (1: lat, 2: lng)."""

    @property
    def size_bytes(self) -> int:
        return int(self._finite.bounds.nbytes)

    def add(self, rows: pa.RecordBatch) -> None:
        values = [rows.column(name) for name in _AXES]
        missing = sum(
            each.is_null().to_numpy(zero_copy_only=False) * bit
            for each, bit in zip(values, (1, 2), strict=True)
        )
        points = np.stack([each.fill_null(0.0).to_numpy(zero_copy_only=False) for each in values], axis=1)
        is_finite = np.isfinite(points).all(axis=1) & (missing == 0)
        self._finite.add(np.tile(points[is_finite], 2))
        for bits in range(_ALL_MISSING):
            odd = points[~is_finite & (missing == bits)]
            self._take_odd(bits, np.tile(odd, 2))

    def parts(self) -> Iterator[pa.RecordBatch]:
        kinds = [_FINITE] * len(self._finite.bounds) + list(self._odd)
        bounds = np.concatenate([self._finite.bounds, *(each[None] for each in self._odd.values())])
        yield pa.RecordBatch.from_arrays(
            [pa.array(kinds, pa.int8()), *(pa.array(each) for each in bounds.T)], names=["kind", *_PARTS]
        )

    def merge(self, part: pa.RecordBatch) -> None:
        kinds = part.column("kind").to_numpy()
        bounds = np.stack([part.column(name).to_numpy() for name in _PARTS], axis=1)
        self._finite.add(bounds[kinds == _FINITE])
        for bits in range(_ALL_MISSING):
            self._take_odd(bits, bounds[kinds == bits])

    def result(self) -> Mapping[str, pa.Array]:
        boxes = [*self._finite.cover(self._count)]
        for bits, odd in self._odd.items():
            bounds = odd.copy()
            for axis in (0, 1):
                if bits & (1 << axis):
                    # An empty interval, since null satisfies no comparison.
                    bounds[axis], bounds[axis + 2] = np.nan, -np.inf
            boxes.append(bounds)
        listed = [(float(a), float(c), float(b), float(d)) for a, b, c, d in boxes]
        return {"boxes": pa.array([listed], _BOXES)}

    def _take_odd(self, bits: int, bounds: Points) -> None:
        if not len(bounds):
            return
        if bits in self._odd:
            bounds = np.concatenate([bounds, self._odd[bits][None]])
        # NaN is the greatest value, as in Spark.
        least, greatest = np.fmin.reduce(bounds[:, :2]), np.maximum.reduce(bounds[:, 2:])
        self._odd[bits] = np.concatenate([least, greatest])
