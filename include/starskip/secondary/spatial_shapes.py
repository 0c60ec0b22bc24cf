"""Test many points against a WKT shape, by shapely, the extra ``starskip[geospatial]``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from starskip.extras import needing_extra

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shape:
    """A geometry of shapely, prepared; ``swapped``: points are given as y, x."""

    geometry: Any
    swapped: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether it has no point."""
        return bool(self.geometry.is_empty)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The least x and y, and the greatest x and y."""
        found = self.geometry.bounds
        return float(found[0]), float(found[1]), float(found[2]), float(found[3])

    def contains(self, x: Numbers, y: Numbers) -> npt.NDArray[np.bool_]:
        """Return for each point whether it lies within the shape, its border left out."""
        shapely = _shapely()
        x, y = (y, x) if self.swapped else (x, y)
        return np.asarray(shapely.contains_xy(self.geometry, x, y), np.bool_)

    def distances(self, x: Numbers, y: Numbers) -> Numbers:
        """Return the planar distance of each point; infinite or NaN as in st_distance."""
        shapely = _shapely()
        x, y = (y, x) if self.swapped else (x, y)
        finite = np.isfinite(x) & np.isfinite(y)
        found = np.where(np.isnan(x) | np.isnan(y), np.nan, np.inf)
        if finite.any():
            found[finite] = shapely.distance(self.geometry, shapely.points(x[finite], y[finite]))
        return found


@lru_cache(maxsize=256)
def shape_of(wkt: str | None) -> Shape | None:
    """Return the shape of a text, None for null and for a text that is no WKT."""
    if wkt is None:
        return None
    shapely = _shapely()
    try:
        geometry = shapely.from_wkt(wkt)
    except shapely.errors.ShapelyError:
        return None
    shapely.prepare(geometry)
    return Shape(geometry)


def _shapely() -> Any:
    with needing_extra("geospatial"):
        import shapely  # noqa: PLC0415
        import shapely.errors  # noqa: PLC0415

        return shapely
