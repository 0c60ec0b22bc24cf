"""Convert rows of captured bytes to one batch of LOG_RECORDS."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.pinot.logs.line_template import COUNTERS
from starskip.pinot.logs.log_record import LogRecord
from starskip.storage.schemas import LOG_RECORDS

Milliseconds = npt.NDArray[np.int64]

_QUARTER_MS = 15 * 60 * 1000
"""Clocks change at whole quarters of an hour in UTC, everywhere."""

CAPTURED = ("table", *COUNTERS, "group_limit_reached", "query_text")
"""Fields captured from a record's message, as bytes or None."""

ROW = (
    *("kind", "reason", "line_format", "source_position", "source_lines", "wrappers", "escaped_text"),
    *("logged_at", "utc_offset"),
    *CAPTURED,
)
"""The values of a row, in order; ``utc_offset`` belongs to ``logged_at``, if the record has one.

``escaped_text``: the query text as it stands in the log, if ``query_text`` differs.
"""

Row = tuple[Any, ...]

WRAPPER_SEPARATOR = "\n"

TABLE_SEPARATOR = ", "
"""Between the tables of a multi-stage query, as the broker writes their set."""

_TABLE_TYPE = r"(?s)(.)_(?:OFFLINE|REALTIME|HYBRID)(, |$)"
_ONE_TYPE = r"(?s)^[^,]+_(?P<type>OFFLINE|REALTIME)$"
_INT64 = range(-(1 << 63), 1 << 63)
_COUNTS = range((1 << 53) + 1)
"""The largest counter that is believed: nine quadrillion, which a float still holds exactly."""
_RANGES = {name: _INT64 if name == "request_id" else _COUNTS for name in COUNTERS}


def wrapper_text(record: LogRecord) -> str | None:
    """Return the column ``wrappers`` of a record: their names, outermost first."""
    return WRAPPER_SEPARATOR.join(record.wrappers) or None


def record_batch(rows: Sequence[Row], source_file: str, log_time_zone: str = "UTC") -> pa.RecordBatch:
    """Return the rows as a batch of LOG_RECORDS, all of weight 1.

    Bytes that are not UTF-8 become the replacement character, a time that no calendar has becomes null, and
    a row with an impossible counter (below zero or past 2**53; for the number of a request, past 64 bits)
    becomes a rejected row ("bad_counter").
    """
    columns = dict(zip(ROW, zip(*rows, strict=True), strict=True))
    counters = _counters(columns)
    if counters is None:
        return record_batch([_rejected_if_out_of_range(row) for row in rows], source_file, log_time_zone)
    texts = _strings(columns["query_text"])
    file_name = os.fsencode(source_file).decode("utf-8", "replace")
    tables = _strings(columns["table"])
    arrays: dict[str, Any] = {
        **{
            name: pa.array(columns[name], pa.string())
            for name in ("kind", "reason", "line_format", "wrappers")
        },
        **counters,
        "table": pc.replace_substring_regex(tables, _TABLE_TYPE, r"\1\2"),
        "table_type": pc.struct_field(pc.extract_regex(tables, _ONE_TYPE), "type"),
        "logged_at": _in_zone(_times(_strings(columns["logged_at"])), columns["utc_offset"], log_time_zone),
        "group_limit_reached": pc.equal(_strings(columns["group_limit_reached"]), "true"),
        "weight": pa.repeat(pa.scalar(1.0), len(rows)),
        "query_text": texts,
        "query_text_length": _java_lengths(pc.coalesce(_strings(columns["escaped_text"]), texts)),
        "source_file": pa.repeat(pa.scalar(file_name), len(rows)),
        "source_position": pa.array(columns["source_position"], pa.int64()),
        "source_lines": pa.array(columns["source_lines"], pa.int64()),
    }
    return pa.RecordBatch.from_arrays([arrays[name] for name in LOG_RECORDS.names], schema=LOG_RECORDS)


def _counters(columns: Mapping[str, Sequence[bytes | None]]) -> dict[str, Any] | None:
    """Return the counters as numbers; None if one is out of its range."""
    counters = {}
    for name, allowed in _RANGES.items():
        try:
            counters[name] = _strings(columns[name]).cast(pa.int64())
        except pa.ArrowInvalid:
            return None
        least_and_most = pc.min_max(counters[name]).as_py().values()
        if any(value is not None and value not in allowed for value in least_and_most):
            return None
    return counters


def _strings(values: Sequence[bytes | None]) -> Any:
    try:
        return pa.array(values, pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if v is None else v.decode("utf-8", "replace") for v in values], pa.string())


def _java_lengths(texts: Any) -> Any:
    lengths = pc.utf8_length(texts).cast(pa.int64())
    if pc.equal(pc.sum(pc.binary_length(texts)), pc.sum(lengths)).as_py() is not False:
        return lengths
    return pc.add(lengths, pc.count_substring_regex(texts, r"[\x{10000}-\x{10FFFF}]").cast(pa.int64()))


def _times(texts: Any) -> Any:
    iso = pc.replace_substring(pc.replace_substring(texts, "/", "-"), ",", ".")
    try:
        return iso.cast(pa.timestamp("ms"))
    except pa.ArrowInvalid:
        return pa.array([_time(text) for text in iso.to_pylist()], pa.timestamp("ms"))


def _in_zone(times: Any, utc_offsets: Sequence[bytes | None], zone: str) -> Any:
    if not any(utc_offsets):
        return times
    milliseconds = times.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    local = wall_clock(milliseconds, utc_offsets, zone)
    missing = times.is_null().to_numpy(zero_copy_only=False)
    return pa.array(local.astype(np.int64), pa.int64(), mask=missing).cast(pa.timestamp("ms"))


def _time(iso: str | None) -> Any:
    try:
        return pa.scalar(iso, pa.string()).cast(pa.timestamp("ms")).as_py()
    except pa.ArrowInvalid:
        return None


def _rejected_if_out_of_range(row: Row) -> Row:
    values = dict(zip(ROW, row, strict=True))
    if all(values[name] is None or int(values[name]) in allowed for name, allowed in _RANGES.items()):
        return row
    values |= dict.fromkeys((*COUNTERS, "table"), None)
    values |= {"kind": "rejected", "reason": "bad_counter"}
    return tuple(values[name] for name in ROW)


def wall_clock(times_ms: Milliseconds, utc_offsets: Sequence[bytes | None], zone: str) -> Milliseconds:
    """Return the wall-clock milliseconds in ``zone`` (IANA name) of times written with these offsets.

    ``utc_offsets``: for each time ``Z``, ``+hh:mm``, ``+hhmm``, or None for a time of the zone's own clock.

    A line without an offset was written by a clock of that zone and stays as it is. A line with an offset
    (``Z``, ``+01:00``) names an instant, which is converted to that zone. A wall-clock day has 23 or 25 hours
    when clocks change, and each record belongs to exactly one.
    """
    shifts = {text: _offset_ms(text) for text in set(utc_offsets) if text is not None}
    stamped = np.array([text is not None for text in utc_offsets], dtype=bool)
    written = np.array([shifts.get(text, 0) if text else 0 for text in utc_offsets], dtype=np.int64)
    instants = times_ms - written
    return np.where(stamped, instants + _zone_shifts_ms(instants, stamped, zone), times_ms)


def _zone_shifts_ms(instants: Milliseconds, wanted: npt.NDArray[np.bool_], zone: str) -> Milliseconds:
    quarters, positions = np.unique(np.where(wanted, instants, 0) // _QUARTER_MS, return_inverse=True)
    shifts = np.array([_shift_ms(zone, int(quarter)) for quarter in quarters], dtype=np.int64)
    return shifts[positions]


@lru_cache(maxsize=20_000)
def _shift_ms(zone: str, quarter: int) -> int:
    """Return how far the zone's clock is ahead of UTC in a quarter of an hour since 1970."""
    try:
        instant = datetime.fromtimestamp(quarter * _QUARTER_MS / 1000, UTC)
        shift = instant.astimezone(ZoneInfo(zone)).utcoffset()
    except (OverflowError, ValueError, OSError):  # the first and the last day of the calendar
        return 0
    return 0 if shift is None else shift // timedelta(milliseconds=1)


def _offset_ms(text: bytes) -> int:
    if text == b"Z":
        return 0
    digits = text[1:].replace(b":", b"")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return (-1 if text.startswith(b"-") else 1) * minutes * 60_000
