"""Parse records of a log into batches of LOG_RECORDS, whole columns at a time.

The shapes that fitted the last records are tried first: the exact shapes exclude one another, so the outcome
does not depend on their order. Text stays bytes until a batch is full and is then decoded, cast and cleaned
by Arrow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from operator import itemgetter
from typing import Any

import pyarrow as pa

from starskip.pinot.logs.escaped_query import as_sent
from starskip.pinot.logs.event_row import event_rows
from starskip.pinot.logs.file_day import file_day
from starskip.pinot.logs.line_formats import FORMATS, LATER_RELEASE
from starskip.pinot.logs.line_template import LineFormat
from starskip.pinot.logs.log_formats import KNOWN_FORMATS, LogFormats, log_formats
from starskip.pinot.logs.log_record import LogRecord
from starskip.pinot.logs.log_splits import LogSplit
from starskip.pinot.logs.log_summary import NOT_A_QUERY, OWN_REPLAY
from starskip.pinot.logs.record_columns import CAPTURED, Row, record_batch, wrapper_text
from starskip.pinot.logs.record_reader import read_records
from starskip.pinot.logs.record_start import EVENT_START, PREFIX, RecordStarts
from starskip.pinot.logs.rejected_records import unmatched
from starskip.pinot.logs.sampling_weights import with_sampling_weights
from starskip.pinot.replay_mark import is_marked

BATCH_ROWS = 8_192
BATCH_BYTES = 16 << 20
"""Rows of a batch, and bytes of its record text: it is closed when it passes either bound."""

KEPT_CHARACTERS = 2_000
"""Characters kept of the text of a record that is no query."""

_BEFORE_QUERY = re.compile(rb", ?query[=:] ?|: ")
_BEGINS_EVENT = frozenset((b"{", b"[", b",", b" ", b"\t", b"\xef"))


@dataclass(frozen=True, slots=True)
class _Reader:
    """A shape, and how to put the groups of its match (and one None behind them) in the order of CAPTURED."""

    form: LineFormat
    match: Callable[[bytes, int], re.Match[bytes] | None]
    captured: Callable[[Any], tuple[bytes | None, ...]]


def _reader(form: LineFormat) -> _Reader:
    groups = {name: number - 1 for name, number in form.pattern.groupindex.items()}
    return _Reader(form, form.pattern.match, itemgetter(*(groups.get(name, -1) for name in CAPTURED)))


_EXACT = tuple(_reader(form) for form in FORMATS)
_LATER = _reader(LATER_RELEASE)


def parse_split(split: LogSplit, log_time_zone: str = "UTC") -> Iterator[pa.RecordBatch]:
    """Yield the records of a split as batches of LOG_RECORDS; no content of the file is an error.

    ``log_time_zone``: the IANA name of the zone whose clock the broker's lines show. JSON events without a
    time get the day that the file's path names, if it names one.
    """
    day = file_day(split.path)
    formats = log_formats(split.formats)
    records = parse_records(read_records(split), split.path, log_time_zone, event_day=day, formats=formats)
    return with_sampling_weights(records)


def parse_records(
    records: Iterable[LogRecord],
    source_file: str,
    log_time_zone: str = "UTC",
    *,
    event_day: date | None = None,
    formats: LogFormats = KNOWN_FORMATS,
) -> Iterator[pa.RecordBatch]:
    """Yield records as batches of LOG_RECORDS, in order, closed when they have BATCH_ROWS rows."""
    readers = [*map(_reader, formats.lines), *_EXACT]
    rows: list[Row] = []
    size_bytes = 0
    for record in records:
        # Nearly all lines begin with a digit or a letter, which shows without a search that they are no
        # events.
        if record.text[:1] in _BEGINS_EVENT and record.flaw is None and EVENT_START.match(record.text):
            rows += event_rows(record, event_day)
        else:
            rows.append(_row(record, readers, formats.starts))
        size_bytes += len(record.text)
        if len(rows) >= BATCH_ROWS or size_bytes >= BATCH_BYTES:
            yield record_batch(rows, source_file, log_time_zone)
            rows, size_bytes = [], 0
    if rows:
        yield record_batch(rows, source_file, log_time_zone)


def _row(record: LogRecord, readers: list[_Reader], starts: RecordStarts) -> Row:
    text = record.text
    prefix = PREFIX.match(text)
    assert prefix is not None  # it also matches the empty text
    if record.flaw is not None:
        reason, _, fault = record.flaw.partition(": ")
        return _row_without_counters(record, prefix, "rejected", reason, fault or None)
    found = _first_match(text, prefix.end(), readers)
    if found is None:
        found_not = unmatched(text, prefix, starts, is_wrapped=bool(record.wrappers))
        return _row_without_counters(record, prefix, *found_not)
    reader, match = found
    if reader.form.reason is not None:
        return _row_without_counters(record, prefix, "other", reader.form.reason)
    *captured, logged = reader.captured((*match.groups(), None))
    fields = text[: match.start("query_text")]
    query = logged and as_sent(logged, fields)
    kind = ("other", OWN_REPLAY) if query and is_marked(query, fields) else ("query", None)
    return (
        *(*kind, reader.form.name, record.position, record.lines, wrapper_text(record)),
        None if query == logged else logged,
        prefix["logged_at"],
        prefix["utc_offset"],
        *captured,
        query,
    )


def _first_match(text: bytes, start: int, readers: list[_Reader]) -> tuple[_Reader, re.Match[bytes]] | None:
    """Return the shape that fits the message, and move it to the front of the readers."""
    for number, reader in enumerate(readers):
        if match := reader.match(text, start):
            if number:
                readers.insert(0, readers.pop(number))
            return reader, match
    match = _LATER.match(text, start)
    return (_LATER, match) if match else None


def _row_without_counters(
    record: LogRecord, prefix: re.Match[bytes], kind: str, reason: str, fault: str | None = None
) -> Row:
    message = record.text[prefix.end() :]
    if reason != NOT_A_QUERY and (before := _BEFORE_QUERY.search(message)):
        fields = message[: before.end()]
        message = fields + as_sent(message[before.end() :], fields)
    text = (prefix[0] + message)[: 4 * KEPT_CHARACTERS].decode("utf-8", "replace")[:KEPT_CHARACTERS]
    nothing = (None,) * (len(CAPTURED) - 1)
    return (
        *(kind, reason, fault, record.position, record.lines, wrapper_text(record), None),
        prefix["logged_at"],
        prefix["utc_offset"],
        *nothing,
        text.encode(),
    )
