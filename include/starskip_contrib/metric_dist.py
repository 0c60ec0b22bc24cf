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
from starskip.predicates.column_name import column_name
from starskip.predicates.comparison import Comparison, comparison_of_function
from starskip.predicates.edit_distance import edit_distances
from starskip.skipping.index_types.column_index import check_column, check_family
from starskip.skipping.own_types import (
    NUMBERS,
    Call,
    Clause,
    Column,
    Expression,
    FileCollector,
    FileMetadata,
    Literal,
    Mask,
    SkippingIndex,
)
from starskip.skipping.value_ranges import is_possible_known, possible_between

from starskip_contrib import metric_distances
from starskip_contrib.distances_collector import DistancesCollector
from starskip_contrib.metric_distances import (
    TEXT_METRIC,
    VECTOR_METRICS,
    Distances,
    distances_to_point,
)

_MOST_CELLS = 200_000_000
"""Cells of all texts' edit distance tables; above this limit no distance is computed."""
_FUNCTIONS = {TEXT_METRIC: ("Levenshtein", "udf:levenshtein_distance")} | {
    name: (f"udf:{name}_distance",) for name in VECTOR_METRICS
}
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

    @property
    def module_of_functions(self) -> str:
        """See SkippingIndex.module_of_functions."""
        return metric_distances.__name__

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

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        if len(columns) == 1:
            return {"values": columns[0]}
        return {"values": f"array({', '.join(f'CAST({each} AS DOUBLE)' for each in columns)})"}

    def collector(self, schema: pa.Schema) -> FileCollector:
        """See SkippingIndex.collector."""
        return DistancesCollector(self.metric, schema.field("values").type)

    def questions(self, columns: Sequence[str]) -> Sequence[str]:
        """See SkippingIndex.questions."""
        if self.metric == TEXT_METRIC:
            return [f"levenshtein({columns[0]}, ?)"]
        point = ", ".join(["cast(? AS double)"] * len(columns))
        return [f"{self.metric}_distance({', '.join(columns)}, {point})"]

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
