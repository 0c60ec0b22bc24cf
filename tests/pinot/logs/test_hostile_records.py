"""Texts of a megabyte that anyone may write into a log.

An expression that is not linear in one of them takes many minutes, and the timeout ends it; nothing is timed.
"""

from __future__ import annotations

import pytest
from starskip.pinot.logs.log_record import LogRecord
from starskip.pinot.logs.parse_records import parse_records

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
