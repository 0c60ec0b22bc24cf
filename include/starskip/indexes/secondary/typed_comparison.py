"""Compare a column with a literal of another type as Spark does, by a literal of the column's own type.

``a < 2.5`` of whole numbers is ``a <= 2``; ``f = 0.1`` of floats, which Spark compares as doubles, never
holds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet

Value = bool | int | float | Decimal | str | bytes | date | datetime | None
_REASON = "where"
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?")
_EXACT_WHOLE = 2**53
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def literal_value(node: exp.Expression) -> Value:
    """Return the value of a literal; UnsupportedQuery for any other node."""
    match node:
        case exp.Paren():
            return literal_value(node.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Neg():
            value = literal_value(node.this)
            if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
                return -value
        case exp.Literal():
            return _text_value(node.this) if node.is_string else _number(node.this)
        case exp.HexString():
            return bytes.fromhex(node.this) if isinstance(node.this, str) else None
        case exp.Cast() | exp.TsOrDsToDate() | exp.Date() | exp.Timestamp():
            return _cast(node)
    raise _refused(
        f"{printable(node.sql(dialect='spark'), 200)}: is no literal; compare a column with literals"
    )


def typed_comparison(name: str, column: Column, kind: pa.DataType, value: Value) -> Expression:
    """Return ``column name value`` with a literal of the column's type, null where Spark's answer is.

    Raises UnsupportedQuery where the types cannot be compared, or Spark would round each row's value.
    """
    if value is None:
        return Call(name, (column, Literal(pa.scalar(None, kind))))
    exact = _exact(column, kind, value)
    if exact is not None:
        return Call(name, (column, Literal(exact)))
    least = Literal(_least(kind))
    never, always = Call("LessThan", (column, least)), Call("GreaterThanOrEqual", (column, least))
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
    known = [value for value in values if value is not None]
    found = [each for value in known if (each := _exact(column, kind, value)) is not None]
    if known and not found and len(known) == len(values):
        return Call("LessThan", (column, Literal(_least(kind))))
    literals = pa.array([each.as_py() for each in found], kind)
    return Call("In", (column, LiteralSet(literals, has_null=len(known) < len(values))))


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
    if isinstance(value, str):
        # Spark casts the text to the column's type, a fraction for whole numbers to an error.
        value = _number_of_text(column, value)
    number = _of((int, float, Decimal), column, value)
    if pa.types.is_floating(kind):
        return _floating(kind, number)
    if isinstance(number, float):
        if not math.isfinite(number):
            return None
        if pa.types.is_decimal(kind) or abs(number) >= _EXACT_WHOLE:
            raise _refused(
                f"{column_name(column.path)} is {column.data_type} and {number!r} a double: write {number:f}"
            )
    return _whole_or_decimal(kind, Fraction(number))


def _whole_or_decimal(kind: pa.DataType, number: Fraction) -> pa.Scalar | None:
    scale = kind.scale if pa.types.is_decimal(kind) else 0
    unscaled = number * 10**scale
    low, high = _limits(kind)
    if unscaled.denominator != 1 or not low <= unscaled <= high:
        return None
    return _scalar(kind, int(unscaled), scale)


def _below(column: Column, kind: pa.DataType, value: Any) -> pa.Scalar | None:
    """Return the greatest value of the type below one that it has not; None if there is none."""
    number = value
    if isinstance(value, str):
        number = _number_of_text(column, value)
    if pa.types.is_floating(kind):
        near = np.float32(number)
        if float(near) > number:
            near = np.nextafter(near, np.float32(-np.inf))
        return pa.scalar(near, kind)
    if isinstance(number, float) and not math.isfinite(number):
        # NaN is above all numbers.
        return None if number == -math.inf else _scalar(kind, _limits(kind)[1], _scale(kind))
    unscaled = math.floor(Fraction(number) * 10 ** _scale(kind))
    low, high = _limits(kind)
    return None if unscaled < low else _scalar(kind, min(unscaled, high), _scale(kind))


def _floating(kind: pa.DataType, number: Any) -> pa.Scalar | None:
    # Spark compares floats with decimals and doubles as doubles.
    double = float(number)
    if kind == pa.float64() or math.isnan(double):
        if isinstance(number, int) and int(double) != number:
            raise _refused(f"{number} is no double: write a number that is one")
        return pa.scalar(double, kind)
    if isinstance(number, int):
        # A whole number becomes a float, as the column is.
        return pa.scalar(np.float32(number), kind)
    return pa.scalar(np.float32(double), kind) if float(np.float32(double)) == double else None


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
    if isinstance(value, str) and _DATE.fullmatch(value.strip()):
        return _parsed_date(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise _mismatch(column, value)


def _as_time(column: Column, kind: pa.DataType, value: Any) -> int:
    """Return microseconds since the epoch; texts without a zone are of UTC."""
    if isinstance(value, str):
        value = _parsed_time(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise _mismatch(column, value)
    if kind.tz is None and value.tzinfo is not None:
        raise _refused(f"{column_name(column.path)} has no time zone: write the time without one")
    moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _cast(node: exp.Expression) -> Value:
    """Return the value of DATE'…', TIMESTAMP'…' and of a CAST of a text to them or to a number."""
    text = literal_value(node.this)
    wanted = node.args.get("to")
    name = wanted.this.value.upper() if isinstance(wanted, exp.DataType) else type(node).__name__.upper()
    if isinstance(text, str):
        if name in ("DATE", "TSORDSTODATE"):
            return _parsed_date(text)
        if name.startswith("TIMESTAMP"):
            return _parsed_time(text)
        if name in ("DOUBLE", "FLOAT"):
            return float(text)
    if isinstance(text, (int, float, Decimal)) and not isinstance(text, bool) and name == "DOUBLE":
        return float(text)
    if (
        isinstance(text, (int, Decimal))
        and not isinstance(text, bool)
        and name in ("DECIMAL", "BIGINT", "INT")
    ):
        return text
    raise _refused(f"{printable(node.sql(dialect='spark'), 200)}: is no literal that is evaluated here")


def _parsed_date(text: str) -> date:
    try:
        year, month, day = (int(part) for part in text.strip().split("-"))
        return date(year, month, day)
    except ValueError:
        raise _refused(f"{printable(text, 100)!r} is no date: write 2026-11-23") from None


def _parsed_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise _refused(f"{printable(text, 100)!r} is no time: write 2026-11-23 17:00:00") from None


def _text_value(text: str) -> str:
    return text


def _number(text: str) -> Value:
    """Return whole numbers, decimals, and doubles, which have an exponent, as Spark reads them."""
    if text.isdecimal():
        return int(text)
    return float(text) if "e" in text.lower() else Decimal(text)


def _number_of_text(column: Column, text: str) -> Value:
    try:
        found = Decimal(text.strip())
    except ArithmeticError:
        found = Decimal("NaN")
    if column.data_type in ("float", "double"):
        try:
            return float(text)
        except ValueError:
            raise _mismatch(column, text) from None
    if not found.is_finite() or (found != int(found) and not column.data_type.startswith("decimal")):
        raise _mismatch(column, text)
    return int(found) if found == int(found) else found


def _of(kinds: Any, column: Column, value: Any) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise _mismatch(column, value)
    return value


def _mismatch(column: Column, value: Any) -> UnsupportedQuery:
    shown = printable(repr(value), 100)
    return _refused(f"{column_name(column.path)} is {column.data_type} and not compared with {shown}")


def _refused(message: str) -> UnsupportedQuery:
    return UnsupportedQuery(message, reason=_REASON)
