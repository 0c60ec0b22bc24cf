"""Short ways to write predicates over one column ``c`` of texts, numbers or times."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from skipping_law.predicates import TYPES
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet

OPERATORS = {
    "=": "EqualTo",
    "<=>": "EqualNullSafe",
    "<": "LessThan",
    "<=": "LessThanOrEqual",
    ">": "GreaterThan",
    ">=": "GreaterThanOrEqual",
    "starts with": "StartsWith",
    "ends with": "EndsWith",
    "contains": "Contains",
    "like": "Like",
}


def compared(operator: str, value: Any, data_type: str = "string") -> Expression:
    """``c operator value``; the value of IN is a list."""
    kind = TYPES[data_type][0]
    column = Column(("c",), data_type)
    if operator == "in":
        return Call("In", (column, LiteralSet(pa.array(value, kind))))
    return Call(OPERATORS[operator], (column, Literal(pa.scalar(value, kind))))


def negated(expression: Expression) -> Expression:
    return Call("Not", (expression,))


def is_null(data_type: str = "string") -> Expression:
    return Call("IsNull", (Column(("c",), data_type),))


def is_not_null(data_type: str = "string") -> Expression:
    return Call("IsNotNull", (Column(("c",), data_type),))
