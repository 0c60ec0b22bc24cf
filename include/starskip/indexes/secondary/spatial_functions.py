"""Read ``ST_Contains`` and ``ST_Distance`` of a shape and a point, as skipping's geospatial functions are.

The point is ``lng, lat`` behind ``ST_GeomFromText(…)`` or ``ST_Point(…)``, or ``ST_Point(lng, lat)``; behind
a plain text of WKT it is ``lat, lng``, the order of skipping's functions.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable
from starskip.indexes.secondary.typed_comparison import literal_value
from starskip.predicates.expression import Call, Column, Literal

CONTAINS, DISTANCE = "udf:st_contains", "udf:st_distance"
_NAMES = {"stcontains": CONTAINS, "stdistance": DISTANCE}


def spatial_call(node: exp.Expression, column: Callable[[exp.Expression], Column]) -> Call | None:
    """Return the call ``(WKT, lat, lng)`` of a node, None if it calls neither function."""
    name = _NAMES.get(_name(node))
    if name is None:
        return None
    shape, *point = _arguments(node)
    wkt, longitude_first = _shape(shape)
    if len(point) == 1 and _name(point[0]) == "stpoint":
        point, longitude_first = _arguments(point[0]), True
    if len(point) != 2:
        raise UnsupportedQuery(
            f"{printable(node.sql(dialect='spark'), 200)}: write "
            f"{'ST_Contains' if name == CONTAINS else 'ST_Distance'}(ST_GeomFromText('…'), lng, lat)",
            reason="where",
        )
    lng, lat = (column(each) for each in (point if longitude_first else reversed(point)))
    return Call(name, (Literal(pa.scalar(wkt, pa.string())), lat, lng))


def _shape(node: exp.Expression) -> tuple[str | None, bool]:
    if _name(node) == "stgeomfromtext":
        return _text(_arguments(node)[0]), True
    if _name(node) == "stpoint":
        x, y = (literal_value(each) for each in _arguments(node))
        return f"POINT ({x!s} {y!s})", True
    return _text(node), False


def _text(node: exp.Expression) -> str | None:
    found = literal_value(node)
    if found is not None and not isinstance(found, str):
        raise UnsupportedQuery(f"{printable(repr(found), 100)}: is no shape in WKT", reason="where")
    return found


def _name(node: exp.Expression) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name.lower().replace("_", "")
    return node.sql_name().lower().replace("_", "") if isinstance(node, exp.Func) else ""


def _arguments(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    found: list[exp.Expression] = []
    for value in node.args.values():
        found.extend(
            value if isinstance(value, list) else [value] if isinstance(value, exp.Expression) else []
        )
    return found
