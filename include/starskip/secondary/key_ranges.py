"""Ranges of keys that satisfy a predicate on one column, and their intersection."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from starskip.predicates.comparison import ComparisonOperator, comparison_of
from starskip.predicates.expression import Expression
from starskip.predicates.like_pattern import like_parts
from starskip.predicates.ordered_values import below, is_text, order_keys, ranked
from starskip.predicates.prefix_bounds import first_after


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class KeyRange:
    """Keys from ``low`` to ``high``, arrays of one value, None if unbounded; or ``of_null``, null alone.

    Two ranges are equal if they are one object, so that a run can keep what it found of each.
    """

    low: pa.Array | None = None
    high: pa.Array | None = None
    low_included: bool = True
    high_included: bool = True
    of_null: bool = False

    @property
    def is_point(self) -> bool:
        """Return whether it is one key."""
        return self.low is not None and self.high is not None and self.low.equals(self.high)


@dataclass(frozen=True)
class KeyRanges:
    """Disjoint ranges in rising order, none for no key; ``of_null`` stands alone."""

    ranges: tuple[KeyRange, ...]

    def intersected(self, other: KeyRanges) -> KeyRanges:
        """Return the intersection of the ranges."""
        found = (_both(one, two) for one in self.ranges for two in other.ranges)
        return KeyRanges(tuple(each for each in found if each is not None))


def key_ranges(predicate: Expression, path: tuple[str, ...]) -> KeyRanges | None:
    """Return exactly the keys of a column that satisfy a predicate, None if they are no set of ranges."""
    found = comparison_of(predicate)
    if found is None or found.column.path != path or found.negated:
        return None
    values = found.values
    match found.operator:
        case ComparisonOperator.IN:
            if not len(values):
                return KeyRanges(())
            distinct, _ = ranked(values)
            points = (distinct.slice(at, 1) for at in range(len(distinct)))
            return KeyRanges(tuple(KeyRange(each, each) for each in points))
        case ComparisonOperator.BELOW | ComparisonOperator.AT_MOST:
            return KeyRanges(
                (KeyRange(high=values, high_included=found.operator is ComparisonOperator.AT_MOST),)
            )
        case ComparisonOperator.ABOVE | ComparisonOperator.AT_LEAST:
            return KeyRanges(
                (KeyRange(low=values, low_included=found.operator is ComparisonOperator.AT_LEAST),)
            )
        case ComparisonOperator.IS_NULL:
            return KeyRanges((KeyRange(of_null=True),))
        case ComparisonOperator.STARTS_WITH:
            return _prefix(found.text)
        case ComparisonOperator.LIKE:
            parts = like_parts(found.text, found.escape)
            if parts is None:
                return None
            if all(isinstance(part, str) for part in parts):
                whole = pa.array(["".join(map(str, parts))])
                return KeyRanges((KeyRange(whole, whole),))
            # Only a pure prefix is exactly a range.
            if len(parts) == 2 and isinstance(parts[0], str) and getattr(parts[1], "value", "") == "%":
                return _prefix(parts[0])
    return None


def _prefix(text: str) -> KeyRanges:
    low = text.encode()
    after = first_after(low)
    high = None if after is None else pa.array([after], pa.binary())
    return KeyRanges((KeyRange(pa.array([low], pa.binary()), high, high_included=False),))


def _both(one: KeyRange, two: KeyRange) -> KeyRange | None:
    if one.of_null or two.of_null:
        return one if one.of_null and two.of_null else None
    low, low_included = one.low, one.low_included
    if low is None or (two.low is not None and _is_below(low, two.low)):
        low, low_included = two.low, two.low_included
    elif two.low is not None and not _is_below(two.low, low):
        low_included = one.low_included and two.low_included
    high, high_included = one.high, one.high_included
    if high is None or (two.high is not None and _is_below(two.high, high)):
        high, high_included = two.high, two.high_included
    elif two.high is not None and not _is_below(high, two.high):
        high_included = one.high_included and two.high_included
    if low is not None and high is not None:
        if _is_below(high, low):
            return None
        if not _is_below(low, high) and not (low_included and high_included):
            return None
    return KeyRange(low, high, low_included, high_included)


def _is_below(one: pa.Array, two: pa.Array) -> bool:
    """Compare single values; a prefix's bounds are bytes, a text's are text."""
    if is_text(one.type) != is_text(two.type):
        one, two = one.cast(pa.binary()), two.cast(pa.binary())
    keys, bound = order_keys(one), order_keys(two)
    return bool(below(keys, bound)[0])
