"""Parse and write literals of logs by Spark's type; None for ambiguous text."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from starskip.predicates.data_types import FLOATS, INTEGERS, family_of, literal_type_of

_INTEGER = re.compile(r"-?\d{1,20}")
_NUMBER = re.compile(r"-?(?:\d{1,400}(?:\.\d{0,400})?(?:E-?\d{1,3})?|Infinity)|NaN")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)(?: (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?)?")
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def catalyst_value(text: str, data_type: str) -> pa.Scalar | None:
    """Return the value of Catalyst's text of a literal.

    Timestamps are in the session's time zone, which a log may not contain: UTC is assumed.
    """
    kind = literal_type_of(data_type)
    if kind is None or data_type == "binary":
        return None
    try:
        return _value(text, data_type, kind)
    except (ValueError, ArithmeticError, pa.ArrowException):
        return None


def _value(text: str, data_type: str, kind: pa.DataType) -> pa.Scalar | None:
    family = family_of(data_type)
    if family in ("string", "collated"):
        return pa.scalar(text, kind)
    if text == "null":
        return pa.scalar(None, kind)
    if family in INTEGERS:
        return pa.scalar(int(text), kind) if _INTEGER.fullmatch(text) else None
    if family in FLOATS or family == "decimal":
        if not _NUMBER.fullmatch(text):
            return None
        return pa.scalar(Decimal(text) if family == "decimal" else float(text), kind)
    if family == "boolean":
        return pa.scalar(text == "true", kind) if text in ("true", "false") else None
    found = _TIME.fullmatch(text)
    if found is None or (family == "date") == bool(found[2]):
        return None
    if family == "date":
        return pa.scalar(date.fromisoformat(text), kind)
    moment = (
        datetime.fromisoformat(f"{found[1]} {found[2]}") + int((found[3] or "").ljust(6, "0")) * _MICROSECOND
    )
    return pa.array([(moment - _EPOCH) // _MICROSECOND], pa.int64()).view(kind)[0]


def json_value(value: pa.Scalar) -> Any:
    """Return a JSON value: strings for dates and decimals, microseconds for times, base64 for bytes."""
    if not value.is_valid:
        return None
    kind = value.type
    if pa.types.is_timestamp(kind):
        return value.cast(pa.int64()).as_py()
    if pa.types.is_binary(kind):
        return base64.b64encode(value.as_py()).decode()
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_string(kind):
        return value.as_py()
    return str(value.as_py())


def value_of_json(value: Any, data_type: str) -> pa.Scalar:
    """Return the scalar of a JSON value; raise ValueError if json_value cannot have written it."""
    kind = literal_type_of(data_type)
    if kind is None:
        raise ValueError(f"no literal is of type {data_type}")
    try:
        if (
            value is None
            or pa.types.is_boolean(kind)
            or pa.types.is_integer(kind)
            or pa.types.is_string(kind)
        ):
            return pa.scalar(value, kind)
        if pa.types.is_timestamp(kind):
            return pa.array([value], pa.int64()).view(kind)[0]
        if pa.types.is_binary(kind):
            return pa.scalar(base64.b64decode(value, validate=True), kind)
        if pa.types.is_date(kind):
            return pa.scalar(date.fromisoformat(value), kind)
        return pa.scalar(Decimal(value) if pa.types.is_decimal(kind) else float(value), kind)
    except (ValueError, TypeError, ArithmeticError, binascii.Error, pa.ArrowException) as error:
        raise ValueError(f"{str(value)[:100]!r} is no {data_type}") from error
