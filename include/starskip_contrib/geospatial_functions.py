"""Functions of planar geometries, and their implications for the coordinates of points.

See "Extensible Data Skipping", V-C. ``register_functions`` registers them in a Spark session: ST_Contains,
ST_Within, ST_Intersects and ST_Distance of two geometries, ST_Contains and ST_Distance of a WKT and a point
as ``(shape, lat, lng)`` too, and ST_Point, ST_GeomFromText, ST_WKTToSQL and ST_GeomFromWKB. Importing this
module, or naming it among the modules of ``enable``, maps the first four to bounds of a point's coordinates.
The library shapely is the extra ``starskip[geospatial]``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
from starskip.skipping.own_types import Call, Column, Expression, Literal, map_function

from starskip_contrib.geometries import (
    Bounds,
    Geometry,
    contains,
    distance,
    distance_to_point,
    geometry_of,
    has_point,
    intersects,
    st_geom_from_text,
    st_geom_from_wkb,
    st_point,
    within,
)
from starskip_contrib.geometry_predicates import POINT, searched_bounds


def st_contains(geometry: Geometry, other: Any, lng: Any = None) -> bool | None:
    """Return whether a geometry contains another one, or the point at ``other`` (lat) and ``lng``.

    None for null or an invalid geometry; WKT has ``lng lat`` points.
    """
    if isinstance(other, str | bytes | bytearray):
        return contains(geometry, other)
    found = geometry_of(geometry)
    if found is None or other is None or lng is None:
        return None
    return has_point(found, float(lng), float(other))


def st_distance(geometry: Geometry, other: Any, lng: Any = None) -> float | None:
    """Return the planar distance of two geometries, or of a geometry and a point; None as in st_contains."""
    if isinstance(other, str | bytes | bytearray):
        return distance(geometry, other)
    found = geometry_of(geometry)
    if found is None or found.is_empty or other is None or lng is None:
        return None
    lat, lng = float(other), float(lng)
    if not (math.isfinite(lat) and math.isfinite(lng)):
        return math.nan if math.isnan(lat) or math.isnan(lng) else math.inf
    return distance_to_point(found, lng, lat)


def register_functions(spark: Any) -> None:
    """Register the functions in a Spark session, by the names that are mapped below."""
    spark.udf.register("ST_Contains", st_contains, "boolean")
    spark.udf.register("ST_Within", within, "boolean")
    spark.udf.register("ST_Intersects", intersects, "boolean")
    spark.udf.register("ST_Distance", st_distance, "double")
    spark.udf.register("ST_Point", st_point, "binary")
    spark.udf.register("ST_GeomFromText", st_geom_from_text, "binary")
    spark.udf.register("ST_GeomFromWKT", st_geom_from_text, "binary")
    spark.udf.register("ST_WKTToSQL", st_geom_from_text, "binary")
    spark.udf.register("ST_GeomFromWKB", st_geom_from_wkb, "binary")


def point_in_bounds(lat: Expression, lng: Expression, bounds: Bounds) -> Expression | None:
    """Return the predicate that a point lies in bounds (least lng, lat, greatest lng, lat)."""
    least_lng, least_lat, greatest_lng, greatest_lat = bounds
    ranges = [(lat, least_lat, greatest_lat), (lng, least_lng, greatest_lng)]
    sides: list[Expression] = []
    for column, least, greatest in ranges:
        if not isinstance(column, Column) or column.data_type not in ("double", "float"):
            continue
        for name, bound, outward in (
            ("GreaterThanOrEqual", least, -math.inf),
            ("LessThanOrEqual", greatest, math.inf),
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


def _point_of(call: Call) -> tuple[Expression, Expression] | None:
    """Return latitude and longitude of the point in a call."""
    if len(call.arguments) == 3 and isinstance(call.left, Literal):
        return call.arguments[1], call.arguments[2]
    for each in call.arguments if len(call.arguments) == 2 else ():
        if isinstance(each, Call) and each.name == POINT and len(each.arguments) == 2:
            return each.right, each.left
    return None


def _implied(node: Expression) -> Expression | None:
    found = searched_bounds(node)
    point = None if found is None else _point_of(found[1])
    return None if found is None or point is None else point_in_bounds(*point, found[0])


for _name in ("ST_Contains", "ST_Within", "ST_Intersects", "ST_Distance"):
    map_function(_name, _implied)
