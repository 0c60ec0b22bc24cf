"""Planar geometries as texts (WKT) and bytes (WKB): their bounds, and functions of two of them.

``ST_GeomFromText``, ``ST_WKTToSQL``, ``ST_GeomFromWKB`` and ``ST_Point`` return WKB; the others take WKT or
WKB. All return null for null, and for a value that is no geometry. The library shapely is the extra
``starskip[geospatial]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from starskip.errors import ConfigError

try:
    import shapely
    from shapely.errors import ShapelyError
except ModuleNotFoundError:
    raise ConfigError(
        "ST_Contains and its like need the library shapely: pip install 'starskip[geospatial]'",
        setting="modules",
    ) from None

Geometry = str | bytes | bytearray | None
Bounds = tuple[float, float, float, float]
"""Least x, least y, greatest x, greatest y."""


def geometry_of(value: Geometry) -> Any:
    """Return the geometry of a WKT or WKB, None for null and for an invalid value."""
    return _geometry(bytes(value) if isinstance(value, bytearray) else value)


@lru_cache(maxsize=256)
def _geometry(value: str | bytes | None) -> Any:
    if value is None:
        return None
    try:
        found = shapely.from_wkt(value) if isinstance(value, str) else shapely.from_wkb(value)
    except (ShapelyError, TypeError, ValueError):
        return None
    if found is not None:
        shapely.prepare(found)
    return found


def bounds_of(values: Sequence[Geometry]) -> tuple[npt.NDArray[np.float64], bool]:
    """Return the bounds of geometries that have any, and whether all values are geometries."""
    known = [each for each in values if each is not None]
    if not known:
        return np.zeros((0, 4)), True
    read = shapely.from_wkt if isinstance(known[0], str) else shapely.from_wkb
    found = read(np.array([*known, None], object)[:-1], on_invalid="ignore")
    is_geometry = np.array([each is not None for each in found])
    bounds = shapely.bounds(found[is_geometry])
    # An empty geometry has none.
    has_bounds = ~np.isnan(bounds).all(axis=1)
    return bounds[has_bounds], bool(is_geometry.all() and np.isfinite(bounds[has_bounds]).all())


def st_geom_from_text(wkt: str | None) -> bytes | None:
    """Return the geometry of a WKT as WKB."""
    found = geometry_of(wkt)
    return None if found is None else bytes(shapely.to_wkb(found))


def st_geom_from_wkb(wkb: bytes | None) -> bytes | None:
    """Return the geometry of a WKB, None if it is none."""
    return None if wkb is None or geometry_of(wkb) is None else bytes(wkb)


def st_point(x: Any, y: Any) -> bytes | None:
    """Return a point as WKB."""
    return None if x is None or y is None else bytes(shapely.to_wkb(shapely.points(float(x), float(y))))


def has_point(geometry: Any, x: float, y: float) -> bool:
    """Return whether a geometry contains a point."""
    return bool(shapely.contains_xy(geometry, x, y))


def distance_to_point(geometry: Any, x: float, y: float) -> float:
    """Return the planar distance of a geometry and a point."""
    return float(shapely.distance(geometry, shapely.points(x, y)))


def _of_two(function: Callable[[Any, Any], Any]) -> Callable[[Geometry, Geometry], bool | None]:
    def asked(left: Geometry, right: Geometry) -> bool | None:
        a, b = geometry_of(left), geometry_of(right)
        return None if a is None or b is None else bool(function(a, b))

    return asked


within = _of_two(shapely.within)
"""Return whether a geometry lies within another one."""
intersects = _of_two(shapely.intersects)
"""Return whether two geometries have a point in common."""
contains = _of_two(shapely.contains)
"""Return whether a geometry contains another one."""


def distance(left: Geometry, right: Geometry) -> float | None:
    """Return the planar distance of two geometries; None for an empty one, too."""
    a, b = geometry_of(left), geometry_of(right)
    if a is None or b is None or a.is_empty or b.is_empty:
        return None
    found = float(shapely.distance(a, b))
    return found if math.isfinite(found) else math.nan
