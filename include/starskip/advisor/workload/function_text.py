"""Catalyst's calls of Spark functions that index types serve, read from the text of filters."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa

from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.predicates.literal_text import catalyst_value

PARSED_URL = re.compile(r"invoke\(ParseUrlEvaluator\([^()]{0,200}\)\.evaluate\(")
"""The beginning of ``parse_url`` and ``try_parse_url``, before the URL."""
_ARRAY = re.compile(r"array<(.+)>", re.DOTALL)
_MAP = re.compile(r"map<(\w+),(.+)>", re.DOTALL)


def map_types(expression: Expression) -> tuple[str, str] | None:
    """Return the types of keys and values of a column of maps, None for any other expression."""
    found = _MAP.fullmatch(expression.data_type.strip()) if isinstance(expression, Column) else None
    return (found[1], found[2]) if found else None


def value_type(expression: Expression) -> str | None:
    """Return the type of a column, or of a map's value at a key, None if it is not known."""
    if isinstance(expression, Column):
        return expression.data_type
    if isinstance(expression, Call) and expression.name in ("GetMapValue", "ElementAt"):
        types = map_types(expression.left)
        return types[1] if types else None
    return None


def map_value(column: Expression, key: str) -> Expression | None:
    """Return ``column[key]``, None if it is no map, or the key's text is no value of its type."""
    types = map_types(column)
    value = catalyst_value(key, types[0]) if types else None
    return None if value is None else Call("GetMapValue", (column, Literal(value)))


def parsed_url(column: Expression, part: str) -> Expression:
    """Return ``parse_url(column, part)`` as Spark plans it."""
    arguments = (Call("ParseUrlEvaluator"), column, *(Literal(pa.scalar(each)) for each in (part, _METHOD)))
    return Call("Invoke", arguments)


_METHOD = '"evaluate"'


def _array_contains(array: Expression, *rest: Expression) -> Expression | None:
    found = _ARRAY.fullmatch(array.data_type.strip()) if isinstance(array, Column) else None
    value = catalyst_value(_joined(rest), found[1]) if found else None
    return None if value is None else Call("ArrayContains", (array, Literal(value)))


def _element_at(column: Expression, *rest: Expression) -> Expression | None:
    # Behind the key stand the value for a missing key, and whether it is an error.
    found = map_value(column, _joined(rest[:-2])) if len(rest) > 2 else None
    return Call("ElementAt", found.arguments) if isinstance(found, Call) else None


def _get_json_object(column: Expression, *path: Expression) -> Expression | None:
    return Call("GetJsonObject", (column, Literal(pa.scalar(_joined(path)))))


def _substring_index(column: Expression, *rest: Expression) -> Expression | None:
    count = catalyst_value(_joined(rest[-1:]), "int")
    sign = Literal(pa.scalar(_joined(rest[:-1])))
    return None if count is None else Call("SubstringIndex", (column, sign, Literal(count)))


def _joined(texts: tuple[Expression, ...]) -> str:
    return ", ".join(each.python for each in texts if isinstance(each, Literal))


_FUNCTIONS: dict[str, Callable[..., Expression | None]] = {
    "array_contains": _array_contains,
    "element_at": _element_at,
    "get_json_object": _get_json_object,
    "substring_index": _substring_index,
}


def known_function(name: str, arguments: tuple[Expression, ...]) -> Expression | None:
    """Return Catalyst's call of a function of a column and texts, None if it is no such function."""
    made = _FUNCTIONS.get(name.lower())
    texts = arguments[1:]
    if made is None or not texts or not all(isinstance(each, Literal) for each in texts):
        return None
    return made(*arguments)
