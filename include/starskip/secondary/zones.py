"""Zones of a clustering key: the least and greatest key of each row group.

They stand in for a primary index: a table whose rows are sorted by the key, or partitioned by it, has few row
groups for a range of keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.file_metadata.metadata_files import joined
from starskip.predicates.ordered_values import Keys, at_most, below, order_keys, ranked, valid_mask
from starskip.secondary.key_ranges import KeyRanges


def zone_rows(file: int, first_row: int, values: pa.Array) -> pa.Table:
    """Return the zone of one row group."""
    valid = values.filter(pa.array(valid_mask(values)))
    ordered, _ = ranked(valid)
    bounds = [ordered.slice(0, 1), ordered.slice(max(len(ordered) - 1, 0), 1)]
    low, high = (each if len(each) else pa.nulls(1, values.type) for each in bounds)
    return pa.table(
        [
            low,
            high,
            pa.array([file]),
            pa.array([first_row]),
            pa.array([len(values)]),
            pa.array([values.null_count]),
        ],
        names=["low", "high", "file", "first_row", "rows", "nulls"],
    )


def zones_within(zones: pa.Table, ranges: KeyRanges, kind: pa.DataType) -> npt.NDArray[np.bool_]:
    """Return which row groups may hold keys of the ranges."""
    if not zones.num_rows:
        return np.zeros(0, np.bool_)
    low, high = joined(zones, "low").cast(kind), joined(zones, "high").cast(kind)
    valid = valid_mask(low)
    lows, highs = order_keys(low), order_keys(high)
    found = np.zeros(zones.num_rows, np.bool_)
    for wanted in ranges.ranges:
        if wanted.of_null:
            found |= np.asarray(zones["nulls"].to_numpy()) > 0
            continue
        held = valid.copy()
        if wanted.low is not None:
            bound = _bound(wanted.low, kind)
            held &= ~(below(highs, bound) if wanted.low_included else at_most(highs, bound))
        if wanted.high is not None:
            bound = _bound(wanted.high, kind)
            held &= at_most(lows, bound) if wanted.high_included else below(lows, bound)
        found |= held
    return found


def _bound(value: pa.Array, kind: pa.DataType) -> Keys:
    return order_keys(value if pa.types.is_binary(value.type) else value.cast(kind))


def are_disjoint(lows: Sequence[Any], highs: Sequence[Any]) -> bool:
    """Return whether ranges, taken in their order, neither overlap nor fall; equal edges are allowed."""
    if len(lows) < 2 or any(each is None for each in (*lows, *highs)):
        return False
    return all(high <= low for high, low in zip(highs, lows[1:], strict=False)) and lows[0] < highs[-1]
