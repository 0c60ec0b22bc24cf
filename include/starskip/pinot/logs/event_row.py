"""Parse JSON events of queries into rows of LOG_RECORDS.

An event is an object with the four fields of "Automated Inverted Index Recommendation for Pinot"
(III.1), one a line or in an array with a line or more for each.
Other fields are kept where they have Pinot's own names. The table is read from the query where no field
names it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from starskip.pinot.logs.escaped_query import as_sent
from starskip.pinot.logs.event_time import WHOLE_NUMBER, event_time
from starskip.pinot.logs.line_template import COUNTERS
from starskip.pinot.logs.log_record import LogRecord
from starskip.pinot.logs.log_summary import OWN_REPLAY
from starskip.pinot.logs.record_columns import CAPTURED, ROW, TABLE_SEPARATOR, Row, wrapper_text
from starskip.pinot.replay_mark import is_marked
from starskip.sql.table_names import table_names

LINE_FORMAT = "json-event"
KEPT_CHARACTERS = 2_000

_REQUIRED = {
    "latency_ms": ("queryProcessingDuration",),
    "entries_scanned_in_filter": ("scannedEntriesInFilterCount",),
    "entries_scanned_post_filter": ("scannedEntriesPostFilterCount",),
}
_OPTIONAL = {
    "rows_scanned": ("numDocsScanned",),
    "rows_total": ("totalDocs",),
    "segments_queried": ("numSegmentsQueried",),
    "segments_processed": ("numSegmentsProcessed",),
    "segments_matched": ("numSegmentsMatched",),
}
_EXCEPTIONS = ("exceptions", "numExceptions")
_REQUEST_ID = ("requestId",)
_TABLE = ("table", "tableName")
_TIME = ("time", "timestamp", "eventTime", "@timestamp", "requestArrivalTimeMillis")
_READ = frozenset(
    (
        "query",
        *_TABLE,
        *_TIME,
        *(name for names in (*_REQUIRED.values(), *_OPTIONAL.values()) for name in names),
    )
)
_FIELDS = frozenset(("query", *(name for names in _REQUIRED.values() for name in names)))

_SIGNS = " \t\r\n,[]"
_ARRAY_SIGNS = _SIGNS.encode() + b"\xef\xbb\xbf"
_END_OF_LINE = re.compile(r"[ \t\r,\]]*+\n")
_DECODER = json.JSONDecoder()
_INT64 = range(-(1 << 63), 1 << 63)


class _Fault(Exception):
    """Raised for an object that is no event; the message is the reason code."""


def event_rows(record: LogRecord, day: date | None) -> list[Row]:
    """Return the row of a record that begins like a JSON object; ``day`` is the day of events without a time.

    Lines behind the object that belong to no event are a row of their own ("rejected", "no_record_start").
    "other" is an object with none of the four fields ("not_a_query"). "rejected": "bad_json",
    "several_events" (on one line), "incomplete_event" (a field is missing), "repeated_field" (twice, and not
    the same), "bad_counter" (no whole number of 64 bits), "no_table".
    """
    event, rest = _without_rest(record)
    rows = [_row(event, day)]
    if rest is not None:
        rows.append(_set_aside(rest, "rejected", "no_record_start"))
    return rows


def _without_rest(record: LogRecord) -> tuple[LogRecord, LogRecord | None]:
    """Cut off the lines behind the record's object, if there are any."""
    if record.lines == 1:
        return record, None
    before = len(record.text) - len(record.text.lstrip(_ARRAY_SIGNS))
    try:
        _, end = _DECODER.raw_decode(text := record.text[before:].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return record, None
    if not text[end:].strip(_SIGNS) or not _END_OF_LINE.match(text, end):
        return record, None
    lines = record.text[:before].count(b"\n") + text[:end].count("\n") + 1
    cut = len(b"\n".join(record.text.split(b"\n", lines)[:lines]))
    rest = record._replace(
        position=record.position + cut + 1, lines=record.lines - lines, text=record.text[cut + 1 :]
    )
    return record._replace(lines=lines, text=record.text[:cut]), rest


def _row(record: LogRecord, day: date | None) -> Row:
    try:
        event = _event(record.text)
        if not _FIELDS & event.keys():
            return _set_aside(record, "other", "not_a_query")
        fields = {**_REQUIRED, **_OPTIONAL}
        values = {name: _counter(_first(event, names)) for name, names in fields.items()}
        failures = _first(event, _EXCEPTIONS)  # Pinot's response lists them
        values["exceptions"] = len(failures) if isinstance(failures, list) else _counter(failures)
        query = event.get("query")
        if not isinstance(query, str) or not query.strip() or None in (values[name] for name in _REQUIRED):
            raise _Fault("incomplete_event")
        sent = as_sent(_bytes(query))
        tables = _tables(event, sent.decode("utf-8", "replace"))
    except _Fault as fault:
        return _set_aside(record, "rejected", str(fault))
    values["request_id"] = _request_id(_first(event, _REQUEST_ID))
    logged_at, utc_offset = event_time(_first(event, _TIME), day)
    logged = _bytes(query)
    captured: dict[str, Any] = {
        **{name: None if values[name] is None else str(values[name]).encode() for name in COUNTERS},
        "table": _bytes(TABLE_SEPARATOR.join(tables)),
        "group_limit_reached": b"true" if event.get("numGroupsLimitReached") is True else None,
        "query_text": sent,
    }
    kind = ("other", OWN_REPLAY) if is_marked(sent) else ("query", None)
    return (
        *(*kind, LINE_FORMAT, record.position, record.lines, wrapper_text(record)),
        *(None if sent == logged else logged, logged_at, utc_offset),
        *(captured[name] for name in CAPTURED),
    )


def _event(text: bytes) -> Mapping[str, Any]:
    try:
        event = json.loads(text.strip(_ARRAY_SIGNS).decode("utf-8", "replace"), object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise _Fault("several_events" if error.msg == "Extra data" else "bad_json") from None
    except (ValueError, RecursionError):  # a number of thousands of digits; brackets in brackets in brackets
        raise _Fault("bad_json") from None
    if not isinstance(event, dict):
        raise _Fault("bad_json")
    return event


def _object(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Any]:
    """Return the object; raise for a field that is given twice with different values."""
    found = dict(pairs)
    if len(found) < len(pairs) and any(name in _READ and found[name] != value for name, value in pairs):
        raise _Fault("repeated_field")
    return found


def _first(event: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((event[name] for name in names if event.get(name) is not None), None)


def _counter(value: Any) -> int | None:
    if value is None:
        return None
    is_whole = (
        (isinstance(value, str) and WHOLE_NUMBER.fullmatch(value))
        or (isinstance(value, float) and value.is_integer())
        or (isinstance(value, int) and not isinstance(value, bool))
    )
    if not is_whole or int(value) not in _INT64:
        raise _Fault("bad_counter")
    return int(value)


def _request_id(value: Any) -> int | None:
    """Return the number of the request; it names the query and counts nothing, so it may have any type."""
    try:
        return _counter(value)
    except _Fault:
        return None


def _tables(event: Mapping[str, Any], query: str) -> tuple[str, ...]:
    named = _first(event, _TABLE)
    if isinstance(named, str) and named.strip():
        return (named.strip(),)
    found = table_names(query)
    if not found:
        raise _Fault("no_table")
    return found


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _set_aside(record: LogRecord, kind: str, reason: str) -> Row:
    text = record.text[: 4 * KEPT_CHARACTERS].decode("utf-8", "replace")[:KEPT_CHARACTERS]
    nothing = (None,) * (len(ROW) - 8)
    return (
        *(kind, reason, None, record.position, record.lines, wrapper_text(record), None),
        *nothing,
        text.encode(),
    )
