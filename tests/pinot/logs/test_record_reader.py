"""Records of splits: the law of cuttings, continuation lines, damage."""

from __future__ import annotations

import gzip
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starskip.pinot.logs import record_reader
from starskip.pinot.logs.log_record import LogRecord
from starskip.pinot.logs.log_splits import LogSplit, log_splits
from starskip.pinot.logs.record_reader import BLOCK_BYTES, read_records
from starskip.pinot.logs.record_start import KNOWN_STARTS, MAX_START_BYTES

TIME = b"2026/11/18 08:45:08.326 INFO [QueryLogger] [t] "
BARE = b"requestId=7,table=t,"
PIECES = [
    TIME,
    BARE,
    b"[2024-01-10 16:19:53.939] INFO [QueryScheduler] [pqr-2] ",
    b"2024-01-10T16:19:53,939Z ",
    b"INFO RequestId:7, table:",
    b"SELECT a\n",
    b"  FROM t\r\n",
    b"\n",
    b"\r\n",
    b"2026/11/",
    "naïve – 東京".encode(),
    b"\xff\x00\x1b",
    b"42 logs were dropped.",
]
logs = st.lists(st.sampled_from(PIECES) | st.binary(max_size=5), max_size=30).map(b"".join)


def records(*splits: LogSplit, block_bytes: int = BLOCK_BYTES) -> list[LogRecord]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_reader, "BLOCK_BYTES", block_bytes)
        return [record for split in splits for record in read_records(split)]


def whole(path: Path, block_bytes: int = BLOCK_BYTES) -> list[LogRecord]:
    return records(LogSplit(str(path), 0, None, "none"), block_bytes=block_bytes)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reader") / "broker.log"


@given(log=logs, cuts=st.lists(st.integers(0, 300), max_size=6), block_bytes=st.integers(1, 700))
@settings(max_examples=400, deadline=None)
@example(log=b"", cuts=[], block_bytes=1)
@example(log=TIME + b"a\n" + TIME + b"b", cuts=[len(TIME) + 2], block_bytes=9)
@example(log=TIME + b"a\n" + TIME + b"b", cuts=[len(TIME) + 1], block_bytes=9)
@example(log=TIME + b"a\r\n" + TIME + "東".encode(), cuts=[len(TIME) + 2, 2 * len(TIME) + 4], block_bytes=1)
def test_records_of_any_cutting_are_those_of_the_file(file, log, cuts, block_bytes):
    log = TIME + b"first\n" + log if cuts and cuts[0] % 2 else log
    file.write_bytes(log)
    bounds = sorted({0, *(cut for cut in cuts if cut < len(log)), len(log)})
    splits = [LogSplit(str(file), a, b, "none") for a, b in pairwise(bounds)]
    got = records(*splits, block_bytes=block_bytes)
    if not any(record.flaw for record in whole(file)):  # a binary file is never cut
        assert got == whole(file)


@given(log=logs, block_bytes=st.integers(1, 700))
@settings(max_examples=200, deadline=None)
def test_no_byte_and_no_line_is_lost(file, log, block_bytes):
    file.write_bytes(TIME + log)
    records = whole(file, block_bytes=block_bytes)
    assert sum(record.lines for record in records) == (TIME + log).count(b"\n") + (not log.endswith(b"\n"))
    if any(record.wrappers for record in records):
        return  # one time before another is a shipper's, which is taken off
    ends = [record.position for record in records[1:]] + [len(TIME + log)]
    for record, end in zip(records, ends, strict=True):
        assert (
            (TIME + log)[record.position : end]
            .removesuffix(b"\n")
            .removesuffix(b"\r")
            .startswith(record.text.removesuffix(b"\r"))
        )


@pytest.mark.parametrize("block_bytes", [1, 50, 1 << 20])
def test_every_way_to_begin_a_record(file, block_bytes):
    starts = [
        TIME + b"x",
        b"[2024-01-10 16:19:53.939] INFO [QueryScheduler] [pqr-2] Processed",
        b"2024-01-10T16:19:53Z z",
        b"RequestId:7, table:t_OFFLINE, timeMs:8",
        b"RequestId: 7, table: t, totalTimeMs: 8",
        b"INFO requestId=3,table=[a, b],x",
        b"SQL query for request 12: SELECT 1",
        b"42 logs were dropped. (log max rate per second: 1.0)",
    ]
    file.write_bytes(b"\n".join(starts))
    assert [record.text for record in whole(file, block_bytes=block_bytes)] == starts


def test_continuation_lines_keep_their_newlines(file):
    file.write_bytes(TIME + b"SELECT a\r\n\r\nFROM t\n-- 2026/11/18 08:45:08 noon\r\n" + BARE)
    first, second = whole(file)
    assert first == LogRecord(0, 4, TIME + b"SELECT a\r\n\r\nFROM t\n-- 2026/11/18 08:45:08 noon", None)
    assert second.text == BARE


def test_text_before_the_first_record_is_a_record(file):
    file.write_bytes(b"FROM t\nLIMIT 1\n" + TIME + b"x\n")
    assert [(r.position, r.lines, r.text) for r in whole(file)] == [
        (0, 2, b"FROM t\nLIMIT 1"),
        (15, 1, TIME + b"x"),
    ]


def test_empty_file_has_no_records(file):
    file.write_bytes(b"")
    assert [list(read_records(split)) for split in log_splits([str(file)], 10)] == [[]]


def test_record_past_the_bound_is_cut_and_its_rest_not_glued_to_the_next(file, monkeypatch):
    monkeypatch.setattr(record_reader, "MAX_RECORD_BYTES", 4000)
    long_record = TIME + b"q" * 5000 + b"\n" + b"more\n" * 2000
    file.write_bytes(TIME + b"a\n" + long_record + TIME + b"z\n")
    first, cut, last = whole(file, block_bytes=700)
    assert (cut.flaw, cut.lines, cut.position) == ("too_long", 2001, len(TIME) + 2)
    assert long_record.startswith(cut.text)
    assert len(cut.text) <= 8192
    assert (first.text, last.text) == (TIME + b"a", TIME + b"z")


def test_huge_file_without_records_is_read_in_bounded_memory(file):
    with file.open("wb") as out:
        for _ in range(64):
            out.write(b"x" * (1 << 20))
    tracemalloc.start()
    try:
        (record,) = whole(file)
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()
    assert record.flaw == "too_long"


def test_split_in_the_middle_of_a_record_owns_nothing(file):
    file.write_bytes(TIME + b"x" * 3000 + b"\n" + TIME + b"y")
    assert records(LogSplit(str(file), 1000, 2000, "none"), block_bytes=100) == []


def test_truncated_gzip_keeps_the_records_before_and_names_the_cut_one(file):
    log = b"".join(TIME + b"%d\n" % i for i in range(5000))
    file.write_bytes(gzip.compress(log)[:-3000])
    records = list(read_records(LogSplit(str(file), 0, None, "gzip")))
    assert [r.flaw for r in records] == [None] * (len(records) - 1) + ["truncated_file"]
    assert len(records) > 1000
    assert b"\n".join(r.text for r in records[:-1]) == log[: records[-1].position - 1]


@pytest.mark.parametrize(("magic", "compression"), [(b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd")])
def test_file_damaged_from_the_start_is_one_record_of_one_line(file, magic, compression):
    file.write_bytes(magic + b"nonsense")
    (record,) = read_records(LogSplit(str(file), 0, None, compression))
    assert (record.flaw, record.lines, record.position) == ("damaged_file", 1, 0)


@pytest.mark.parametrize(
    "content",
    [b"PK\x03\x04\x14\0\0\0" * 99, b"PAR1\x15\x04", TIME.decode().encode("utf-16"), b"BZh9\x01\x02", b"\0"],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_file_of_no_text_is_named_once(file, content, pack):
    file.write_bytes(pack(content))
    records = [r for split in log_splits([str(file)], 5) for r in read_records(split)]
    assert [(r.flaw, r.lines) for r in records] == [("unknown_file_format", 1)]


def test_control_characters_in_a_query_are_text(file):
    file.write_bytes(TIME + b"SELECT '\0\1'\n")
    assert [r.flaw for r in whole(file)] == [None]


def test_byte_order_mark_is_no_text(file):
    file.write_bytes(b"\xef\xbb\xbf" + TIME + b"a\n" + TIME + b"b")
    assert [r.text[-1:] for r in whole(file)] == [b"a", b"b"]


def test_longest_start_fits_the_bytes_that_are_waited_for():
    for start in (
        b"\xef\xbb\xbf" + b"[2024-01-10T16:19:53.123456789+01:00]",
        b"\xef\xbb\xbf" + b"DEBUG Caught exception while compiling " + b"w" * 80 + b"request ",
        b"\xef\xbb\xbf" + b"DEBUG " + b"1" * 40 + b" logs were dropped",
    ):
        assert KNOWN_STARTS.first.fullmatch(start)
        assert len(start) < MAX_START_BYTES
