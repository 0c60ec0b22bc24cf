"""Index type ``geometrybox:c[:boxes]``: boxes that hold all geometries of a column of WKT or WKB.

See "Extensible Data Skipping", table I and section V-C: a GeoBox of geometries. It serves ST_Contains,
ST_Within, ST_Intersects and ``ST_Distance < d`` between the column and a literal geometry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from starskip.predicates.comparison import Comparison, ComparisonOperator
from starskip.skipping.collectors.cover_boxes import CoverBoxes
from starskip.skipping.index_types.geo_box import number_of_boxes
from starskip.skipping.own_types import TEXTS, Call, Clause, Column, ColumnIndex, Expression, FileCollector
from starskip.skipping.value_ranges import Condition, RangesClause

_FIELDS = ("x_least", "y_least", "x_greatest", "y_greatest")
_BOXES = pa.list_(pa.struct([(name, pa.float64()) for name in _FIELDS]))


class GeometryBox(ColumnIndex):
    """Metadata column ``boxes``; null if unknown, as for a file with a value that is no geometry."""

    kind = "geometrybox"
    families = TEXTS

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Take the number of boxes as an optional argument."""
        super().__init__(columns)
        self.arguments = tuple(arguments)
        self.boxes = number_of_boxes(self, "COLUMN")

    @property
    def module_of_functions(self) -> str:
        """See SkippingIndex.module_of_functions."""
        return "starskip_contrib.geospatial_functions"

    def check(self, data_types: Mapping[str, str]) -> None:
        """See SkippingIndex.check; raises ConfigError where the library is not installed, too."""
        super().check(data_types)
        from starskip_contrib import geometries  # noqa: F401, PLC0415

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        return {"geometries": columns[0]}

    def collector(self, schema: pa.Schema) -> FileCollector:  # noqa: ARG002 - the values tell their type
        """See SkippingIndex.collector."""
        return _BoxesCollector(self.boxes)

    def questions(self, columns: Sequence[str]) -> Sequence[str]:
        """See SkippingIndex.questions."""
        (column,) = columns
        return [f"ST_Intersects({column}, ?)", f"ST_Within({column}, ?)", f"ST_Distance({column}, ?) < 3.0D"]

    def label(self, node: Expression) -> Clause | None:
        """Label the functions of the column, or of a constructor's call with it, and a literal geometry."""
        if not _has_function(node):
            return None
        # Imported here, since the library is an extra.
        from starskip_contrib.geometry_predicates import (  # noqa: PLC0415
            CONSTRUCTORS,
            searched_bounds,
        )

        found = searched_bounds(node)
        if found is None or len(found[1].arguments) != 2:
            return None
        asked = [
            each.left if isinstance(each, Call) and each.name in CONSTRUCTORS else each
            for each in found[1].arguments
        ]
        if not any(map(self.is_of, asked)):
            return None
        column = Column((self.columns[0],), "double")
        conditions = []
        for axis in (0, 1):
            names = (_FIELDS[axis], _FIELDS[axis + 2])
            for operator, bound in (
                (ComparisonOperator.AT_LEAST, found[0][axis]),
                (ComparisonOperator.AT_MOST, found[0][axis + 2]),
            ):
                conditions.append(
                    Condition(Comparison(column, operator, pa.array([bound], pa.float64())), *names)
                )
        return RangesClause(self.specification, "boxes", tuple(conditions))


def _has_function(node: Expression) -> bool:
    if not isinstance(node, Call):
        return False
    return any(isinstance(each, Call) and each.name.startswith("udf:st_") for each in (node, *node.arguments))


class _BoxesCollector(FileCollector):
    def __init__(self, boxes: int) -> None:
        self._count = boxes
        self._boxes = CoverBoxes()
        self._is_known = True

    @property
    def size_bytes(self) -> int:
        return int(self._boxes.bounds.nbytes)

    def add(self, rows: pa.RecordBatch) -> None:
        from starskip_contrib.geometries import bounds_of  # noqa: PLC0415

        if self._is_known:
            values = rows.column("geometries").drop_null()
            if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
                try:
                    values.validate(full=True)
                except pa.ArrowInvalid:
                    self._is_known = False
                    return
            bounds, self._is_known = bounds_of(values.unique().to_pylist())
            self._boxes.add(bounds)

    def parts(self) -> Iterator[pa.RecordBatch]:
        bounds = self._boxes.bounds
        arrays = [pa.array(bounds[:, axis]) for axis in range(4)]
        known = pa.array([self._is_known] * len(bounds) or [self._is_known])
        if not len(bounds):
            arrays = [pa.nulls(1, pa.float64())] * 4
        yield pa.RecordBatch.from_arrays([*arrays, known], names=[*_FIELDS, "is_known"])

    def merge(self, part: pa.RecordBatch) -> None:
        self._is_known &= part.column("is_known").false_count == 0
        bounds = np.stack([part.column(name).to_numpy(zero_copy_only=False) for name in _FIELDS], axis=1)
        self._boxes.add(bounds[~np.isnan(bounds).any(axis=1)])

    def result(self) -> Mapping[str, pa.Array]:
        boxes = [tuple(each) for each in self._boxes.cover(self._count).tolist()]
        return {"boxes": pa.array([boxes if self._is_known else None], _BOXES)}
