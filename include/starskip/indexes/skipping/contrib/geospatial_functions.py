"""The functions ``ST_Contains`` and ``ST_Distance`` of a WKT geometry and a point, and their implications.

See "Extensible Data Skipping", V-C. ``register_functions`` registers both in a Spark session. Importing this
module, or naming it among the modules of ``enable``, maps both names to bounds of the point's coordinates.
The library shapely is the extra ``starskip[geospatial]``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.errors import ConfigError
from starskip.indexes.skipping.user_functions import map_function
from starskip.predicates.comparison import Operator, comparison_of_function
from starskip.predicates.expression import Call, Column, Expression, Literal

try:
    import shapely
    from shapely.errors import ShapelyError
except ModuleNotFoundError:
    raise ConfigError(
        "ST_Contains and ST_Distance need the library shapely: pip install 'starskip[geospatial]'",
        setting="modules",
    ) from None

_CONTAINS, _DISTANCE = "udf:st_contains", "udf:st_distance"
_ROUNDING_RATIO = 1e-9


def st_contains(geometry_wkt: str | None, lat: Any, lng: Any) -> bool | None:
    """Return whether a geometry (WKT, ``lng lat`` points) contains a point; None for null or invalid WKT."""
    found = _geometry(geometry_wkt)
    if found is None or lat is None or lng is None:
        return None
    return bool(shapely.contains_xy(found, float(lng), float(lat)))


def st_distance(geometry_wkt: str | None, lat: Any, lng: Any) -> float | None:
    """Return the planar distance in degrees between a geometry and a point; None as in st_contains."""
    found = _geometry(geometry_wkt)
    if found is None or found.is_empty or lat is None or lng is None:
        return None
    lat, lng = float(lat), float(lng)
    if not (math.isfinite(lat) and math.isfinite(lng)):
        return math.nan if math.isnan(lat) or math.isnan(lng) else math.inf
    return float(shapely.distance(found, shapely.points(lng, lat)))


def register_functions(spark: Any) -> None:
    """Register both functions in a Spark session, by the names that are mapped below."""
    spark.udf.register("ST_Contains", st_contains, "boolean")
    spark.udf.register("ST_Distance", st_distance, "double")


@lru_cache(maxsize=256)
def _geometry(geometry_wkt: str | None) -> Any:
    if geometry_wkt is None:
        return None
    try:
        found = shapely.from_wkt(geometry_wkt)
    except ShapelyError:
        return None
    shapely.prepare(found)
    return found


def point_in_bounds(
    lat: Expression, lng: Expression, bounds: tuple[float, float, float, float], margin: float = 0.0
) -> Expression | None:
    """Return the predicate that a point lies in bounds (least lng, lat, greatest lng, lat) plus a margin."""
    least_lng, least_lat, greatest_lng, greatest_lat = bounds
    ranges = [(lat, least_lat, greatest_lat), (lng, least_lng, greatest_lng)]
    sides: list[Expression] = []
    for column, least, greatest in ranges:
        if not isinstance(column, Column) or column.data_type not in ("double", "float"):
            continue
        for name, bound, outward in (
            ("GreaterThanOrEqual", least - margin, -math.inf),
            ("LessThanOrEqual", greatest + margin, math.inf),
        ):
            sides.append(Call(name, (column, _literal(bound, outward, column.data_type))))
    return Call("And", tuple(sides)) if sides else None


def _literal(bound: float, outward: float, data_type: str) -> Literal:
    kind = pa.float64() if data_type == "double" else pa.float32()
    value = pa.scalar(bound, kind)
    rounded = value.as_py()
    if (rounded > bound) if outward < 0 else (rounded < bound):
        value = pa.scalar(float(np.nextafter(np.float32(rounded), np.float32(outward))), kind)
    return Literal(value)


def _arguments(call: Call) -> tuple[Any, Expression, Expression] | None:
    if len(call.arguments) != 3 or not isinstance(call.arguments[0], Literal):
        return None
    found = _geometry(call.arguments[0].python) if isinstance(call.arguments[0].python, str) else None
    return None if found is None else (found, call.arguments[1], call.arguments[2])


def _contains(node: Expression) -> Expression | None:
    if not isinstance(node, Call) or node.name != _CONTAINS:
        return None
    parts = _arguments(node)
    if parts is None or parts[0].is_empty:
        return None
    geometry, lat, lng = parts
    return point_in_bounds(lat, lng, geometry.bounds)


def _distance(node: Expression) -> Expression | None:
    found = comparison_of_function(node, lambda call: call.name == _DISTANCE, "double")
    if found is None or found[0].negated or found[0].operator not in _NEAR:
        return None
    parts = _arguments(found[1])
    distances = found[0].values.cast(pa.float64(), safe=False).to_pylist()
    if parts is None or parts[0].is_empty or not distances or not all(map(math.isfinite, distances)):
        return None
    geometry, lat, lng = parts
    farthest = max(distances)
    size = max(map(abs, (*geometry.bounds, farthest)))
    return point_in_bounds(lat, lng, geometry.bounds, farthest + size * _ROUNDING_RATIO)


_NEAR = frozenset({Operator.BELOW, Operator.AT_MOST, Operator.IN})

map_function("ST_Contains", _contains)
map_function("ST_Distance", _distance)
