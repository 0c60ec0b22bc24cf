"""Read predicates of two planar geometries, one of them a literal."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
from starskip.predicates.comparison import ComparisonOperator, comparison_of_function
from starskip.skipping.own_types import Call, Expression, Literal

from starskip_contrib.geometries import Bounds, geometry_of

RELATIONS = frozenset({"udf:st_contains", "udf:st_within", "udf:st_intersects"})
"""Functions that are true only of geometries whose bounds have a point in common."""
DISTANCE, POINT = "udf:st_distance", "udf:st_point"
CONSTRUCTORS = frozenset(
    {"udf:st_geomfromtext", "udf:st_geomfromwkt", "udf:st_wkttosql", "udf:st_geomfromwkb"}
)
_ROUNDING_RATIO = 1e-9
_NEAR = frozenset({ComparisonOperator.BELOW, ComparisonOperator.AT_MOST, ComparisonOperator.IN})


def literal_geometry(node: Expression) -> Any:
    """Return the geometry of a literal or of a constructor's call with one, None for others."""
    if isinstance(node, Call) and node.name in CONSTRUCTORS and len(node.arguments) == 1:
        node = node.left
    value = node.python if isinstance(node, Literal) else None
    found = geometry_of(value) if isinstance(value, str | bytes) else None
    return None if found is None or found.is_empty else found


def searched_bounds(node: Expression) -> tuple[Bounds, Call] | None:
    """Return the bounds that a geometry must touch where ``node`` holds, with the call."""
    if isinstance(node, Call) and node.name in RELATIONS:
        geometry = next((g for each in node.arguments if (g := literal_geometry(each)) is not None), None)
        return None if geometry is None else (geometry.bounds, node)
    found = comparison_of_function(node, lambda call: call.name == DISTANCE, "double")
    if found is None or found[0].negated or found[0].operator not in _NEAR:
        return None
    call = found[1]
    geometry = next((g for each in call.arguments if (g := literal_geometry(each)) is not None), None)
    distances = found[0].values.cast(pa.float64(), safe=False).to_pylist()
    if geometry is None or not distances or not all(map(math.isfinite, distances)):
        return None
    farthest = max(distances)
    margin = farthest + max(map(abs, (*geometry.bounds, farthest))) * _ROUNDING_RATIO
    least_x, least_y, greatest_x, greatest_y = geometry.bounds
    return (least_x - margin, least_y - margin, greatest_x + margin, greatest_y + margin), call
