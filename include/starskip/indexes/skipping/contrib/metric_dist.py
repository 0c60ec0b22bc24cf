"""Index type ``metricdist:c[,c…]:metric``: bounds of the distances between a file's values and one of them.

See "Extensible Data Skipping", table I. By the triangle inequality, a value at distance d from the origin is
between |d - q| and d + q from a point at distance q from the origin. The bounds are widened by more than the
rounding error of floats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.errors import ConfigError
from starskip.indexes.skipping.clause import Clause
from starskip.indexes.skipping.contrib.metric_distances import (
    TEXT_METRIC,
    VECTOR_METRICS,
    Distances,
    distances_to_point,
)
from starskip.indexes.skipping.file_metadata import FileMetadata, Mask
from starskip.indexes.skipping.index_types.column_index import check_column, check_family
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.indexes.skipping.value_ranges import is_possible_known, possible_between
from starskip.predicates.column_name import column_name
from starskip.predicates.comparison import Comparison, comparison_of_function
from starskip.predicates.data_types import NUMBERS
from starskip.predicates.edit_distance import edit_distances
from starskip.predicates.expression import Call, Column, Expression, Literal

_MOST_CELLS = 200_000_000
"""Cells of the edit distance's tables of all texts; above this limit no distance is computed."""
_FUNCTIONS = {TEXT_METRIC: ("Levenshtein", "udf:levenshtein_distance")} | {
    name: (f"udf:{name}_distance",) for name in VECTOR_METRICS
}
LONGEST_TEXT = 256
_ROUNDING_RATIO, _ROUNDING = 1e-9, 1e-150
Point = str | tuple[float, ...]


class MetricDist(SkippingIndex):
    """Metadata columns ``origin``, ``least`` and ``greatest`` distance, and ``values``, the number of points.

    A file without points has no distances; otherwise null is unknown.
    """

    kind = "metricdist"

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Take a column of arrays or texts, or several of numbers, and the metric's name."""
        super().__init__(columns, arguments)
        if not self.columns or len(arguments) != 1 or arguments[0] not in _FUNCTIONS:
            raise ConfigError(
                f"{self.specification}: write metricdist:COLUMN[,COLUMN…]:METRIC, "
                f"one of {', '.join(_FUNCTIONS)}",
                setting="index",
            )
        self.metric = arguments[0]

    def check(self, data_types: Mapping[str, str]) -> None:
        """See SkippingIndex.check."""
        if self.metric != TEXT_METRIC and len(self.columns) == 1:
            data_type = check_column(self, self.columns[0], data_types)
            if not any(data_type.lower() == f"array<{number}>" for number in ("double", "float")):
                raise ConfigError(
                    f"{self.specification}: {self.columns[0]} is {data_type}, no array of double or float",
                    setting="index",
                )
            return
        of_text = self.metric == TEXT_METRIC
        if of_text and len(self.columns) > 1:
            raise ConfigError(f"{self.specification}: {self.metric} is of one column", setting="index")
        for column in self.columns:
            check_family(self, column, data_types, frozenset({"string"}) if of_text else NUMBERS)

    def aggregates(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.aggregates."""
        column = columns[0]
        if self.metric == TEXT_METRIC:
            # Spark's own function, which is compiled; the least text is as good an origin as any.
            distances = f"transform(collect_set({column}), x -> levenshtein(x, min({column})))"
            return {"origin": f"min({column})", "distances": distances}
        if len(columns) > 1:
            column = f"array({', '.join(f'CAST({each} AS DOUBLE)' for each in columns)})"
        return {"points": f"collect_set({column})"}

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """Find the bounds of the distances to each file's origin."""
        found = _of_texts(collected) if self.metric == TEXT_METRIC else _of_points(collected, self.metric)
        origins, bounds, values = found
        known = [each if low is not None else None for each, (low, _) in zip(origins, bounds, strict=True)]
        kind = pa.string() if self.metric == TEXT_METRIC else pa.list_(pa.float64())
        return {
            "origin": pa.array(known, kind),
            "least": pa.array([low for low, _ in bounds], pa.float64()),
            "greatest": pa.array([high for _, high in bounds], pa.float64()),
            "values": pa.array(values, pa.int64()),
        }

    def label(self, node: Expression) -> Clause | None:
        """Label comparisons of the distance to a literal point."""
        found = comparison_of_function(node, self._is_function, "double")
        if found is None or not is_possible_known(found[0]) or found[0].negated:
            return None
        point = self._point(found[1])
        return None if point is None else MetricDistClause(self.specification, self.metric, point, found[0])

    def _is_function(self, call: Call) -> bool:
        return call.name in _FUNCTIONS[self.metric] and len(call.arguments) == 2 * len(self.columns)

    def _point(self, call: Call) -> Point | None:
        """Return the literal point of a call whose other arguments are the columns."""
        middle = len(self.columns)
        halves = call.arguments[:middle], call.arguments[middle:]
        for columns, literals in (halves, halves[::-1]):
            names = [column_name(each.path) for each in columns if isinstance(each, Column)]
            values = [each.python for each in literals if isinstance(each, Literal)]
            if names == list(self.columns) and len(values) == middle and None not in values:
                return self._of_literals(values)
        return None

    def _of_literals(self, values: list[Any]) -> Point | None:
        if self.metric == TEXT_METRIC:
            return values[0] if isinstance(values[0], str) else None
        numbers = values[0] if isinstance(values[0], list) else values
        if not isinstance(numbers, list) or None in numbers:
            return None
        return tuple(float(each) for each in numbers)


@dataclass(frozen=True, slots=True)
class MetricDistClause(Clause):
    """Pass files for which a distance within the triangle inequality's bounds satisfies a comparison."""

    index: str
    metric: str
    point: Point
    comparison: Comparison

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        origin, least, greatest, values = (
            metadata.column(self.index, name) for name in ("origin", "least", "greatest", "values")
        )
        to_point = self._to_point(origin)
        least, greatest = (
            each.fill_null(np.nan).to_numpy(zero_copy_only=False) for each in (least, greatest)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            slack = (to_point + greatest) * _ROUNDING_RATIO + _ROUNDING
            low = np.maximum(np.maximum(to_point - greatest, least - to_point) - slack, 0.0)
            high = to_point + greatest + slack
        unknown = ~(np.isfinite(low) & np.isfinite(high))
        compared = self.comparison
        if not pa.types.is_float64(compared.values.type):
            numbers = compared.values.cast(pa.float64(), safe=False)
            compared = Comparison(compared.column, compared.operator, numbers)
        possible = possible_between(compared, pa.array(low), pa.array(high))
        none = values.fill_null(1).to_numpy(zero_copy_only=False) == 0
        return np.asarray((possible | unknown) & ~none)

    def _to_point(self, origin: pa.Array) -> Distances:
        if isinstance(self.point, str):
            found = edit_distances(origin, self.point, most_cells=_MOST_CELLS)
            return np.asarray(found.to_numpy(zero_copy_only=False), np.float64)
        return distances_to_point(origin, self.point, self.metric)


_Bounds = tuple[float | None, float | None]
_Found = tuple[Sequence[object], list[_Bounds], list[int]]


def _of_texts(collected: pa.Table) -> _Found:
    sets = collected["distances"].to_pylist()
    origins = [
        each if each is None or len(each) <= LONGEST_TEXT else None
        for each in _valid_texts(collected["origin"].combine_chunks())
    ]
    bounds = [
        (None, None) if not each or origin is None else (min(each), max(each))
        for each, origin in zip(sets, origins, strict=True)
    ]
    return origins, bounds, [1 if each is None else len(each) for each in sets]


def _valid_texts(texts: pa.Array) -> list[str | None]:
    raw = texts.cast(pa.binary()).to_pylist()
    decoded = [None if each is None else each.decode(errors="replace") for each in raw]
    return [None if each is None or "\ufffd" in each else each for each in decoded]


def _of_points(collected: pa.Table, metric: str) -> _Found:
    sets = collected["points"].combine_chunks()
    offsets = sets.offsets.to_numpy()
    origins: list[object] = []
    bounds: list[_Bounds] = []
    for start, end, valid in zip(
        offsets[:-1].tolist(), offsets[1:].tolist(), sets.is_valid().to_pylist(), strict=True
    ):
        points = sets.values.slice(start, end - start)
        origin = points[0].as_py() if valid and end > start else None
        if origin is None or None in origin:
            found = np.full(1, np.nan)
        else:
            found = distances_to_point(points, origin, metric)
        known = bool(np.isfinite(found).all())
        origins.append(origin if known else None)
        bounds.append((float(found.min()), float(found.max())) if known else (None, None))
    return origins, bounds, [1 if each is None else int(each) for each in sets.value_lengths().to_pylist()]
