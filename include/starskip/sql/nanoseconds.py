"""Rewrite comparisons and date functions on timestamps in nanoseconds, as pandas writes them.

DuckDB compares nanoseconds with nanoseconds only, and its date functions do not take nanoseconds with a zone.
A moment beyond the years 1677 to 2262 is before, or after, every timestamp in nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime

import pyarrow as pa
from sqlglot import exp

COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
SIDES = ("this", "expression", "low", "high")
"""Arguments of comparisons and BETWEEN that hold the compared expressions."""

_DIGITS = re.compile(r"\.\d{7,9}(?!\d)")
_FIRST, _LAST = datetime(1677, 9, 22, tzinfo=UTC), datetime(2262, 4, 11, tzinfo=UTC)
_TIMES = {exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME, exp.DType.TIME}
_ADDING = (exp.DateAdd, exp.DateSub, exp.TsOrDsAdd)
_OF_DATES = (
    *(exp.DateTrunc, exp.TimestampTrunc, exp.Extract, exp.Date, exp.TsOrDsToDate, exp.DateDiff),
    *(exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.DayOfMonth, exp.DayOfYear),
    *(exp.Hour, exp.Minute, exp.Second, *_ADDING),
)


def with_nanoseconds(expression: exp.Expr, types: Mapping[str, pa.DataType]) -> exp.Expr:
    """Cast expressions on columns of nanoseconds to their types; in place, and return it.

    Date functions, sums with intervals and casts to other kinds of times get microseconds where the column
    has a zone. The other side of a comparison becomes nanoseconds, so that no digit is lost.
    """
    of_ns = {name: type_.tz is not None for name, type_ in types.items() if _is_ns(type_)}
    if not of_ns:
        return expression
    for node in list(expression.walk()):
        for key in ("this", "expression"):
            side = node.args.get(key)
            if isinstance(side, exp.Expr) and _needs_microseconds(node, key, side, of_ns):
                node.set(key, exp.cast(side, "timestamptz"))
    for node in list(expression.find_all(*COMPARISONS, exp.Between, exp.In)):
        sides = {key: side for key in SIDES if isinstance(side := node.args.get(key), exp.Expr)}
        zoned = next((of_ns[name] for side in sides.values() if (name := _column(side)) in of_ns), None)
        if zoned is None:
            continue
        for key, side in sides.items():
            if _column(side) not in of_ns:
                node.set(key, _as_nanoseconds(side, zoned=zoned))
        if isinstance(node, exp.In) and node.expressions:
            node.set("expressions", [_as_nanoseconds(item, zoned=zoned) for item in node.expressions])
    return expression


def nanosecond_literal(moment: datetime, text: str, *, zoned: bool) -> exp.Expr:
    """Return a moment, which stood in ``text``, in nanoseconds."""
    if _FIRST < moment < _LAST:
        found = _DIGITS.search(text)
        digits = found[0].ljust(10, "0") if found else f".{moment.microsecond:06}000"
        text = moment.strftime("%Y-%m-%d %H:%M:%S") + digits + ("+00:00" if zoned else "")
    else:
        text = "-infinity" if moment <= _FIRST else "infinity"
    return _cast(exp.Literal.string(text), zoned=zoned)


def moment_of_text(text: str) -> date | datetime | None:
    """Return the day or the moment that a text holds, None for another text."""
    for parse in (date.fromisoformat, datetime.fromisoformat):
        try:
            return parse(text.strip())
        except ValueError:
            continue
    return None


def bare(node: exp.Expr) -> exp.Expr:
    """Return the expression within brackets and behind minus signs."""
    while isinstance(node, (exp.Paren, exp.Neg)):
        node = node.this
    return node


def _needs_microseconds(node: exp.Expr, key: str, side: exp.Expr, of_ns: Mapping[str, bool]) -> bool:
    if isinstance(node, _OF_DATES):
        is_amount = key == "expression" and isinstance(node, _ADDING)
        return not is_amount and any(of_ns.get(column.name, False) for column in side.find_all(exp.Column))
    if not of_ns.get(_column(side), False):
        return False
    is_cast = isinstance(node, exp.Cast) and node.to.this in _TIMES
    return is_cast or isinstance(node, (exp.Add, exp.Sub))


def _as_nanoseconds(side: exp.Expr, *, zoned: bool) -> exp.Expr:
    found = bare(side)
    if isinstance(found, exp.Literal):
        return side
    if isinstance(found, exp.Cast):
        if found.to.this in (exp.DType.USERDEFINED, exp.DType.TIMESTAMP_NS):
            return side
        # A written moment may be beyond the range that the cast can hold.
        text = found.this.name if found.this.is_string else ""
        moment = moment_of_text(text[:10] if found.to.this == exp.DType.DATE else text)
        if moment is not None:
            return nanosecond_literal(in_utc(moment), text, zoned=zoned)
    # Nanoseconds with a zone become a time in UTC without a zone only by way of microseconds.
    return _cast(side if zoned else exp.cast(side, "timestamp"), zoned=zoned)


def in_utc(moment: date | datetime) -> datetime:
    """Return a moment with its zone; without one it is UTC's, and a day its beginning."""
    if not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _cast(node: exp.Expr, *, zoned: bool) -> exp.Expr:
    if zoned:
        return exp.Cast(this=node, to=exp.DataType.build("TIMESTAMPTZ_NS", udt=True))
    return exp.cast(node, exp.DataType.build(exp.DType.TIMESTAMP_NS))


def _column(node: exp.Expr) -> str:
    found = bare(node)
    return found.name if isinstance(found, exp.Column) else ""


def _is_ns(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(arrow_type) and arrow_type.unit == "ns")
