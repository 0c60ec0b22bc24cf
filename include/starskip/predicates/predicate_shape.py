"""The shape of a predicate: its text without literals, independent of the order of AND and OR."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet, nodes

SIGNS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "In": "IN",
    "Add": "+",
    "Subtract": "-",
    "Multiply": "*",
    "Divide": "/",
    "Remainder": "%",
}
"""Operators between two arguments, by the calls' names."""
_PATTERNS = {"StartsWith": "'?%'", "EndsWith": "'%?'", "Contains": "'%?%'"}
_MAX_CHARACTERS = 10_000
"""Longer shapes are cut: they are generated, and their beginnings differ."""


def predicate_skeleton(predicate: Expression) -> str:
    """Return the shape as text: ``l_orderkey IN (?) AND l_shipdate >= ?``."""
    return _text(predicate)[:_MAX_CHARACTERS]


def shape_id(table: str, skeleton: str) -> str:
    """Return 16 hexadecimal digits that identify a table's shape."""
    return hashlib.blake2b(f"{table}\0{skeleton}".encode("utf-8", "replace"), digest_size=8).hexdigest()


def _text(expression: Expression) -> str:
    if isinstance(expression, Column):
        return column_name(expression.path)
    if isinstance(expression, Literal):
        return "?"
    if isinstance(expression, LiteralSet):
        return "(?)"
    name, operands = expression.name, expression.arguments
    if name in ("And", "Or"):
        return _chain(expression)
    if name == "Not" and len(operands) == 1:
        return f"NOT {_inner(operands[0])}"
    if name in ("IsNull", "IsNotNull") and len(operands) == 1:
        return f"{_inner(operands[0])} IS {'NOT ' if name == 'IsNotNull' else ''}NULL"
    if name in SIGNS and len(operands) == 2:
        return f"{_inner(operands[0])} {SIGNS[name]} {_inner(operands[1])}"
    if name in _PATTERNS and len(operands) == 2 and isinstance(operands[1], Literal):
        return f"{_inner(operands[0])} LIKE {_PATTERNS[name]}"
    if name == "Like" and len(operands) == 3:
        return f"{_inner(operands[0])} LIKE {_inner(operands[1])}"
    return f"{_function(name)}{', '.join(map(_text, operands))})"


def _inner(expression: Expression) -> str:
    text = _text(expression)
    is_plain = not isinstance(expression, Call) or text.startswith(_function(expression.name))
    return text if is_plain else f"({text})"


def _function(name: str) -> str:
    return f"{name.removeprefix('udf:')}("


def _chain(chain: Call) -> str:
    operands = list(_operands(chain))
    if chain.name == "And":
        # Spark adds IS NOT NULL to compared columns: the shape is the same with it and without it.
        asked = {
            column
            for operand in operands
            if _known_column(operand) is None
            for column in nodes(operand)
            if isinstance(column, Column)
        }
        operands = [operand for operand in operands if _known_column(operand) not in asked]
    texts = sorted({_inner(operand) if _is_chain(operand) else _text(operand) for operand in operands})
    return f" {chain.name.upper()} ".join(texts) or "?"


def _operands(chain: Call) -> Iterator[Expression]:
    waiting: list[Expression] = [chain]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Call) and each.name == chain.name:
            waiting.extend(reversed(each.arguments))
        else:
            yield each


def _is_chain(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.name in ("And", "Or")


def _known_column(expression: Expression) -> Column | None:
    """Return the column of ``IsNotNull(column)``, None for another expression."""
    if isinstance(expression, Call) and expression.name == "IsNotNull" and len(expression.arguments) == 1:
        return expression.left if isinstance(expression.left, Column) else None
    return None
