"""Read the literals of Spark SQL, casts of them included, as Python values, each as Spark (ANSI mode) has it.

Whole numbers are ``int``, doubles ``float``, and floats the ``float`` of the same value, since Spark compares
them with any other type as doubles. What Spark raises for, and what only its session could tell, is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable

Value = bool | int | float | Decimal | str | bytes | date | datetime | None
REASON = "where"
_LONGEST_DECIMAL = 38
_WIDE = Context(prec=400)
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?")
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?inf(?:inity)?|nan", re.IGNORECASE)
_WHOLE_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_CASTS_BY_FUNCTION = frozenset({"TINYINT", "SMALLINT", "BIGINT", "DECIMAL"})


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
        case exp.Cast() | exp.TsOrDsToDate() | exp.Date() | exp.Timestamp():
            return _cast(node)
        case exp.Anonymous() if node.name.upper() in _CASTS_BY_FUNCTION and len(node.expressions) == 1:
            return _cast_to(node.name.upper(), (), node.expressions[0], node)
    raise refused(
        f"{printable(node.sql(dialect='spark'), 200)}: is no literal; compare a column with literals"
    )


def double_of_text(text: str) -> float | None:
    """Return the double that Spark casts a text to, None where it raises."""
    stripped = text.strip()
    if _NUMBER.fullmatch(stripped) or _NOT_FINITE.fullmatch(stripped):
        return float(stripped)
    return None


def whole_of_text(text: str, bits: int = 64) -> int | None:
    """Return the whole number that Spark casts a text to, None where it raises."""
    stripped = text.strip()
    found = int(stripped) if _WHOLE.fullmatch(stripped) and len(stripped) <= _LONGEST_DECIMAL else None
    return found if found is not None and _fits(found, bits) else None


def nearest_float32(number: Fraction) -> float:
    """Return the nearest float of 32 bits, the even one of two, as a double."""
    with np.errstate(over="ignore"):
        near = np.float32(float(number))
    if not np.isfinite(near):
        return float(near)
    around = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    finite = [each for each in around if np.isfinite(each)]
    return float(
        min(finite, key=lambda each: (abs(Fraction(float(each)) - number), int(each.view(np.uint32)) & 1))
    )


def date_of_text(text: str) -> date:
    """Return the date that a text is; UnsupportedQuery for any other text."""
    try:
        if _DATE.fullmatch(text.strip()):
            year, month, day = (int(part) for part in text.strip().split("-"))
            return date(year, month, day)
    except ValueError:
        pass
    raise refused(f"{printable(text, 100)!r} is no date: write 2026-11-23")


def time_of_text(text: str) -> datetime:
    """Return the time that a text is, with a zone or without; UnsupportedQuery for any other text."""
    try:
        if _TIME.fullmatch(text.strip()):
            return datetime.fromisoformat(text.strip())
    except ValueError:
        pass
    raise refused(f"{printable(text, 100)!r} is no time: write 2026-11-23 17:00:00")


def refused(message: str) -> UnsupportedQuery:
    """Return the error of a condition that is not evaluated here."""
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


def _cast(node: exp.Expression) -> Value:
    """Return the value of DATE'…', TIMESTAMP'…', 0.1F, and of a CAST of a literal."""
    if node.args.get("format") or node.args.get("zone"):
        raise _no_literal(node)
    wanted = node.args.get("to")
    if not isinstance(wanted, exp.DataType):
        name = "DATE" if isinstance(node, (exp.TsOrDsToDate, exp.Date)) else "TIMESTAMP"
        return _cast_to(name, (), node.this, node)
    parameters = [each.this for each in wanted.expressions if isinstance(each, exp.DataTypeParam)]
    if len(parameters) != len(wanted.expressions):
        raise _no_literal(node)
    sizes = tuple(int(each.this) for each in parameters)
    return _cast_to(wanted.this.value.upper(), sizes, node.this, node)


def _cast_to(name: str, sizes: tuple[int, ...], inner: exp.Expression, node: exp.Expression) -> Value:
    value = literal_value(inner)
    if value is None:
        return None
    if name in _WHOLE_BITS:
        found: Value = _whole(value, _WHOLE_BITS[name])
    elif name == "DECIMAL":
        found = _decimal(value, *(*sizes, *(10, 0)[len(sizes) :]))
    else:
        cast = _CASTS.get(name)
        found = None if cast is None else cast(value)
    if found is None:
        raise _no_literal(node)
    return found


def _whole(value: Any, bits: int) -> int | None:
    """Return a number without its fraction."""
    if isinstance(value, str):
        return whole_of_text(value, bits)
    if not isinstance(value, (int, float, Decimal)) or not math.isfinite(value):
        return None
    found = math.trunc(value)
    return found if _fits(found, bits) else None


def _decimal(value: Any, precision: int, scale: int) -> Decimal | None:
    """Return a number with so many digits behind the point, halves rounded away from zero."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = Decimal(value.strip())
    elif isinstance(value, float) and math.isfinite(value):
        # Of a double Spark takes the shortest text.
        value = Decimal(repr(value))
    if not isinstance(value, (int, Decimal)) or precision > _LONGEST_DECIMAL or scale > precision:
        return None
    if Decimal(value).adjusted() >= _LONGEST_DECIMAL:
        return None
    found = Decimal(value).quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, _WIDE)
    return found if abs(found.scaleb(scale, _WIDE)) < 10**precision else None


def _double(value: Any) -> float | None:
    if isinstance(value, str):
        return double_of_text(value)
    return float(value) if isinstance(value, (int, float, Decimal)) else None


def _float(value: Any) -> float | None:
    exact = value
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        exact = Decimal(value.strip())
        if abs(exact.adjusted()) > _WIDE.prec:
            exact = float(exact)
    elif isinstance(value, str):
        exact = double_of_text(value)
    if not isinstance(exact, (int, float, Decimal)):
        return None
    if not math.isfinite(exact):
        return float(exact)
    found = nearest_float32(Fraction(exact))
    if not math.isfinite(found) and not isinstance(value, str):
        # Spark raises for 1e39F and casts 1e39 to infinity, which are one to the parser.
        return None
    # Zero keeps its sign.
    return math.copysign(found, float(exact)) if found == 0 else found


def _boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        stripped = value.strip().lower()
        return stripped in _TRUE if stripped in (*_TRUE, *_FALSE) else None
    return bool(value) if isinstance(value, (int, float, Decimal)) else None


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal) and value.as_tuple().exponent == 0:
        return str(value.to_integral_value(ROUND_DOWN))
    if isinstance(value, (str, int)):
        return str(value)
    return value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else None


def _binary(value: Any) -> bytes | None:
    return value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else None


def _date(value: Any) -> date | None:
    if isinstance(value, str):
        return date_of_text(value)
    if isinstance(value, datetime):
        return (value if value.tzinfo is None else value.astimezone(UTC)).date()
    return value if isinstance(value, date) else None


def _time(value: Any) -> datetime | None:
    if isinstance(value, str):
        return time_of_text(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value if isinstance(value, datetime) else None


_CASTS: Mapping[str, Callable[[Any], Value]] = {
    "DOUBLE": _double,
    "FLOAT": _float,
    "BOOLEAN": _boolean,
    "TEXT": _text,
    "BINARY": _binary,
    "DATE": _date,
    "TIMESTAMP": _time,
    "TIMESTAMPLTZ": _time,
    "TIMESTAMPTZ": _time,
    "TIMESTAMPNTZ": _time,
}


def _fits(number: int, bits: int) -> bool:
    return bool(-(2 ** (bits - 1)) <= number < 2 ** (bits - 1))


def _no_literal(node: exp.Expression) -> UnsupportedQuery:
    return refused(
        f"{printable(node.sql(dialect='spark'), 200)}: is no literal that is evaluated here, or out of range"
    )
