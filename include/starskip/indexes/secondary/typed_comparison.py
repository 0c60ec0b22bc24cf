"""Compare a column with a literal of another type as Spark does, by a literal of the column's own type.

``a < 2.5`` of whole numbers is ``a <= 2``; ``f = 0.1`` of floats, which Spark compares as doubles, never
holds. Where Spark casts the column to doubles, the values of it that become a double are a range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.errors import UnsupportedQuery, printable
from starskip.indexes.secondary.literal_values import (
    Value,
    date_of_text,
    double_of_text,
    refused,
    time_of_text,
    whole_of_text,
)
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COMPARED = (
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_binary,
    pa.types.is_date32,
    pa.types.is_timestamp,
    pa.types.is_signed_integer,
    pa.types.is_decimal128,
    pa.types.is_float32,
    pa.types.is_float64,
)


def typed_comparison(name: str, column: Column, kind: pa.DataType, value: Value) -> Expression:
    """Return ``column name value`` with a literal of the column's type, null where Spark's answer is.

    Raises UnsupportedQuery where the types cannot be compared.
    """
    _require_compared(column, kind)
    if value is None:
        return Call(name, (column, Literal(pa.scalar(None, kind))))
    if _has_exact_numbers(kind) and (pa.types.is_decimal(kind) and isinstance(value, str)):
        value = _double_of_text(column, value)
    if _has_exact_numbers(kind) and isinstance(value, float):
        return _as_doubles(name, column, kind, value)
    exact = _exact(column, kind, value)
    if exact is not None:
        return Call(name, (column, Literal(exact)))
    never, always = _never(column, kind), _always(column, kind)
    if name == "EqualTo":
        return never
    if name == "EqualNullSafe":
        return Call("And", (Call("IsNotNull", (column,)), never))
    below = _below(column, kind, value)
    # Between two values of the type: at most the lower one, or above it.
    if name.startswith("Less"):
        return never if below is None else Call("LessThanOrEqual", (column, Literal(below)))
    return always if below is None else Call("GreaterThan", (column, Literal(below)))


def typed_membership(column: Column, kind: pa.DataType, values: Sequence[Value]) -> Expression:
    """Return ``column IN (values)``; values that the type cannot hold are never equal."""
    _require_compared(column, kind)
    known: list[Value] = [value for value in values if value is not None]
    has_null = len(known) < len(values)
    if _has_exact_numbers(kind):
        known = _of_one_type(column, kind, known)
    found: list[pa.Scalar] = []
    ranges: list[Expression] = []
    for value in known:
        if _has_exact_numbers(kind) and isinstance(value, float):
            first, after = _doubles_like(kind, value)
            if after - first == 1:
                found.append(_scalar(kind, first, _scale(kind)))
            elif after > first:
                ranges.append(_as_doubles("EqualTo", column, kind, value))
        elif (exact := _exact(column, kind, value)) is not None:
            found.append(exact)
    if known and not found and not has_null:
        return reduce(_either, ranges) if ranges else _never(column, kind)
    literals = pa.array([each.as_py() for each in found], kind)
    listed = Call("In", (column, LiteralSet(literals, has_null=has_null)))
    return reduce(_either, [listed, *ranges])


def _either(one: Expression, other: Expression) -> Expression:
    return Call("Or", (one, other))


def _require_compared(column: Column, kind: pa.DataType) -> None:
    if not any(is_of(kind) for is_of in _COMPARED):
        raise refused(
            f"{column_name(column.path)} is {printable(column.data_type, 100)}, whose values are not "
            "compared here; IS NULL is evaluated"
        )


def _has_exact_numbers(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _of_one_type(column: Column, kind: pa.DataType, values: Sequence[Value]) -> list[Value]:
    """Return the values of an IN as Spark compares them: doubles if one is, or if texts are by decimals."""
    has_text = any(isinstance(each, str) for each in values)
    has_decimal = pa.types.is_decimal(kind) or any(isinstance(each, Decimal) for each in values)
    if not (any(isinstance(each, float) for each in values) or (has_text and has_decimal)):
        return list(values)
    return [
        _double_of_text(column, each)
        if isinstance(each, str)
        else float(_of((int, float, Decimal), column, each))
        for each in values
    ]


def _as_doubles(name: str, column: Column, kind: pa.DataType, value: float) -> Expression:
    """Compare whole numbers or decimals, cast to doubles, with a double."""
    first, after = _doubles_like(kind, value)
    scale = _scale(kind)
    _, high = _limits(kind)

    def is_below(unscaled: int) -> Expression:
        return (
            _always(column, kind)
            if unscaled > high
            else Call("LessThan", (column, Literal(_scalar(kind, unscaled, scale))))
        )

    def is_at_least(unscaled: int) -> Expression:
        return (
            _never(column, kind)
            if unscaled > high
            else Call("GreaterThanOrEqual", (column, Literal(_scalar(kind, unscaled, scale))))
        )

    match name:
        case "LessThan":
            return is_below(first)
        case "LessThanOrEqual":
            return is_below(after)
        case "GreaterThan":
            return is_at_least(after)
        case "GreaterThanOrEqual":
            return is_at_least(first)
    if after - first == 1:
        return Call(name, (column, Literal(_scalar(kind, first, scale))))
    same: Expression = _never(column, kind)
    if after > first:
        same = Call("And", (is_at_least(first), is_below(after)))
    return Call("And", (Call("IsNotNull", (column,)), same)) if name == "EqualNullSafe" else same


def _doubles_like(kind: pa.DataType, value: float) -> tuple[int, int]:
    """Return the first unscaled value that is at least ``value`` as a double, and the first that is above."""
    divisor = 10 ** _scale(kind)
    low, high = _limits(kind)

    def first(reaches: Callable[[float], bool]) -> int:
        least, most = low, high + 1
        while least < most:
            middle = (least + most) // 2
            if reaches(middle / divisor):
                most = middle
            else:
                least = middle + 1
        return least

    # NaN is above all numbers.
    return first(lambda double: double >= value), first(lambda double: double > value)


def _exact(column: Column, kind: pa.DataType, value: Any) -> pa.Scalar | None:
    """Return the value in the column's type, None if that has no such value."""
    if pa.types.is_boolean(kind):
        return pa.scalar(_of(bool, column, value), kind)
    if pa.types.is_string(kind):
        return pa.scalar(_of(str, column, value), kind)
    if pa.types.is_binary(kind):
        return pa.scalar(value.encode() if isinstance(value, str) else _of(bytes, column, value), kind)
    if pa.types.is_date32(kind):
        return pa.scalar(_as_date(column, value), kind)
    if pa.types.is_timestamp(kind):
        return pa.scalar(_as_time(column, kind, value), kind)
    number = _number(column, kind, value)
    if not pa.types.is_floating(kind):
        return _whole_or_decimal(kind, Fraction(number))
    # Spark compares floats with numbers of any other type as doubles.
    double = float(number)
    if kind == pa.float64() or math.isnan(double):
        return pa.scalar(double, kind)
    return pa.scalar(_float32(double), kind) if float(_float32(double)) == double else None


def _number(column: Column, kind: pa.DataType, value: Any) -> Any:
    """Return a number; of a text the double, or by whole numbers the whole number, that it is cast to."""
    if not isinstance(value, str):
        return _of((int, float, Decimal), column, value)
    found = double_of_text(value) if pa.types.is_floating(kind) else whole_of_text(value)
    if found is None:
        raise _mismatch(column, value)
    return found


def _double_of_text(column: Column, text: str) -> float:
    found = double_of_text(text)
    if found is None:
        raise _mismatch(column, text)
    return found


def _whole_or_decimal(kind: pa.DataType, number: Fraction) -> pa.Scalar | None:
    scale = _scale(kind)
    unscaled = number * 10**scale
    low, high = _limits(kind)
    if unscaled.denominator != 1 or not low <= unscaled <= high:
        return None
    return _scalar(kind, int(unscaled), scale)


def _below(column: Column, kind: pa.DataType, value: Any) -> pa.Scalar | None:
    """Return the greatest value of the type below one that it has not; None if there is none."""
    number = _number(column, kind, value)
    if pa.types.is_floating(kind):
        double = float(number)
        near = _float32(double)
        if float(near) > double:
            near = np.nextafter(near, np.float32(-np.inf))
        return pa.scalar(near, kind)
    unscaled = math.floor(Fraction(number) * 10 ** _scale(kind))
    low, high = _limits(kind)
    return None if unscaled < low else _scalar(kind, min(unscaled, high), _scale(kind))


def _float32(double: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(double)


def _never(column: Column, kind: pa.DataType) -> Expression:
    return Call("LessThan", (column, Literal(_least(kind))))


def _always(column: Column, kind: pa.DataType) -> Expression:
    return Call("GreaterThanOrEqual", (column, Literal(_least(kind))))


def _scale(kind: pa.DataType) -> int:
    return kind.scale if pa.types.is_decimal(kind) else 0


def _least(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_floating(kind):
        return pa.scalar(-math.inf, kind)
    return _scalar(kind, _limits(kind)[0], _scale(kind))


def _limits(kind: pa.DataType) -> tuple[int, int]:
    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        return -most, most
    most = 2 ** (kind.bit_width - 1)
    return -most, most - 1


def _scalar(kind: pa.DataType, unscaled: int, scale: int) -> pa.Scalar:
    if pa.types.is_decimal(kind):
        sign, digits = int(unscaled < 0), tuple(map(int, str(abs(unscaled))))
        return pa.scalar(Decimal((sign, digits, -scale)), kind)
    return pa.scalar(unscaled, kind)


def _as_date(column: Column, value: Any) -> date:
    if isinstance(value, str):
        return date_of_text(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise _mismatch(column, value)


def _as_time(column: Column, kind: pa.DataType, value: Any) -> int:
    """Return microseconds since the epoch; texts without a zone are of UTC."""
    if isinstance(value, str):
        value = time_of_text(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise _mismatch(column, value)
    if kind.tz is None and value.tzinfo is not None:
        raise refused(f"{column_name(column.path)} has no time zone: write the time without one")
    moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _of(kinds: Any, column: Column, value: Any) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise _mismatch(column, value)
    return value


def _mismatch(column: Column, value: Any) -> UnsupportedQuery:
    shown = printable(repr(value), 100)
    return refused(f"{column_name(column.path)} is {column.data_type} and not compared with {shown}")
