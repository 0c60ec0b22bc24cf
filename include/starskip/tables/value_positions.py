"""Look literals up among the distinct values of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Positions = npt.NDArray[np.int64]

_DECIMAL_DIGITS = 76


@dataclass(frozen=True, slots=True)
class ValuePositions:
    """The distinct ``values`` of a column of one segment or window, in any order.

    Literals are texts as a query holds them (see sql.normalize_sql): with a leading quote for
    strings. A literal that cannot be of the column's type matches nothing, as in the engine.
    """

    values: pa.Array

    def equal_to(self, literals: Sequence[str]) -> Positions:
        """Return the positions of all values that equal one of ``literals``."""
        wanted = [v for v in (literal_value(text, self.values.type) for text in literals) if v is not None]
        if not wanted or not len(self.values):
            return np.empty(0, dtype=np.int64)
        sought = _array(wanted, self.values.type)
        mask = (
            pc.is_in(self.values, value_set=sought) if len(sought) > 1 else pc.equal(self.values, sought[0])
        )
        return _true_positions(mask)

    def between(
        self, low: str | None, high: str | None, *, low_inclusive: bool, high_inclusive: bool
    ) -> Positions:
        """Return the positions of all values within the bounds; None leaves an end open."""
        mask = None
        for text, inclusive, compare in (
            (low, low_inclusive, (pc.greater_equal, pc.greater)),
            (high, high_inclusive, (pc.less_equal, pc.less)),
        ):
            if text is None:
                continue
            bound = literal_value(text, self.values.type, exact=False)
            if bound is None:
                return np.empty(0, dtype=np.int64)
            compared = compare[0 if inclusive else 1](
                ordered(self.values), _ordered_scalar(bound, self.values.type)
            )
            mask = compared if mask is None else pc.and_(mask, compared)
        return np.arange(len(self.values)) if mask is None else _true_positions(mask)

    def like(self, pattern: str) -> Positions:
        """Return the positions of the text values that match a SQL LIKE pattern."""
        if not _is_text(self.values.type):
            return np.empty(0, dtype=np.int64)
        return _true_positions(pc.match_like(self.values, pattern.removeprefix("'")))

    def regexp_like(self, pattern: str) -> Positions | None:
        """Return the positions that a regular expression finds; None where it is not of RE2's kind.

        RE2 takes linear time, which Java's own expressions do not promise: patterns come from logs.
        """
        if not _is_text(self.values.type):
            return np.empty(0, dtype=np.int64)
        try:
            return _true_positions(pc.match_substring_regex(self.values, pattern.removeprefix("'")))
        except pa.ArrowInvalid:
            return None


def literal_value(literal: str, kind: pa.DataType, *, exact: bool = True) -> Any:
    """Return ``literal`` as a Python value of Arrow type ``kind``, or None if it is not of that type.

    With ``exact`` false a fraction is kept for whole-number columns: it is a bound, not a value.
    """
    text = literal.removeprefix("'")
    try:
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return text
        if pa.types.is_boolean(kind):
            return {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower())
        if pa.types.is_integer(kind):
            return _whole(text, kind, exact=exact)
        if pa.types.is_floating(kind):
            # Beyond the greatest float32 lies infinity.
            with np.errstate(over="ignore"):
                return float(np.float32(text)) if pa.types.is_float32(kind) else float(text)
        if pa.types.is_decimal(kind):
            return _decimal(text, kind) if exact else float(Decimal(text))
        if pa.types.is_timestamp(kind):
            return _clipped(int(text)) if text.lstrip("-").isdigit() else _milliseconds(text)
        if pa.types.is_binary(kind):
            return bytes.fromhex(text)
    except (ValueError, InvalidOperation, OverflowError):
        return None
    return None


def _whole(text: str, kind: pa.DataType, *, exact: bool) -> int | float | None:
    number = Decimal(text)
    if not number.is_finite():
        return None
    limit = 1 << (kind.bit_width - 1)
    # Compared before it is made an int: 1e999999999 would fill the memory with digits.
    if -limit <= number < limit and number == number.to_integral_value():
        return int(number)
    # A fraction or out of the type's range: equal to nothing, but still a bound.
    return None if exact else float(number)


def _decimal(text: str, kind: pa.DataType) -> Decimal | None:
    number = Decimal(text)
    # Arrow itself crashes on exponents without measure; no type holds more digits than these.
    if not number.is_finite() or max(abs(number.adjusted()), len(number.as_tuple().digits)) > _DECIMAL_DIGITS:
        return None
    held: Decimal = pa.scalar(number, kind).as_py()
    return held


def _clipped(number: int) -> int:
    limit = (1 << 63) - 1
    return max(-limit, min(limit, number))


def _milliseconds(text: str) -> int:
    stamp = datetime.fromisoformat(text)
    return int(((stamp.replace(tzinfo=None)) - datetime(1970, 1, 1)).total_seconds() * 1000)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(pa.timestamp("ms")).cast(kind)
    return pa.array(values, kind)


def ordered(values: pa.Array) -> pa.Array:
    """Return values as a type by which Arrow compares them with bounds: instants as their count of units."""
    if pa.types.is_decimal(values.type):
        return values.cast(pa.float64())
    return values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def _ordered_scalar(bound: Any, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_timestamp(kind) or (pa.types.is_integer(kind) and isinstance(bound, int)):
        return pa.scalar(bound, pa.int64())
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return pa.scalar(bound, pa.float64())
    return pa.scalar(bound, kind)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _true_positions(mask: pa.Array) -> Positions:
    filled = pc.fill_null(mask, False) if mask.null_count else mask
    return np.flatnonzero(filled.to_numpy(zero_copy_only=False))
