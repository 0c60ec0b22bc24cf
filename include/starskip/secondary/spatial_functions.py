"""Parse ``ST_Contains`` and ``ST_Distance`` of a shape and a point, as in skipping's geospatial functions.

The point is ``lng, lat`` behind ``ST_GeomFromText(…)`` or ``ST_Point(…)``, or ``ST_Point(lng, lat)``; behind
a plain text of WKT it is ``lat, lng``, the order of skipping's functions.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable
from starskip.predicates.expression import Call, Column, Literal
from starskip.secondary.literal_values import literal_value

CONTAINS, DISTANCE = "udf:st_contains", "udf:st_distance"
_NAMES = {"stcontains": CONTAINS, "stdistance": DISTANCE}


def spatial_call(node: exp.Expression, column: Callable[[exp.Expression], Column]) -> Call | None:
    """Return the call ``(WKT, lat, lng)`` of a node, None if it calls neither function."""
    name = _NAMES.get(_name(node))
    if name is None:
        return None
    written = f"{'ST_Contains' if name == CONTAINS else 'ST_Distance'}(ST_GeomFromText('…'), lng, lat)"
    arguments = _arguments(node)
    if not arguments:
        raise _refused(node, f"write {written}")
    wkt, longitude_first = _shape(arguments[0])
    point = arguments[1:]
    if len(point) == 1 and _name(point[0]) == "stpoint":
        point, longitude_first = _arguments(point[0]), True
    if len(point) != 2:
        raise _refused(node, f"write {written}")
    lng, lat = (column(each) for each in (point if longitude_first else reversed(point)))
    return Call(name, (Literal(pa.scalar(wkt, pa.string())), lat, lng))


def _shape(node: exp.Expression) -> tuple[str | None, bool]:
    if _name(node) == "stgeomfromtext":
        texts = _arguments(node)
        if len(texts) != 1:
            raise _refused(node, "takes one text: ST_GeomFromText('…')")
        return _text(texts[0]), True
    if _name(node) == "stpoint":
        place = [literal_value(each) for each in _arguments(node)]
        if len(place) != 2 or not all(isinstance(each, (int, float, Decimal)) for each in place):
            raise _refused(node, "takes two numbers: ST_Point(lng, lat)")
        return f"POINT ({place[0]!s} {place[1]!s})", True
    return _text(node), False


def _refused(node: exp.Expression, wanted: str) -> UnsupportedQuery:
    return UnsupportedQuery(f"{printable(node.sql(dialect='spark'), 200)}: {wanted}", reason="where")


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
