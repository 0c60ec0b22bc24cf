"""An index type of one's own for a column of one's own type: bounds of points, for near(c, x, y, far).

``Point`` is a user-defined type of Spark, which files hold as an array of two numbers; the index collects
that, and the function is asked of points. The function is known by its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import ArrayType, DoubleType, UserDefinedType
from starskip.skipping.own_types import (
    Call,
    Clause,
    ColumnIndex,
    Expression,
    FileCollector,
    FileMetadata,
    Literal,
    Mask,
    register,
)


class PointType(UserDefinedType):
    """The type of a column of points; who reads such files imports this module."""

    @classmethod
    def sqlType(cls) -> ArrayType:  # noqa: N802 - Spark's name
        """Return the type that files have."""
        return ArrayType(DoubleType(), containsNull=False)

    @classmethod
    def module(cls) -> str:
        """Return the module in which Spark finds it."""
        return __name__

    def serialize(self, obj: Point) -> list[float]:
        """Return a point as it is stored."""
        return [obj.x, obj.y]

    def deserialize(self, datum: Any) -> Point:
        """A point of what is stored."""
        return Point(*datum)


@dataclass(frozen=True)
class Point:
    """A value of the type."""

    x: float
    y: float


Point.__UDT__ = PointType()  # type: ignore[attr-defined]


def near(point: Point | None, x: float, y: float, far: float) -> bool | None:
    """The function itself."""
    return None if point is None else math.dist((point.x, point.y), (x, y)) < far


def register_functions(spark: Any) -> None:
    """Make it known to a session of Spark; ``starskip skipping explain`` calls this."""
    spark.udf.register("near", near, "boolean")


@register
class PointRange(ColumnIndex):
    """``pointrange:c``: least and greatest coordinates of a file's points."""

    kind = "pointrange"
    families = frozenset({"udt"})

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """Return the values of each row: of a user's own type they come as they are stored."""
        return {"points": columns[0]}

    def collector(self, schema: pa.Schema) -> FileCollector:  # noqa: ARG002 - points are of one type
        """Return the collector of one file."""
        return Bounds()

    def label(self, node: Expression) -> Clause | None:
        """Return the clause of a node of a predicate, None if it is not understood."""
        match node:
            case Call("udf:near", (column, Literal() as x, Literal() as y, Literal() as far)) if self.is_of(
                column
            ):
                return MayBeNear(self.specification, x.python, y.python, far.python)
        return None


class Bounds(FileCollector):
    """Least and greatest coordinates are all the state."""

    def __init__(self) -> None:
        self.least, self.greatest = np.full(2, np.inf), np.full(2, -np.inf)

    def add(self, rows: pa.RecordBatch) -> None:
        """Some rows of the file, as Arrow has them."""
        points = rows.column("points").drop_null()
        if len(points):
            self._take(points.flatten().to_numpy().reshape(-1, 2))

    def parts(self) -> Iterator[pa.RecordBatch]:
        """The state, for the task that merges those of a file."""
        # A comparison with NaN is false: such bounds are handed on, and hold everything.
        if not (self.least > self.greatest).any():
            yield pa.record_batch(
                {"x": [self.least[0], self.greatest[0]], "y": [self.least[1], self.greatest[1]]}
            )

    def merge(self, part: pa.RecordBatch) -> None:
        """Another task's state of the same file."""
        self._take(np.stack([part.column(name).to_numpy() for name in ("x", "y")], axis=1))

    def result(self) -> Mapping[str, pa.Array]:
        """One row of metadata; bounds of a file without a point hold nothing."""
        bounds = zip(("x_least", "y_least", "x_most", "y_most"), (*self.least, *self.greatest), strict=True)
        return {name: pa.array([float(bound)]) for name, bound in bounds}

    def _take(self, points: Any) -> None:
        # NaN spreads, and a file with one is kept.
        self.least = np.minimum(self.least, points.min(axis=0))
        self.greatest = np.maximum(self.greatest, points.max(axis=0))


@dataclass(frozen=True)
class MayBeNear(Clause):
    """Decides whether a file's bounds come near enough."""

    index: str
    x: float
    y: float
    far: float

    def may_match(self, metadata: FileMetadata) -> Mask:
        """Judge all files at once; one that is not known is kept."""

        def of(name: str) -> Any:
            return metadata.column(self.index, name).to_numpy(zero_copy_only=False)

        apart = [
            np.maximum(np.maximum(of(f"{axis}_least") - at, at - of(f"{axis}_most")), 0.0)
            for axis, at in (("x", self.x), ("y", self.y))
        ]
        return np.asarray(~(np.hypot(*apart) >= self.far))
