"""Rows of Arrow as plain JSON: decimals, dates, times and durations as texts, bytes as base64."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.lake.nested_values import map_entries

_PLACES = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def json_rows(rows: pa.Table) -> list[list[Any]]:
    """Return the rows as lists of JSON's values; NaN and infinities are texts."""
    columns = [[each for chunk in column.chunks for each in _values(chunk)] for column in rows.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _values(array: pa.Array) -> list[Any]:
    kind = array.type
    if pa.types.is_struct(kind):
        names = [each.name for each in kind]
        parts = zip(*map(_values, array.flatten()), strict=True) if names else ((),) * len(array)
        return _where_valid(array, [dict(zip(names, row, strict=True)) for row in parts])
    if pa.types.is_map(kind):
        entries = map_entries(array)
        keys, items = map(_values, entries.flatten().flatten())
        return _lists(entries, [list(pair) for pair in zip(keys, items, strict=True)])
    if pa.types.is_nested(kind) and not pa.types.is_union(kind):
        return _lists(array, _values(array.flatten()))
    if pa.types.is_duration(kind):
        counts = array.cast(pa.int64()).to_pylist()
        return [None if each is None else _seconds(each, _PLACES[kind.unit]) for each in counts]
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return [_moment(each) for each in array]
    return [_plain(each) for each in array.to_pylist()]


def _lists(array: pa.Array, values: Sequence[Any]) -> list[Any]:
    lengths = pc.list_value_length(array).fill_null(0).to_pylist()
    found, start = [], 0
    for length in lengths:
        found.append(list(values[start : start + length]))
        start += length
    return _where_valid(array, found)


def _where_valid(array: pa.Array, values: Sequence[Any]) -> list[Any]:
    return [
        value if is_valid else None
        for value, is_valid in zip(values, array.is_valid().to_pylist(), strict=True)
    ]


def _seconds(count: int, places: int) -> str:
    """Return a duration in seconds, as ISO 8601 writes it."""
    return f"PT{Decimal(count).scaleb(-places):f}S"


def _moment(value: pa.Scalar) -> str | None:
    try:
        return _plain(value.as_py())  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        # Python has only dates of the years 1 to 9999.
        return _far_moment(value)


def _far_moment(value: pa.Scalar) -> str:
    is_time = pa.types.is_timestamp(value.type)
    unit: Any = value.type.unit if is_time else "D" if value.type == pa.date32() else "ms"
    text = str(np.datetime64(value.value, unit)).replace("T", " ")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    sign = "-" if text.startswith("-") else ""
    year, dash, others = text.removeprefix("-").partition("-")
    text = f"{year:0>4}{dash}{others}"
    sign = "+" if not sign and len(year) > 4 else sign
    zone = "+00:00" if is_time and value.type.tz is not None else ""
    return f"{sign}{text}{zone}"


def _plain(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case Decimal():
            return f"{value:f}"
        case datetime():
            return value.isoformat(sep=" ")
        case date() | time():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
    return value
