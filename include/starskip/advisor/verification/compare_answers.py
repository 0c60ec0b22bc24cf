"""Compare two answers of one query, exactly or within the bounds of approximate columns.

Differences are reported by columns and counts: the values themselves may be personal data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from starskip.errors import printable

FLOAT_RATIO = 1e-9
"""Sums of doubles depend on the order of additions, and each way adds in an order of its own."""
_FLOAT_LEAST = 1e-9
_UNPROVEN_CONFIDENCE = 0.99
_NAME_CHARACTERS = 60

Key = tuple[Any, ...]
Row = tuple[Any, ...]
Bounds = Mapping[Key, tuple[Any, Any]]
"""The least and the greatest value that may stand in a group, by the group's key."""


@dataclass(frozen=True, slots=True)
class ApproximateColumn:
    """A column that may be off: a share of ``confidence`` of its values lie within ``bounds``.

    ``wide_bounds``, twice as far apart, hold for all values. ``confidence`` is None if nothing is proven.
    """

    bounds: Bounds
    wide_bounds: Bounds
    confidence: float | None


def answers_differ(
    tree: pa.Table,
    scan: pa.Table,
    keys: Sequence[int],
    approximate: Mapping[int, ApproximateColumn],
    ways: tuple[str, str] = ("from the tree", "by the scan"),
) -> str:
    """Return in a clause how the answers differ, empty if they do not.

    Columns are compared by position, rows by the columns ``keys``. Exact numbers must be equal whatever their
    types; doubles may differ by FLOAT_RATIO. Approximate columns are compared only if keys identify rows.
    ``ways``: where the two answers come from.
    """
    for what, ours, theirs in (
        ("columns", tree.num_columns, scan.num_columns),
        ("rows", tree.num_rows, scan.num_rows),
    ):
        if ours != theirs:
            return f"{ours:,} {what} {ways[0]}, {theirs:,} {ways[1]}"
    by_key, others = rows_by_key(tree, keys), rows_by_key(scan, keys)
    if by_key is None or others is None:
        pairs = list(zip(_sorted_rows(tree, approximate), _sorted_rows(scan, approximate), strict=True))
    else:
        if alone := len(by_key.keys() - others.keys()):
            return f"{alone:,} of {len(by_key):,} groups {ways[0]} alone"
        pairs = [(row, others[key]) for key, row in by_key.items()]
    for position, name in enumerate(tree.column_names):
        if position in approximate:
            values = {key: row[position] for key, row in by_key.items()} if by_key else {}
            found = _outside(values, approximate[position])
        else:
            differing = sum(not same_value(row[position], other[position]) for row, other in pairs)
            found = f"differs in {differing:,} of {len(pairs):,} groups" if differing else ""
        if found:
            return f"column {printable(name, _NAME_CHARACTERS)}: {found}"
    return ""


def same_value(ours: Any, theirs: Any) -> bool:
    """Return whether two values of a column are the same, nulls with nulls, NaN with NaN."""
    if ours is None or theirs is None:
        return ours is theirs
    if isinstance(ours, float) or isinstance(theirs, float):
        try:
            a, b = float(ours), float(theirs)
        except (TypeError, ValueError):
            return False
        both_nan = math.isnan(a) and math.isnan(b)
        return both_nan or math.isclose(a, b, rel_tol=FLOAT_RATIO, abs_tol=_FLOAT_LEAST)
    return bool(ours == theirs)


def rows_by_key(table: pa.Table, keys: Sequence[int]) -> dict[Key, Row] | None:
    """Return the rows by the values of ``keys``; None if two rows have the same."""
    columns = [column.to_pylist() for column in table.columns]
    found: dict[Key, Row] = {}
    for row in zip(*columns, strict=True):
        found[tuple(_key_value(row[position]) for position in keys)] = row
    return found if len(found) == table.num_rows else None


def _key_value(value: Any) -> Any:
    # As a key NaN is equal to itself.
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _outside(values: Mapping[Key, Any], column: ApproximateColumn) -> str:
    outside = [key for key, value in values.items() if not _is_within(value, column.bounds.get(key))]
    far = sum(not _is_within(values[key], column.wide_bounds.get(key)) for key in outside)
    if far:
        return f"outside twice the stated bound in {far:,} of {len(values):,} groups"
    confidence = _UNPROVEN_CONFIDENCE if column.confidence is None else column.confidence
    expected = len(values) * (1 - confidence)
    # One value is allowed in any answer, and three standard deviations.
    if len(outside) > 1 + expected + 3 * math.sqrt(expected):
        return f"outside the stated bound in {len(outside):,} of {len(values):,} groups"
    return ""


def _is_within(value: Any, bounds: tuple[Any, Any] | None) -> bool:
    if bounds is None:
        return False
    if value is None or bounds[0] is None or bounds[1] is None:
        return value is bounds[0] is bounds[1]
    return _is_at_most(float(bounds[0]), float(value)) and _is_at_most(float(value), float(bounds[1]))


def _is_at_most(low: float, high: float) -> bool:
    """Return whether one value is below another, or nearly the same; NaN is the greatest."""
    if math.isnan(high):
        return True
    return not math.isnan(low) and (low <= high or math.isclose(low, high, rel_tol=FLOAT_RATIO))


def _sorted_rows(table: pa.Table, approximate: Mapping[int, object]) -> list[Row]:
    """Return the rows in an order that is the same for equal answers, doubles rounded."""
    columns = [column.to_pylist() for column in table.columns]
    exact = [position for position in range(len(columns)) if position not in approximate]
    return sorted(zip(*columns, strict=True), key=lambda row: [_sort_key(row[p]) for p in exact])


def _sort_key(value: Any) -> tuple[int, Any]:
    if value is None:
        return (0, "")
    is_number = isinstance(value, int | float | Decimal)
    return (1, float(f"{float(value):.6g}")) if is_number else (2, str(value))
