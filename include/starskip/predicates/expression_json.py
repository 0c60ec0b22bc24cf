"""Predicates as JSON, for JSON events and the stored workload.

    {"call": "And", "arguments": [{"call": "EqualTo", "arguments": [{"column": ["a", "b"], "type": "bigint"},
     {"literal": 5, "type": "bigint"}]}, {"call": "In", "arguments": [{"column": ["d"], "type": "date"},
     {"literals": ["1994-01-01"], "type": "date", "has_null": true}]}]}

Dates and decimals are strings, timestamps microseconds since the epoch, floating-point numbers Python's
strings of them, bytes base64; null is null. A literal of another type (array, interval) becomes the call
``Unknown``.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from starskip.predicates.data_types import literal_type_of, type_name
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet
from starskip.predicates.literal_text import json_value, value_of_json

UNKNOWN = Call("Unknown")
"""A part of a predicate whose meaning is unknown; no index labels it."""
MAX_DEPTH = 200


def expression_json(expression: Expression) -> str:
    """Return the expression as one line of JSON; ``expression_of`` is the inverse."""
    return json.dumps(
        _document(expression, MAX_DEPTH), separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def expression_of(text: str) -> Expression:
    """Parse a line of JSON; raise ValueError for an invalid one, or one nested over 200 deep."""
    try:
        return _expression(json.loads(text), MAX_DEPTH)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"no expression: {text[:100]}") from error


def _document(expression: Expression, depth: int) -> dict[str, Any]:
    if depth == 0:
        return {"call": "Unknown", "arguments": []}
    if isinstance(expression, Column):
        return {"column": list(expression.path), "type": expression.data_type}
    if isinstance(expression, Call):
        operands = [_document(each, depth - 1) for each in expression.arguments]
        return {"call": expression.name, "arguments": operands}
    kind = expression.values.type if isinstance(expression, LiteralSet) else expression.value.type
    name = type_name(kind)
    if name is None:
        return {"call": "Unknown", "arguments": []}
    if isinstance(expression, LiteralSet):
        listed = [json_value(each) for each in expression.values]
        return {"literals": listed, "type": name, "has_null": expression.has_null}
    return {"literal": json_value(expression.value), "type": name}


def _expression(document: Any, depth: int) -> Expression:
    if depth < 0:
        raise ValueError(f"an expression nested over {MAX_DEPTH} deep")
    if "column" in document:
        return Column(tuple(_text(each) for each in document["column"]), _text(document["type"]))
    if "literal" in document:
        return Literal(value_of_json(document["literal"], _text(document["type"])))
    if "literals" in document:
        data_type = _text(document["type"])
        values = [value_of_json(each, data_type) for each in document["literals"]]
        return LiteralSet(pa.array(values, literal_type_of(data_type)), document.get("has_null") is True)
    operands = tuple(_expression(each, depth - 1) for each in document.get("arguments", ()))
    return Call(_text(document["call"]), operands)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value
