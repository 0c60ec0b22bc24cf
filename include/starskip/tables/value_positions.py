"""Look literals up among the distinct values of a column."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Positions = npt.NDArray[np.int64]

_INT64_END = 1 << 63
_DECIMAL_DIGITS = 76
_MAX_BISECTED = 16
"""Literals of a list that are found one by one; for more Arrow makes a hash table."""


@dataclass(frozen=True)
class ValuePositions:
    """The distinct ``values`` of a column of one segment or window, in any order.

    Ascending whole numbers, instants and texts, such as a dictionary's, are found by bisection.

    Literals are texts as a query holds them (see sql.normalize_sql): with a leading quote for
    strings. A literal that cannot be of the column's type matches nothing, as in the engine.
    """

    values: pa.Array

    def equal_to(self, literals: Sequence[str]) -> Positions:
        """Return the positions of all values that equal one of ``literals``."""
        wanted = [v for v in (value_of_type(text, self.values.type) for text in literals) if v is not None]
        if not wanted or not len(self.values):
            return np.empty(0, dtype=np.int64)
        if self._ascending is not None and len(wanted) <= _MAX_BISECTED:
            return self._places_of(wanted)
        sought = _array(wanted, self.values.type)
        mask = (
            pc.is_in(self.values, value_set=sought) if len(sought) > 1 else pc.equal(self.values, sought[0])
        )
        return _true_positions(mask)

    def between(
        self, low: str | None, high: str | None, *, low_inclusive: bool, high_inclusive: bool
    ) -> Positions:
        """Return the positions of all values within the bounds; None leaves an end open."""
        kind = self.values.type
        low_bound, high_bound = (
            None if text is None else value_of_type(text, kind, exact=False) for text in (low, high)
        )
        if (low is not None and low_bound is None) or (high is not None and high_bound is None):
            return np.empty(0, dtype=np.int64)
        if pa.types.is_integer(kind):
            low_bound, high_bound = _whole_ends(low_bound, high_bound, low_inclusive, high_inclusive)
            low_inclusive = high_inclusive = True
        if self._ascending is not None:
            first = 0 if low_bound is None else self._count_below(low_bound, or_equal=not low_inclusive)
            end = len(self.values)
            if high_bound is not None:
                end = self._count_below(high_bound, or_equal=high_inclusive)
            return np.arange(first, end)
        mask = None
        for bound, inclusive, compare in (
            (low_bound, low_inclusive, (pc.greater_equal, pc.greater)),
            (high_bound, high_inclusive, (pc.less_equal, pc.less)),
        ):
            if bound is None:
                continue
            compared = compare[0 if inclusive else 1](
                ordered(self.values), _ordered_scalar(bound, self.values.type)
            )
            mask = compared if mask is None else pc.and_(mask, compared)
        return np.arange(len(self.values)) if mask is None else _true_positions(mask)

    @cached_property
    def _ascending(self) -> npt.NDArray[np.int64] | pa.Array | None:
        """The values in the form that is bisected; None where they do not ascend, or have another type."""
        kind = self.values.type
        if self.values.null_count:
            return None
        if pa.types.is_signed_integer(kind) or pa.types.is_timestamp(kind):
            numbers: npt.NDArray[np.int64] = self.values.cast(pa.int64()).to_numpy()
            return numbers if bool((numbers[1:] > numbers[:-1]).all()) else None
        if _is_text(kind) and pc.all(pc.less(self.values[:-1], self.values[1:]), min_count=0).as_py():
            return self.values
        return None

    def _count_below(self, bound: Any, *, or_equal: bool) -> int:
        """Return how many of the ascending values are less than ``bound``, ``or_equal`` at most it."""
        if isinstance(self._ascending, np.ndarray):
            return int(self._ascending.searchsorted(bound, "right" if or_equal else "left"))
        assert self._ascending is not None
        bisect = bisect_right if or_equal else bisect_left
        return bisect(self._ascending, bound, key=_plain)

    def _places_of(self, wanted: Sequence[Any]) -> Positions:
        ascending = self._ascending
        assert ascending is not None
        if pa.types.is_timestamp(self.values.type):
            wanted = _array(list(wanted), self.values.type).cast(pa.int64()).to_pylist()
        places = sorted({self._count_below(each, or_equal=False) for each in wanted})
        sought = set(wanted)
        found = [at for at in places if at < len(ascending) and _plain(ascending[at]) in sought]
        return np.array(found, dtype=np.int64)

    def like(self, pattern: str) -> Positions:
        """Return the positions of the text values that match a SQL LIKE pattern."""
        if not _is_text(self.values.type):
            return np.empty(0, dtype=np.int64)
        return _true_positions(pc.match_like(self.values, pattern.removeprefix("'")))

    def regexp_like(self, pattern: str, *, ignore_case: bool = False) -> Positions | None:
        """Return the positions that a regular expression finds; None where RE2 does not support it.

        RE2 takes linear time, which Java's own expressions do not promise: patterns come from logs.
        """
        if not _is_text(self.values.type):
            return np.empty(0, dtype=np.int64)
        try:
            found = pc.match_substring_regex(self.values, pattern.removeprefix("'"), ignore_case=ignore_case)
            return _true_positions(found)
        except pa.ArrowInvalid:
            return None


def _plain(value: Any) -> Any:
    return value.as_py() if isinstance(value, pa.Scalar) else value


def value_of_type(literal: str, kind: pa.DataType, *, exact: bool = True) -> Any:
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


def _whole(text: str, kind: pa.DataType, *, exact: bool) -> int | Decimal | None:
    number = Decimal(text)
    if not number.is_finite():
        return None
    limit = 1 << (kind.bit_width - 1)
    # Compared before it is made an int: 1e999999999 would fill the memory with digits.
    if -limit <= number < limit and number == number.to_integral_value():
        return int(number)
    # A fraction or out of the type's range: equal to nothing, but still a bound.
    return None if exact else number


def _whole_ends(
    low: int | Decimal | None, high: int | Decimal | None, low_inclusive: bool, high_inclusive: bool
) -> tuple[int | None, int | None]:
    """Return the least and greatest whole number between bounds; low above high where there is none."""
    # Clipped before they are made ints: 1e999999999 would fill the memory with digits.
    low, high = (
        None if bound is None else max(min(bound, _INT64_END), -_INT64_END - 1) for bound in (low, high)
    )
    if low is not None:
        low = max(math.ceil(low) if low_inclusive else math.floor(low) + 1, -_INT64_END)
    if high is not None:
        high = min(math.floor(high) if high_inclusive else math.ceil(high) - 1, _INT64_END - 1)
    if (low is not None and low >= _INT64_END) or (high is not None and high < -_INT64_END):
        return 1, 0
    return low, high


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
    """Return values in a type that Arrow compares with bounds: instants as their count of units."""
    if pa.types.is_decimal(values.type):
        return values.cast(pa.float64())
    return values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def _ordered_scalar(bound: Any, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_timestamp(kind) or pa.types.is_integer(kind):
        return pa.scalar(bound, pa.int64())
    if pa.types.is_decimal(kind):
        return pa.scalar(bound, pa.float64())
    return pa.scalar(bound, kind)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _true_positions(mask: pa.Array) -> Positions:
    filled = pc.fill_null(mask, False) if mask.null_count else mask
    return np.flatnonzero(filled.to_numpy(zero_copy_only=False))
