"""JSON events: what is read of them, in which layouts, and why some are set aside."""

from __future__ import annotations

import gzip
import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from starskip.pinot.logs.log_record import LogRecord
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.log_summary import log_summary
from starskip.pinot.logs.parse_records import parse_records, parse_split
from starskip.storage.files.log_files import log_files
from starskip.storage.schemas import LOG_RECORDS

pytestmark = pytest.mark.slow

EVENT = {
    "query": "SELECT a FROM t_OFFLINE WHERE b = 'x'",
    "queryProcessingDuration": 5,
    "scannedEntriesInFilterCount": 300,
    "scannedEntriesPostFilterCount": 20,
}
LINE = (
    "2026/11/18 08:45:08.326 INFO [QueryLogger] [t] requestId=7,table=u,timeMs=1,docs=2/3,entries=4/5,"
    "exceptions=0,query=SELECT 1\n  FROM u"
)
LAYOUTS = {
    "lines": lambda events: "".join(json.dumps(event) + "\n" for event in events),
    "lines without an end": lambda events: "\r\n".join(map(json.dumps, events)),
    "lines with blanks": lambda events: "\n\n".join("  " + json.dumps(event) for event in events) + "\n\n",
    "array of lines": lambda events: "[" + ",\n".join(map(json.dumps, events)) + "]\n",
    "array, commas first": lambda events: "[\n" + "\n,".join(map(json.dumps, events)) + "\n]",
    "pretty array": lambda events: json.dumps(events, indent=2),
    "pretty objects": lambda events: "\n".join(json.dumps(event, indent=4) for event in events),
    "byte order mark": lambda events: "\ufeff" + "\n".join(map(json.dumps, events)),
}


def read(path: Path, split_bytes: int = 1 << 20, zone: str = "UTC") -> list[dict[str, Any]]:
    splits = log_splits(log_files([str(path)]), split_bytes)
    batches = [batch for split in splits for batch in parse_split(split, zone)]
    return pa.Table.from_batches(batches, LOG_RECORDS).to_pylist()


def row_of(event: Any, day: date | None = None, zone: str = "UTC") -> dict[str, Any]:
    text = event if isinstance(event, bytes) else json.dumps(event).encode()
    (row,) = next(parse_records([LogRecord(0, 1, text, None)], "f", zone, event_day=day)).to_pylist()
    return row


def twice(field: str, value: Any) -> bytes:
    return b'{"%s": %s, ' % (field.encode(), json.dumps(value).encode()) + json.dumps(EVENT).encode()[1:]


def verdict(event: Any) -> tuple[str, str | None]:
    row = row_of(event)
    return row["kind"], row["reason"]


def test_the_seeds_four_fields_are_a_query():
    row = row_of(EVENT)
    assert (row["kind"], row["line_format"], row["table"]) == ("query", "json-event", "t")
    assert (row["latency_ms"], row["query_text"], row["weight"]) == (5, EVENT["query"], 1.0)
    assert (row["entries_scanned_in_filter"], row["entries_scanned_post_filter"]) == (300, 20)
    assert {row[name] for name in ("logged_at", "rows_scanned", "segments_matched", "exceptions")} == {None}


def test_fields_with_pinots_names_are_kept():
    more = {
        "tableName": "named_REALTIME",
        "timestamp": "2026-11-18T08:45:08.326Z",
        "requestId": "17",
        "numDocsScanned": 1,
        "totalDocs": 2.0,
        "numSegmentsQueried": 3,
        "numSegmentsProcessed": 4,
        "numSegmentsMatched": 5,
        "exceptions": [{"errorCode": 200}],
        "numGroupsLimitReached": True,
        "host": "else",
    }
    row = row_of({**more, **EVENT})
    assert (row["table"], row["request_id"], row["exceptions"]) == ("named", 17, 1)
    assert (row["rows_scanned"], row["rows_total"]) == (1, 2)
    assert (row["segments_queried"], row["segments_processed"], row["segments_matched"]) == (3, 4, 5)
    assert row["logged_at"] == datetime(2026, 11, 18, 8, 45, 8, 326000)
    assert row["group_limit_reached"] is True


@pytest.mark.parametrize(
    ("time", "zone", "logged_at"),
    [
        (1_794_996_000, "UTC", datetime(2026, 11, 18, 10)),
        (1_794_996_000_123, "UTC", datetime(2026, 11, 18, 10, 0, 0, 123000)),
        ("1794996000123", "Asia/Kolkata", datetime(2026, 11, 18, 15, 30, 0, 123000)),
        (1_794_996_000_123_456, "UTC", datetime(2026, 11, 18, 10, 0, 0, 123000)),
        (1_794_996_000_123_456_789, "UTC", datetime(2026, 11, 18, 10, 0, 0, 123000)),
        (1_794_996_000.5, "Europe/Berlin", datetime(2026, 11, 18, 11, 0, 0, 500000)),
        ("2026-11-18T23:30:00-02:00", "Europe/Berlin", datetime(2026, 11, 19, 2, 30)),
        ("2026-11-18 23:30:00", "Europe/Berlin", datetime(2026, 11, 18, 23, 30)),
        ("2026/11/18", "Europe/Berlin", datetime(2026, 11, 18)),
        ("yesterday", "UTC", datetime(2026, 1, 2)),
        (None, "UTC", datetime(2026, 1, 2)),
        (True, "UTC", datetime(2026, 1, 2)),
        (10**30, "UTC", None),
        ("2026-13-45T00:00:00", "UTC", None),
    ],
)
def test_time_of_an_event(time, zone, logged_at):
    assert row_of({**EVENT, "time": time}, date(2026, 1, 2), zone)["logged_at"] == logged_at


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({**EVENT, "scannedEntriesInFilterCount": "300"}, ("query", None)),
        ({**EVENT, "scannedEntriesInFilterCount": 3e2}, ("query", None)),
        ({"host": "a", "message": "requestId=7,table=t"}, ("other", "not_a_query")),
        ({**EVENT, "query": "SELECT a FROM t JOIN u ON t.a = u.a"}, ("query", None)),
        ({k: v for k, v in EVENT.items() if k != "query"}, ("rejected", "incomplete_event")),
        (
            {k: v for k, v in EVENT.items() if k != "queryProcessingDuration"},
            ("rejected", "incomplete_event"),
        ),
        ({**EVENT, "query": " "}, ("rejected", "incomplete_event")),
        ({**EVENT, "query": 5}, ("rejected", "incomplete_event")),
        ({**EVENT, "scannedEntriesInFilterCount": None}, ("rejected", "incomplete_event")),
        ({**EVENT, "scannedEntriesInFilterCount": 0.5}, ("rejected", "bad_counter")),
        ({**EVENT, "scannedEntriesInFilterCount": True}, ("rejected", "bad_counter")),
        ({**EVENT, "scannedEntriesInFilterCount": {}}, ("rejected", "bad_counter")),
        ({**EVENT, "scannedEntriesInFilterCount": [1]}, ("rejected", "bad_counter")),
        ({**EVENT, "scannedEntriesInFilterCount": 2**63}, ("rejected", "bad_counter")),
        ({**EVENT, "scannedEntriesInFilterCount": 1e300}, ("rejected", "bad_counter")),
        ({**EVENT, "scannedEntriesPostFilterCount": -1}, ("rejected", "bad_counter")),
        ({**EVENT, "numDocsScanned": "-1"}, ("rejected", "bad_counter")),
        ({**EVENT, "scannedEntriesInFilterCount": float("inf")}, ("rejected", "bad_counter")),
        ({**EVENT, "queryProcessingDuration": "5 ms"}, ("rejected", "bad_counter")),
        ({**EVENT, "totalDocs": "many"}, ("rejected", "bad_counter")),
        ({**EVENT, "query": "SELECT 1"}, ("rejected", "no_table")),
        ([EVENT, EVENT], ("rejected", "several_events")),
        ({**EVENT, "requestId": "8f14e45f-ceea"}, ("query", None)),
        (twice("query", "SELECT b FROM t"), ("rejected", "repeated_field")),
        (twice("queryProcessingDuration", 7), ("rejected", "repeated_field")),
        (twice("queryProcessingDuration", EVENT["queryProcessingDuration"]), ("query", None)),
        (b'{"host": "a", "host": "b", ' + json.dumps(EVENT).encode()[1:], ("query", None)),
        (b'{"query": "SELECT a FROM t"', ("rejected", "bad_json")),
        (b'{"query": "SELECT a FROM t", }', ("rejected", "bad_json")),
        (b'{"query": ' + b"9" * 10_000 + b"}", ("rejected", "bad_json")),
        (b'{"query": ' + b"[" * 1_000_000, ("rejected", "bad_json")),
        (b'{"query": ' + b'{"a":' * 500_000, ("rejected", "bad_json")),
        (b'{"query": "' + b"\\u0041" * 600_000, ("rejected", "bad_json")),
    ],
    ids=range(33),
)
def test_verdict(event, expected):
    assert verdict(event) == expected


def test_text_that_no_file_can_hold_is_replaced():
    row = row_of(json.dumps({**EVENT, "query": "SELECT '\ud800' FROM t"}).encode() + b" ")
    assert row["query_text"] == "SELECT '?' FROM t"
    assert row_of(json.dumps(EVENT).encode().replace(b"'x'", b"'\xff'"))["query_text"].endswith("'\ufffd'")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("split_bytes", [37, 1 << 20])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_layouts_of_a_file_of_events(tmp_path, layout, split_bytes, pack):
    events = [{**EVENT, "scannedEntriesInFilterCount": n} for n in range(20)]
    text = LAYOUTS[layout](events).encode()
    (tmp_path / "events.json").write_bytes(pack(text))
    rows = read(tmp_path, split_bytes)
    queries = [row for row in rows if row["kind"] == "query"]
    assert [row["entries_scanned_in_filter"] for row in queries] == list(range(20))
    assert {row["reason"] for row in rows if row["kind"] != "query"} <= {"not_a_query"}, "an opening bracket"
    assert sum(row["source_lines"] for row in rows) == text.count(b"\n") + (not text.endswith(b"\n"))


@given(data=st.data())
def test_events_and_lines_of_a_broker_in_one_file(tmp_path_factory, data):
    parts = data.draw(st.lists(st.sampled_from([LINE, json.dumps(EVENT), "noise"]), max_size=12))
    file = tmp_path_factory.mktemp("mixed") / "mixed.log"
    file.write_text("\n".join([LINE, *parts]))
    rows = read(file, data.draw(st.integers(20, 2_000)))
    known = [row["line_format"] for row in rows if row["kind"] == "query"]
    assert known == ["later", *("later" if p is LINE else "json-event" for p in parts if p != "noise")]
    assert {row["reason"] for row in rows} <= {None, "no_record_start"}
    assert sum(row["source_lines"] for row in rows) == 2 + len(parts) + parts.count(LINE)
    assert len({row["source_position"] for row in rows}) == len(rows)


def test_events_in_a_folder_beside_logs_of_a_broker(tmp_path):
    (tmp_path / "a.log").write_text(LINE)
    (tmp_path / "b.json").write_text(json.dumps(EVENT) + "\n{}\n" + json.dumps(EVENT)[:-5])
    splits = log_splits(log_files([str(tmp_path)]), 1 << 20)
    summaries = [log_summary(batch).to_json() for split in splits for batch in parse_split(split)]
    assert [s["queries"] for s in summaries] == [1, 1]
    assert summaries[1]["rejected"] == {"bad_json": 1, "no_record_start": 1}


def test_day_of_events_without_a_time(tmp_path):
    named, nameless = tmp_path / "events-20261118.json", tmp_path / "events.json"
    for path in (named, nameless):
        path.write_text(json.dumps(EVENT))
    assert read(named)[0]["logged_at"] == datetime(2026, 11, 18)
    assert read(nameless)[0]["logged_at"] is None


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", [b'{"a":', b"{", b'{"', b"[{", b" ", b",\n", b'\n{"a":1}', b'{"a":1},'])
def test_a_hostile_megabyte_is_read(tmp_path, text):
    (tmp_path / "events.json").write_bytes(
        json.dumps(EVENT).encode() + b"\n" + text * (1_000_000 // len(text))
    )
    rows = read(tmp_path)
    assert len(rows) <= 200_000
    assert {row["kind"] for row in rows} <= {"query", "other", "rejected"}


def test_lines_behind_an_event_are_rejected_alone(tmp_path):
    text = json.dumps([EVENT], indent=1)[:-2] + " ,\r\nnot json\n東\n" + json.dumps(EVENT)
    (tmp_path / "events.json").write_text(text)
    rows = read(tmp_path)
    assert [(row["kind"], row["source_lines"]) for row in rows] == [
        ("other", 1),
        ("query", 6),
        ("rejected", 2),
        ("query", 1),
    ]
    assert rows[2]["query_text"] == "not json\n東"
    assert text.encode()[rows[2]["source_position"] :].startswith(b"not json")
