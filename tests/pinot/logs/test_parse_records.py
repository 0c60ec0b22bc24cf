"""Records -> LOG_RECORDS: what is a query, what is known to be none, what is rejected and why.

Texts of a megabyte that anyone may write into a log.

An expression that is not linear in one of them takes many minutes, and the timeout ends it; nothing is timed.
"""

from __future__ import annotations

import datetime
import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.pinot.logs import parse_records as of_records
from starskip.pinot.logs.log_record import LogRecord
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_records, parse_split
from starskip.storage.files.log_files import log_files
from starskip.storage.schemas import LOG_RECORDS

TIME = b"2026/11/18 08:45:08.326 INFO [QueryLogger] [t-1] "
TAIL = (
    b"segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/unavailable):"
    b"1/2/3/0/0/0/0,consumingFreshnessTimeMs=0,servers=1/1,groupLimitReached=false,brokerReduceTimeMs=0,"
    b"exceptions=0,serverStats=unknown,offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,"
    b"realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,clientIp=unknown,"
)


HEAD = b"requestId=7,table=t,timeMs=1,docs=2/3,entries=4/5,"
SEGMENTS = (
    b"segments(queried/processed/matched/consuming/unavailable):1/1/1/0/0,consumingFreshnessTimeMs=0,"
    b"servers=1/1,groupLimitReached=false,brokerReduceTimeMs=0,exceptions=0,serverStats="
)
TEXTS = {
    "open field names": (HEAD + SEGMENTS, b",a(", b""),
    "fields without end": (HEAD + SEGMENTS, b",a=1", b""),
    "commas": (HEAD + SEGMENTS, b",", b""),
    "commas and letters": (HEAD + SEGMENTS, b",abc", b",query"),
    "queries": (HEAD, b",query=", b""),
    "counters in front": (b"requestId=7,table=t,", b"x=1,", b"query=1"),
    "table names": (b"requestId=7,table=", b"t", b"!"),
    "list of tables": (b"requestId=7,table=[", b"a, ", b""),
    "times of the processor": (HEAD + SEGMENTS + b",query=", b",offlineThreadCpuTimeNs=1", b""),
    "old style": (b"RequestId: 7, table: t, totalTimeMs: 1, numDocsScanned: 1, ", b", query: ", b""),
    "brackets": (b"2026/11/18 08:45:08.326 ", b"[", b""),
    "bracket pairs": (b"2026/11/18 08:45:08.326 ", b"[a] ", b"x"),
    "dots": (b"2026/11/18 08:45:08.326 ", b"a.", b" x"),
    "spaces": (b"2026/11/18 08:45:08.326", b" ", b"x"),
    "digits": (b"requestId=", b"1", b""),
    "counter of digits": (b"requestId=7,table=t,timeMs=", b"9", b",query=1"),
    "words": (b"Caught exception while compiling ", b"request ", b""),
    "names of containers": (b"", b"a| ", b""),
    "line ends": (HEAD + SEGMENTS + b",query=", b"\n", b""),
    "letters": (b"", b"a", b""),
}


def line(
    head: bytes = b"requestId=7,table=t,timeMs=1,docs=2/3,entries=4/5,", sql: bytes = b"SELECT 1"
) -> bytes:
    return head + TAIL + b"query=" + sql


def parsed(*texts: bytes) -> list[dict]:
    records = [LogRecord(i, text.count(b"\n") + 1, text, None) for i, text in enumerate(texts)]
    batches = list(parse_records(records, "broker.log"))
    assert all(batch.schema == LOG_RECORDS for batch in batches)
    return pa.Table.from_batches(batches, LOG_RECORDS).to_pylist()


def verdict(text: bytes) -> tuple[str, str | None]:
    (row,) = parsed(text)
    return row["kind"], row["reason"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TIME + line(), ("query", None)),
        (line(), ("query", None)),
        (TIME + line(b"requestId=7,table=[t],timeMs=1,docs=2/3,entries=4/5,"), ("query", None)),
        (TIME + line(b"requestId=7,table=[a, b],timeMs=1,docs=2/3,entries=4/5,"), ("query", None)),
        (TIME + line(b"requestId=7,table=[a, b],timeMs=1,docs=2/3,"), ("other", "multi_stage")),
        (
            TIME + line(b"requestId=7,table=[a, b],timeMs=1,docs=2/3,", sql=b"SELECT ',entries=4/5,'"),
            ("other", "multi_stage"),
        ),
        (TIME + line(b"requestId=7,table=[],timeMs=1,docs=2/3,entries=4/5,"), ("other", "multi_stage")),
        (
            TIME + line(b"requestId=-9223372036854775808,table=t,timeMs=1,docs=0/0,entries=0/0,"),
            ("query", None),
        ),
        *(
            (TIME + line(b"requestId=7,table=t," + counters), ("rejected", "bad_counter"))
            for counters in (
                b"timeMs=-1,docs=2/3,entries=4/5,",
                b"timeMs=1,docs=-1/3,entries=4/5,",
                b"timeMs=1,docs=2/3,entries=4/-5,",
                b"timeMs=1,docs=2/3,entries=9007199254740993/0,",
                b"timeMs=1,docs=2/3,entries=9223372036854775807/0,",
            )
        ),
        (TIME + line(b"requestId=7,table=t,timeMs=1,docs=2/3,entries=9007199254740992/0,"), ("query", None)),
        (
            TIME + line(b"requestId=7,table=t,timeMs=1,docs=2/3,entries=9223372036854775808/0,"),
            ("rejected", "bad_counter"),
        ),
        (
            TIME + line(b"requestId=7,table=t,timeMs=1,docs=2/3,entries=" + b"9" * 20_000 + b"/0,"),
            ("rejected", "bad_counter"),
        ),
        (TIME + line(b"requestId=7,table=t,timeMs=x,docs=2/3,entries=4/5,"), ("rejected", "bad_counter")),
        (TIME + line(b"requestId=7,table=t,timeMs=1.5,docs=2/3,entries=4/5,"), ("rejected", "bad_counter")),
        (TIME + line(b"requestId=7,table=t,timeMs=1,docs=2/3,"), ("rejected", "incomplete_record")),
        (TIME + line(b"requestId=7,table=t,timeMs=1,docs=2/3,entries=4,"), ("rejected", "unknown_format")),
        (TIME + b"requestId=7,table=t,timeMs=1,docs=2/3,entr", ("rejected", "incomplete_record")),
        (TIME + b"requestId=7", ("rejected", "incomplete_record")),
        (TIME + b"Could not route request 7: SELECT 1", ("rejected", "unknown_format")),
        (b"2026/11/18 08:45:08.326 something else", ("rejected", "unknown_format")),
        (b"FROM t LIMIT 10", ("rejected", "no_record_start")),
        (b"\n \n", ("other", "not_a_query")),
        (
            b"2026/11/18 08:45:08.326 INFO [ZkClient] [main] state changed\n\tat a.b(C.java:1)",
            ("other", "not_a_query"),
        ),
        (TIME + b"Initialized with 3 rules", ("other", "not_a_query")),
        (TIME + b"No server found for request 7: SELECT 1", ("other", "no_server_found")),
        (TIME + b"SQL query for request 7: x " + line(), ("other", "sql_before_query")),
    ],
)
def test_verdict(text, expected):
    assert verdict(text) == expected


def test_text_of_a_query_is_never_read_as_a_counter():
    text = TIME + b"requestId=7,table=t,timeMs=1,query=SELECT ',docs=2/3,entries=4/5,exceptions=0,query=x'"
    assert verdict(text) == ("rejected", "incomplete_record")


def test_row_of_a_rejected_record_keeps_its_text_and_place():
    (row,) = parsed(TIME + b"requestId=7,table=t,timeMs=oops\xff" + b"x" * 5000)
    assert len(row["query_text"]) == 2000
    assert row["query_text"].startswith("2026/11/18 08:45:08.326 INFO [QueryLogger] [t-1] requestId=7,")
    assert "oops\ufffdxxx" in row["query_text"]
    assert row["logged_at"] == datetime.datetime(2026, 11, 18, 8, 45, 8, 326000)
    assert (row["source_file"], row["source_position"], row["source_lines"]) == ("broker.log", 0, 1)
    assert {row[name] for name in ("table", "request_id", "latency_ms", "line_format")} == {None}


def test_overflow_in_one_record_leaves_the_others_of_its_batch():
    bad = line(b"requestId=7,table=t,timeMs=1,docs=2/3,entries=4/9999999999999999999,")
    large = line(b"requestId=7,table=t,timeMs=1,docs=2/3,entries=0/9007199254740992,")
    rows = parsed(line(), bad, large)
    assert [(row["kind"], row["reason"]) for row in rows] == [
        ("query", None),
        ("rejected", "bad_counter"),
        ("query", None),
    ]
    assert [row["entries_scanned_post_filter"] for row in rows] == [5, None, 2**53]


@pytest.mark.parametrize(
    ("written", "table"),
    [
        (b"t_OFFLINE", "t"),
        (b"t_REALTIME", "t"),
        (b"t_HYBRID", "t"),
        (b"[t_OFFLINE]", "t"),
        (b"t_OFFLINE_v2", "t_OFFLINE_v2"),
        (b"t_OFFLINE_OFFLINE", "t_OFFLINE"),
        (b"_OFFLINE", "_OFFLINE"),
        (b"db.t_REALTIME", "db.t"),
        (b"t_offline", "t_offline"),
    ],
)
def test_table_type_is_taken_from_the_end_of_the_name_only(written, table):
    (row,) = parsed(line(b"requestId=7,table=" + written + b",timeMs=1,docs=2/3,entries=4/5,"))
    assert row["table"] == table


@pytest.mark.parametrize(
    ("time", "logged_at"),
    [
        (b"2026/11/18 08:45:08.326", datetime.datetime(2026, 11, 18, 8, 45, 8, 326000)),
        (b"[2026-11-18 08:45:08.326]", datetime.datetime(2026, 11, 18, 8, 45, 8, 326000)),
        (b"2026-11-18T08:45:08,326+01:00", datetime.datetime(2026, 11, 18, 7, 45, 8, 326000)),
        (b"2026-11-18T08:45:08.326999999Z", datetime.datetime(2026, 11, 18, 8, 45, 8, 326000)),
        (b"2026-11-18 08:45:08", datetime.datetime(2026, 11, 18, 8, 45, 8)),
        (b"2026/13/45 08:45:08.326", None),
    ],
)
def test_time_of_the_log(time, logged_at):
    other, row = parsed(line(), time + b" INFO [c] " + line())
    assert (row["kind"], row["logged_at"]) == ("query", logged_at)
    assert other["logged_at"] is None


@pytest.mark.parametrize(
    "text", ["REDACTED", "FINGERPRINT_FAILED_QUERY_REDACTED", "SELECT a FROM t WHERE b = ?", ""]
)
def test_redacted_text_is_a_query_with_that_text(text):
    (row,) = parsed(line(sql=text.encode()))
    assert (row["kind"], row["query_text"]) == ("query", text)


def test_bytes_that_are_not_utf8_are_replaced():
    first, second = parsed(line(sql=b"SELECT '\xff\xe6\x9d'"), line(sql="東".encode()))
    assert first["query_text"] == "SELECT '\ufffd\ufffd'"
    assert second["query_text"] == "東"


@settings(deadline=None)
@given(rows=st.integers(1, 40), batch_rows=st.integers(1, 10), batch_bytes=st.integers(1, 5000))
def test_batches_are_bounded_and_hold_all_rows_in_order(rows, batch_rows, batch_bytes):
    records = [LogRecord(i, 1, line(sql=b"%d" % i), None) for i in range(rows)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_records, "BATCH_ROWS", batch_rows)
        patch.setattr(of_records, "BATCH_BYTES", batch_bytes)
        batches = list(parse_records(records, "f"))
    assert all(0 < len(batch) <= batch_rows for batch in batches)
    assert all(len(batch) <= batch_bytes // len(line(sql=b"0")) + 1 for batch in batches)
    assert [text for batch in batches for text in batch["query_text"].to_pylist()] == [
        str(i) for i in range(rows)
    ]


@settings(deadline=None)
@given(
    order=st.permutations(
        [
            line(),
            TIME + b"SQL query for request 7: x",
            TIME + b"junk",
            line(b"requestId=7,table=t,color=red,timeMs=1,docs=2/3,entries=4/5,"),
            line()[:80],
            b"RequestId:7, table:t, timeMs:8, docs:1/4, entries:0/8, servers:1/1, exceptions:0, "
            b"serverStats:, query:s",
        ]
    )
)
def test_row_does_not_depend_on_the_rows_before_it(order):
    together = parsed(*order)
    alone = [parsed(text)[0] for text in order]
    for row in (*together, *alone):
        row["source_position"] = 0
    assert together == alone


def test_one_bad_file_is_named_and_the_rest_goes_on(tmp_path: Path):
    day = (TIME + line() + b"\n") * 100
    (tmp_path / "1-good.log").write_bytes(day)
    (tmp_path / "2-archive.log").write_bytes(b"PK\x03\x04\0\0" * 50)
    (tmp_path / "3-cut.log.gz").write_bytes(gzip.compress(day, 0)[:-5000])
    (tmp_path / "4-empty.log").touch()
    (tmp_path / "5-undecodable-\udcff.log").write_bytes(day)
    batches = [b for split in log_splits(log_files([str(tmp_path)]), 10_000) for b in parse_split(split)]
    rows = pa.Table.from_batches(batches).to_pylist()
    rejected = [row for row in rows if row["kind"] != "query"]
    assert [(Path(row["source_file"]).name, row["reason"]) for row in rejected] == [
        ("2-archive.log", "unknown_file_format"),
        ("3-cut.log.gz", "truncated_file"),
    ]
    kept = [Path(row["source_file"]).name[0] for row in rows if row["kind"] == "query"]
    assert (kept.count("1"), kept.count("5")) == (100, 100)
    assert kept.count("3") == rejected[1]["source_position"] // len(TIME + line() + b"\n") > 80


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", TEXTS)
def test_hostile_megabyte_is_one_row(name):
    head, body, tail = TEXTS[name]
    text = head + body * (1_000_000 // len(body)) + tail
    (batch,) = parse_records([LogRecord(0, 2, text, None)], "f")
    assert batch.num_rows == 1


def test_megabyte_names_are_read():
    name, sql = b"t" * (1 << 20), b"SELECT " + b"x" * (1 << 20)
    text = HEAD.replace(b"=t,", b"=" + name + b"_OFFLINE,") + SEGMENTS + b",query=" + sql
    (row,) = next(parse_records([LogRecord(0, 1, text, None)], "f")).to_pylist()
    assert (row["table"], row["query_text"]) == (name.decode(), sql.decode())
