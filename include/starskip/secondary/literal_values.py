"""Read the literals of a WHERE, each as a value of the type of the column that it is compared with.

A literal of another type is refused, because Spark would cast it, or the column in every row. These literals
need no cast of the column: a whole number beside decimals and doubles, a decimal beside doubles, a text or a
date beside dates and times. Spark compares floats as doubles, so a literal beside floats must be exactly a
float.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Column, Literal, LiteralSet

Value = bool | int | float | Decimal | str | bytes | date | datetime | None
REASON = "where"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_DECIMAL = 38
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?")
_TIME_TYPES = ("timestamp", "timestampltz", "timestamptz", "timestampntz")
_ACCEPTED: tuple[tuple[Callable[[pa.DataType], bool], tuple[type, ...], str], ...] = (
    (pa.types.is_boolean, (bool,), "true or false"),
    (pa.types.is_string, (str,), "a text such as 'x'"),
    (pa.types.is_binary, (bytes,), "bytes such as X'1F'"),
    (pa.types.is_date32, (date, str), "DATE '2026-01-01'"),
    (pa.types.is_timestamp, (datetime, date, str), "TIMESTAMP '2026-01-01 17:00:00'"),
    (pa.types.is_signed_integer, (int,), "a whole number of its range, such as 7"),
    (pa.types.is_decimal128, (int, Decimal), "a number with no more digits than it has, such as 7"),
    (pa.types.is_float32, (int, float, Decimal), "a number that floats have, such as 0.5"),
    (pa.types.is_float64, (int, float, Decimal), "a number such as 0.5"),
)
"""Types that are compared, the Python types of their literals, and how a user writes a literal."""


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
            if isinstance(value, Decimal):
                # The operator would round to the digits of the context.
                return value.copy_negate()
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return -value
        case exp.Literal():
            return str(node.this) if node.is_string else _number(node.this)
        case exp.RawString():
            return str(node.this)
        case exp.Concat():
            parts = [literal_value(each) for each in node.expressions]
            if all(isinstance(each, str) for each in parts):
                return "".join(map(str, parts))
        case exp.HexString():
            digits = str(node.this)
            return bytes.fromhex("0" * (len(digits) % 2) + digits)
        case exp.Cast():
            return _moment(node)
    raise refused(
        f"{printable(node.sql(dialect='spark'), 200)}: is no literal; compare a column with literals"
    )


def typed_literal(column: Column, kind: pa.DataType, value: Value) -> Literal:
    """Return a value as a literal of the column's type; UnsupportedQuery where the type has no such value."""
    for is_of, types, written in _ACCEPTED:
        if is_of(kind):
            found = _scalar(kind, value) if value is None or type(value) in types else None
            if found is None:
                raise _mismatch(column, kind, value, written)
            return Literal(found)
    raise refused(
        f"{column_name(column.path)} is {printable(column.data_type, 100)}, whose values are not "
        "compared here; IS NULL is evaluated"
    )


def typed_literals(column: Column, kind: pa.DataType, values: Sequence[Value]) -> LiteralSet:
    """Return the values of an IN as literals of the column's type."""
    literals = [typed_literal(column, kind, value).value for value in values]
    known = [each.as_py() for each in literals if each.is_valid]
    return LiteralSet(pa.array(known, kind), has_null=len(known) < len(values))


def refused(message: str) -> UnsupportedQuery:
    """Return the error for a condition that is not evaluated here."""
    return UnsupportedQuery(message, reason=REASON)


def _number(text: str) -> Value:
    """Return whole numbers, decimals, and doubles, which have an exponent, as Spark reads them."""
    if "e" in text.lower():
        found = float(text)
        if not math.isfinite(found):
            raise refused(f"{printable(text, 100)}: is beyond the doubles")
        return found
    if len(text.replace(".", "").lstrip("0")) > _LONGEST_DECIMAL:
        raise refused(f"{printable(text, 100)}: has more than {_LONGEST_DECIMAL} digits")
    return int(text) if text.isdecimal() else Decimal(text)


def _moment(node: exp.Cast) -> date | datetime:
    """Return the value of DATE'…' or TIMESTAMP'…', a Cast of sqlglot's; CAST and 0.1F are its TryCast."""
    text = node.this
    is_of_text = isinstance(text, exp.Literal) and text.is_string and not isinstance(node, exp.TryCast)
    if not is_of_text or not node.is_type("date", *_TIME_TYPES):
        raise refused(
            f"{printable(node.sql(dialect='spark'), 200)}: casts and suffixes of numbers are not evaluated "
            "here; write a literal of the column's type, such as 7, 0.5, 'x' or DATE '2026-01-01'"
        )
    found = _date_of_text(text.name) if node.is_type("date") else _time_of_text(text.name)
    if found is None:
        raise refused(
            f"{printable(text.name, 100)!r}: is no such date or time; write DATE '2026-01-01' or "
            "TIMESTAMP '2026-01-01 17:00:00'"
        )
    return found


def _date_of_text(text: str) -> date | None:
    try:
        if _DATE.fullmatch(text.strip()):
            year, month, day = (int(part) for part in text.strip().split("-"))
            return date(year, month, day)
    except ValueError:
        pass
    return None


def _time_of_text(text: str) -> datetime | None:
    """Parse a text as a time, with a zone or without."""
    try:
        return datetime.fromisoformat(text.strip()) if _TIME.fullmatch(text.strip()) else None
    except ValueError:
        return None


def _scalar(kind: pa.DataType, value: Any) -> pa.Scalar | None:
    """Return the value in the column's type, None if the type has no such value."""
    if value is None:
        return pa.scalar(None, kind)
    if pa.types.is_date32(kind) and isinstance(value, str):
        value = _date_of_text(value)
    elif pa.types.is_timestamp(kind):
        value = _microseconds(kind, value)
    elif pa.types.is_decimal(kind):
        value = Decimal(value)
        if kind.precision - kind.scale - value.as_tuple().exponent > _LONGEST_DECIMAL:
            # Spark would compare both as decimals beyond the greatest length.
            return None
    elif pa.types.is_floating(kind):
        value = float(value)
        if kind == pa.float32() and _float32(value) != value:
            return None
    try:
        return None if value is None else pa.scalar(value, kind)
    except (pa.ArrowInvalid, OverflowError):
        return None


def _float32(number: Any) -> float:
    """Return the float of 32 bits that is nearest to a double."""
    with np.errstate(over="ignore"):
        return float(np.float32(float(number)))


def _microseconds(kind: pa.DataType, value: Any) -> int | None:
    """Return microseconds since the epoch; times without a zone are in UTC."""
    if isinstance(value, str):
        value = _time_of_text(value)
    elif not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if value is None or (kind.tz is None and value.tzinfo is not None):
        return None
    moment: datetime = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _mismatch(column: Column, kind: pa.DataType, value: Value, written: str) -> UnsupportedQuery:
    """Return the error for a value that the column's type lacks; it says how to write a literal."""
    if kind == pa.float32() and type(value) in (int, float, Decimal) and math.isfinite(_float32(value)):
        written = f"{_float32(value)!r}, the nearest number that floats have"
    shown = printable(repr(value) if isinstance(value, (str, bytes)) else str(value), 100)
    return refused(f"{column_name(column.path)} is {column.data_type.upper()}: write {written}, not {shown}")
