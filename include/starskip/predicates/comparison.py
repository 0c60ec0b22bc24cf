"""Normalise predicates that compare one column with literals, NOT included.

Rows satisfy them as in Spark: null satisfies IS NULL alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa

from starskip.predicates.data_types import is_collated
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet


class ComparisonOperator(Enum):
    """The operators of comparisons; IN with one value is equality."""

    IN = "in"
    BELOW = "<"
    AT_MOST = "<="
    AT_LEAST = ">="
    ABOVE = ">"
    IS_NULL = "is null"
    IS_NOT_NULL = "is not null"
    STARTS_WITH = "starts with"
    ENDS_WITH = "ends with"
    CONTAINS = "contains"
    LIKE = "like"


@dataclass(frozen=True, slots=True)
class Comparison:
    """``column`` ``operator`` ``values``, or its NOT; ``values`` has no null.

    IN has any number of values, IS NULL none, the others one. ``negated`` is set for IN and the text
    operators only: NOT of an order comparison or a null test becomes the opposite operator.
    """

    column: Column
    operator: ComparisonOperator
    values: pa.Array
    negated: bool = False
    escape: str = "\\"

    @property
    def text(self) -> str:
        """The value of a text operator."""
        return str(self.values[0].as_py())


_ORDERED = {
    "LessThan": ComparisonOperator.BELOW,
    "LessThanOrEqual": ComparisonOperator.AT_MOST,
    "GreaterThanOrEqual": ComparisonOperator.AT_LEAST,
    "GreaterThan": ComparisonOperator.ABOVE,
}
_MIRRORED = {
    ComparisonOperator.BELOW: ComparisonOperator.ABOVE,
    ComparisonOperator.AT_MOST: ComparisonOperator.AT_LEAST,
    ComparisonOperator.AT_LEAST: ComparisonOperator.AT_MOST,
    ComparisonOperator.ABOVE: ComparisonOperator.BELOW,
}
_OPPOSITE = {
    ComparisonOperator.BELOW: ComparisonOperator.AT_LEAST,
    ComparisonOperator.AT_MOST: ComparisonOperator.ABOVE,
    ComparisonOperator.AT_LEAST: ComparisonOperator.BELOW,
    ComparisonOperator.ABOVE: ComparisonOperator.AT_MOST,
    ComparisonOperator.IS_NULL: ComparisonOperator.IS_NOT_NULL,
    ComparisonOperator.IS_NOT_NULL: ComparisonOperator.IS_NULL,
}
_OF_TEXTS = {
    "StartsWith": ComparisonOperator.STARTS_WITH,
    "EndsWith": ComparisonOperator.ENDS_WITH,
    "Contains": ComparisonOperator.CONTAINS,
    "Like": ComparisonOperator.LIKE,
}
_NULL_TESTS = {"IsNull": ComparisonOperator.IS_NULL, "IsNotNull": ComparisonOperator.IS_NOT_NULL}


def compared(node: Expression) -> tuple[Expression, ...]:
    """Return the operands of a node, or of the node below NOT."""
    plain = node.left if isinstance(node, Call) and node.name == "Not" else node
    return plain.arguments if isinstance(plain, Call) else (plain,)


def comparison_of(node: Expression) -> Comparison | None:
    """Return ``node`` as a comparison, None if it is no comparison."""
    if not isinstance(node, Call) or node.name != "Not":
        return _plain(node)
    found = _plain(node.left)
    # NOT (c <=> v) holds for null, too.
    if found is None or (isinstance(node.left, Call) and node.left.name == "EqualNullSafe"):
        return None
    if found.operator in _OPPOSITE:
        return Comparison(found.column, _OPPOSITE[found.operator], found.values)
    if isinstance(node.left, Column):
        return Comparison(found.column, ComparisonOperator.IN, pa.array([False]))
    if isinstance(node.left, Call) and node.left.name == "In" and not _negatable(node.left.right):
        return None
    return Comparison(found.column, found.operator, found.values, negated=True, escape=found.escape)


def _plain(node: Expression) -> Comparison | None:
    if isinstance(node, Column):
        return (
            Comparison(node, ComparisonOperator.IN, pa.array([True])) if node.data_type == "boolean" else None
        )
    if not isinstance(node, Call) or not node.arguments:
        return None
    if node.name in _NULL_TESTS and isinstance(node.left, Column):
        return Comparison(node.left, _NULL_TESTS[node.name], pa.nulls(0))
    return next((made for each in _READERS if len(node.arguments) > 1 and (made := each(node))), None)


def _equality(node: Call) -> Comparison | None:
    if node.name not in ("EqualTo", "EqualNullSafe"):
        return None
    return _sides(node, ComparisonOperator.IN, ComparisonOperator.IN)


def _order(node: Call) -> Comparison | None:
    operator = _ORDERED.get(node.name)
    return _sides(node, operator, _MIRRORED[operator]) if operator else None


def _membership(node: Call) -> Comparison | None:
    if node.name == "In" and isinstance(node.left, Column) and isinstance(node.right, LiteralSet):
        return _made(node.left, ComparisonOperator.IN, node.right.values.drop_null())
    return None


def _text(node: Call) -> Comparison | None:
    operator = _OF_TEXTS.get(node.name)
    if operator is None or not isinstance(node.left, Column) or not isinstance(node.right, Literal):
        return None
    escape = "\\"
    if len(node.arguments) > 2:
        third = node.arguments[2]
        if not isinstance(third, Literal) or not isinstance(third.python, str):
            return None
        escape = third.python
    if not isinstance(node.right.python, str):
        return None
    return _made(node.left, operator, pa.array([node.right.value]), escape)


_READERS: tuple[Callable[[Call], Comparison | None], ...] = (_equality, _order, _membership, _text)


def _sides(node: Call, operator: ComparisonOperator, mirrored: ComparisonOperator) -> Comparison | None:
    column, literal = node.left, node.right
    if isinstance(column, Literal):
        column, literal, operator = literal, column, mirrored
    if not isinstance(column, Column) or not isinstance(literal, Literal) or not literal.value.is_valid:
        return None
    return _made(column, operator, pa.array([literal.value]))


def _made(
    column: Column, operator: ComparisonOperator, values: pa.Array, escape: str = "\\"
) -> Comparison | None:
    if is_collated(column.data_type):
        return None
    return Comparison(column, operator, values, escape=escape)


def _negatable(values: Expression) -> bool:
    # NOT IN () holds for null, too; NOT IN (…, NULL) never holds.
    return isinstance(values, LiteralSet) and not values.has_null and len(values.values) > 0


def comparison_of_function(
    node: Expression, is_function: Callable[[Call], bool], data_type: str
) -> tuple[Comparison, Call] | None:
    """Return a comparison of a function's value, as if the value were a column, with the call."""
    inner = node.left if isinstance(node, Call) and node.name == "Not" else node
    if not isinstance(inner, Call):
        return None
    for each in inner.arguments:
        if isinstance(each, Call) and is_function(each):
            value = Column((each.name,), data_type)
            compared = Call(inner.name, tuple(value if one is each else one for one in inner.arguments))
            found = comparison_of(compared if inner is node else Call("Not", (compared,)))
            return None if found is None else (found, each)
    return None
