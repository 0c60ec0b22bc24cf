"""Weaken a condition to the predicates that entries answer exactly as Spark does when it reads the files.

The keys are values as Arrow reads them. Spark may read a file otherwise: numbers as a wider type, or times
before 1900 in another calendar. A predicate that could then hold for other rows becomes unknown, and no path
serves it. A mapped function (``skipping.user_functions``) becomes its implication.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet, nodes
from starskip.skipping.user_functions import implied_by_function

UNKNOWN = Call("Unknown")
_CONNECTIVES = frozenset({"And", "Or", "Not"})
_DISTANCES = frozenset({"LessThan", "LessThanOrEqual", "EqualTo"})
_FIRST_SURE_YEAR = 1901
"""From then on calendars and time zones of old files no longer matter."""


def sure_predicates(
    condition: Expression, types: Mapping[tuple[str, ...], pa.DataType], *, of_functions: bool = True
) -> Expression:
    """Return the condition with its unsure predicates weaker or unknown; ``types``: of keys, by path.

    ``of_functions``: whether a function's implication may stand for it, which is wrong within a NOT.
    """
    if isinstance(condition, Call) and condition.name in _CONNECTIVES:
        may_weaken = of_functions and condition.name != "Not"
        parts = (sure_predicates(each, types, of_functions=may_weaken) for each in condition.arguments)
        return Call(condition.name, tuple(parts))
    if _is_sure(condition, types):
        return condition
    implied = implied_by_function(condition) if of_functions else None
    return UNKNOWN if implied is None else sure_predicates(implied, types, of_functions=False)


def _is_sure(predicate: Expression, types: Mapping[tuple[str, ...], pa.DataType]) -> bool:
    columns = {each.path for each in nodes(predicate) if isinstance(each, Column)}
    kind = types.get(next(iter(columns), ()))
    if len(columns) != 1 or kind is None or not isinstance(predicate, Call | Column):
        return False
    if isinstance(predicate, Column):
        return True
    if predicate.name in _DISTANCES and any(isinstance(each, Call) for each in predicate.arguments):
        return _is_edit_distance(predicate)
    return all(isinstance(each, Column) or _is_of(each, kind) for each in predicate.arguments)


def _is_edit_distance(predicate: Call) -> bool:
    call = predicate.left
    # With a third argument the distance is -1 beyond that argument.
    return isinstance(call, Call) and call.name == "Levenshtein" and len(call.arguments) == 2


def _is_of(literal: Expression, kind: pa.DataType) -> bool:
    match literal:
        case Literal(value=value):
            return _same_order(value.type, kind) and _is_recent(value.as_py())
        case LiteralSet(values=values):
            return _same_order(values.type, kind) and all(map(_is_recent, values.to_pylist()))
    return False


def _same_order(literal: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether values of two types compare without a cast that changes them."""
    if pa.types.is_integer(literal) and pa.types.is_integer(kind):
        return True
    if pa.types.is_timestamp(literal) and pa.types.is_timestamp(kind):
        return True
    if pa.types.is_decimal(literal) and pa.types.is_decimal(kind):
        return bool(literal.scale == kind.scale)
    return bool(literal.equals(kind))


def _is_recent(value: Any) -> bool:
    return not isinstance(value, date | datetime) or value.year >= _FIRST_SURE_YEAR
