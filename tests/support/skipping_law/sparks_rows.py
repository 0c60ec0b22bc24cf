"""Spark's semantics row by row: the order of values, predicates in three-valued logic.

The oracle of the laws of index types: written from Spark's documentation, sharing nothing with the code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet

Row = Mapping[str, Any]
Functions = Mapping[str, Callable[..., Any]]


def order_key(value: Any) -> Any:
    """NaN above all floats and equal to itself, -0.0 as 0.0, texts by UTF-8 bytes."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    if isinstance(value, str):
        return value.encode()
    return value


def evaluate(node: Expression, row: Row, functions: Functions) -> Any:
    """The value of an expression for a row, None for null."""
    if isinstance(node, Column):
        return row[".".join(node.path)]
    if isinstance(node, Literal):
        return node.python
    assert isinstance(node, Call)
    name, arguments = node.name, node.arguments
    if name == "In":
        return _in(evaluate(arguments[0], row, functions), arguments[1])
    values = [evaluate(each, row, functions) for each in arguments]
    if name in ("And", "Or"):
        absorbing = name == "Or"
        if absorbing in values:
            return absorbing
        return None if None in values else not absorbing
    if name == "IsNull":
        return values[0] is None
    if name == "IsNotNull":
        return values[0] is not None
    if name == "EqualNullSafe":
        return order_key(values[0]) == order_key(values[1])
    if name.startswith("udf:"):
        return functions[name](*values)
    if any(each is None for each in values):
        return None
    return _STRICT[name](*values)


def satisfied(node: Expression, row: Row, functions: Functions) -> bool:
    return evaluate(node, row, functions) is True


def _in(value: Any, literals: Expression) -> bool | None:
    assert isinstance(literals, LiteralSet)
    if not len(literals.values) and not literals.has_null:
        return False
    if value is None:
        return None
    if order_key(value) in {order_key(each) for each in literals.values.to_pylist()}:
        return True
    return None if literals.has_null else False


def like(value: str, pattern: str, escape: str = "\\") -> bool:
    expression, at = "", 0
    while at < len(pattern):
        if pattern[at] == escape:
            at += 1
            expression += re.escape(pattern[at])
        elif pattern[at] in "%_":
            expression += {"%": ".*", "_": "."}[pattern[at]]
        else:
            expression += re.escape(pattern[at])
        at += 1
    return re.fullmatch(expression, value, re.DOTALL) is not None


def levenshtein(left: str, right: str) -> int:
    before = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        now = [i]
        for j, b in enumerate(right, 1):
            now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (a != b)))
        before = now
    return before[-1]


_STRICT: dict[str, Callable[..., Any]] = {
    "Not": lambda value: not value,
    "EqualTo": lambda left, right: order_key(left) == order_key(right),
    "LessThan": lambda left, right: order_key(left) < order_key(right),
    "LessThanOrEqual": lambda left, right: order_key(left) <= order_key(right),
    "GreaterThan": lambda left, right: order_key(left) > order_key(right),
    "GreaterThanOrEqual": lambda left, right: order_key(left) >= order_key(right),
    "StartsWith": lambda value, prefix: value.startswith(prefix),
    "EndsWith": lambda value, suffix: value.endswith(suffix),
    "Contains": lambda value, infix: infix in value,
    "Like": like,
    "Length": len,
    "Levenshtein": levenshtein,
}
