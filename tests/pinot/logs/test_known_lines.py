"""Lines of real deployments and lines that Pinot's own tests assert, each with the shape that reads it.

Where they come from: a broker of 1.5.1 that answered the sample's queries, pull requests 3152 (2018), 15254
(2025) and 3862 (2019), issue 12224 (2024), a comment of package com.reelevant.pinot (2021), and the commits
of `QueryLoggerTest` that are named beside its lines.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_split

GENUINE_V1 = (
    "RequestId:7, table:myTable_OFFLINE, timeMs:8, docs:10/44673408, entries:0/80, servers:1/1, "
    "exceptions:0, serverStats:<hostName>_O=0,0,0,7, query:select * from myTable limit 10"
)
GENUINE_V7 = (
    "requestId=14,table=datasource_6078145ea64b0003002b3292,timeMs=13,docs=9/9,entries=0/288,"
    "segments(queried/processed/matched/consuming/unavailable):1/1/1/1/0,"
    "consumingFreshnessTimeMs=1618482800897,servers=1/1,groupLimitReached=false,brokerReduceTimeMs=2,"
    "exceptions=0,serverStats=(Server=SubmitDelayMs,ResponseDelayMs,ResponseSize,DeserializationTimeMs);"
    "192.168.32.8_R=1,8,3678,0,query=select * from datasource_6078145ea64b0003002b3292 limit 10"
)
GENUINE_SQL_FIRST = (
    "2025/03/12 13:19:33.174 INFO [BaseSingleStageBrokerRequestHandler] "
    "[jersey-server-managed-async-executor-4] SQL query for request 2067850605000000001: "
    "select * from airlineStats limit 10"
)
GENUINE_1_5_1 = (
    "2026/11/20 07:17:05.482 INFO [QueryLogger] [jersey-server-managed-async-executor-1] "
    "SQL query for request 142466608000003764: SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue "
    "FROM lineitem WHERE l_suppkey = 406 AND l_shipdate BETWEEN '1992-10-06' AND '1993-01-03'",
    "2026/11/20 07:17:05.491 INFO [QueryLogger] [jersey-server-managed-async-executor-1] "
    "requestId=142466608000003764,table=lineitem,queryHash=,timeMs=13,docs=28/299814,entries=300870/56,"
    "segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/unavailable):"
    "4/4/4/0/0/0/0,consumingFreshnessTimeMs=0,servers=1/1,groupsTrimmed=false,groupLimitReached=false,"
    "groupWarningLimitReached=false,brokerReduceTimeMs=0,exceptions=0,serverStats=(Server=SubmitDelayMs,"
    "ResponseDelayMs,ResponseSize,DeserializationTimeMs,RequestSentDelayMs);localhost_O=0,9,366,0,1,"
    "offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,"
    "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,clientIp=unknown,"
    "queryEngine=singleStage,offlineMemAllocatedBytes(total/thread/resSer):0/0/0,"
    "realtimeMemAllocatedBytes(total/thread/resSer):0/0/0,pools=[-1],rlsFiltersApplied=false,"
    "query=SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem "
    "WHERE l_suppkey = 406 AND l_shipdate BETWEEN '1992-10-06' AND '1993-01-03'",
)
SERVER_2019 = (
    "Processed requestId=192,table=test_OFFLINE,Segments(Queried/processed/matched)=2/2/2,schedulerWait=2,"
    "totalExecMs=360,totalTimeMs=362,broker=Broker_localhost_8099,numDocsScanned=11672398,"
    "scanInFilter=15593300,scanPostFilter=2,sched=fcfs"
)
SERVER_2024 = (
    "[2024-01-10 16:19:53.939] INFO [QueryScheduler] [pqr-2] Processed requestId=385128946000000410,"
    "table=systemMetricDouble_OFFLINE,segments(queried/processed/matched/consumingQueried/"
    "consumingProcessed/consumingMatched/invalid/limit/value)=16/15/15/-1/0/0/0/0/1,schedulerWaitMs=0,"
    "reqDeserMs=0,totalExecMs=116,resSerMs=1,totalTimeMs=117,minConsumingFreshnessMs=-1,broker=...,"
    "numDocsScanned=10085435,scanInFilter=10085435,scanPostFilter=20170870,sched=FCFS,"
    "threadCpuTimeNs(total/thread/sysActivity/resSer)=0/0/0/0"
)

_CPU = (
    "offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):14/15/16/17,"
    "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):18/19/20/21,"
)
_MEMORY = (
    "offlineMemAllocatedBytes(total/thread/resSer):25/26/27,realtimeMemAllocatedBytes(total/thread/resSer):"
    "28/29/30,"
)


def asserted(*, groups: str = "groupLimitReached=false,", end: str = "", hash_: str = "") -> str:
    """A line of `QueryLoggerTest`, whose fields grew over the years."""
    return (
        f"requestId=123,table=table,{hash_}timeMs=456,docs=1/2,entries=3/4,"
        "segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/unavailable)"
        ":5/6/7/8/9/10/24,consumingFreshnessTimeMs=11,servers=12/13,"
        f"{groups}brokerReduceTimeMs=22,exceptions=0,serverStats=serverStats,{_CPU}clientIp=ip,{end}"
        "query=SELECT * FROM foo"
    )


_WARNED = "groupLimitReached=false,groupWarningLimitReached=false,"
_TRIMMED = "groupsTrimmed=false," + _WARNED
_ENGINE = "queryEngine=singleStage,"
_POOLS = f"{_ENGINE}{_MEMORY}pools=[],"
_RLS = f"{_POOLS}rlsFiltersApplied=false,"
_HASH = "queryHash=queryHash,"

ASSERTED = {
    "2c38d292ea8 of 2022-11": (asserted(), "0.11.0"),
    "bc567a02b88 of 2025-03": (asserted(end=_ENGINE), "later"),
    "f0c9638a0ea of 2025-05": (asserted(groups=_WARNED, end=_ENGINE), "later"),
    "a5fdc19b908 of 2025-05": (asserted(groups=_WARNED, end=_ENGINE + _MEMORY), "later"),
    "fecaca97d04 of 2025-06": (asserted(groups=_WARNED, end=f"{_ENGINE}{_MEMORY}replicaGroups=[],"), "later"),
    "50ab6f20657 of 2025-06": (asserted(groups=_WARNED, end=_POOLS), "later"),
    "3ecbb61dfb2 of 2025-07": (asserted(groups=_WARNED, end=_RLS), "later"),
    "767e3cddd64 of 2025-07": (asserted(groups=_TRIMMED, end=_RLS), "1.4.0"),
    "576530bd5d7 of 2026-04": (asserted(groups=_TRIMMED, end=_RLS, hash_=_HASH), "1.5.0"),
    "71475e49ef3 of 2026-07": (
        asserted(groups=_TRIMMED, end=f"{_RLS}workloadName=workloadName,", hash_=_HASH),
        "2026-05",
    ),
}


def rows(tmp_path: Any, *lines: str) -> list[dict[str, Any]]:
    (tmp_path / "broker.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    splits = log_splits([str(tmp_path / "broker.log")], 1 << 20)
    return pa.Table.from_batches([b for split in splits for b in parse_split(split)]).to_pylist()


def test_genuine_line_of_2018(tmp_path):
    (row,) = rows(tmp_path, GENUINE_V1)
    assert (row["kind"], row["line_format"], row["table"]) == ("query", "2018-09", "myTable")
    assert (row["latency_ms"], row["rows_scanned"], row["rows_total"]) == (8, 10, 44_673_408)
    assert (row["entries_scanned_in_filter"], row["entries_scanned_post_filter"]) == (0, 80)
    assert row["query_text"] == "select * from myTable limit 10"
    assert row["group_limit_reached"] is None


@pytest.mark.parametrize(
    "prefix", ["", "pinot-broker_1      | ", "pinot-broker-1  | 2021-04-15T10:00:00.123Z "]
)
def test_genuine_line_of_2021_with_the_prefix_of_docker_compose(tmp_path, prefix):
    first, second = rows(tmp_path, prefix + GENUINE_V7, prefix + GENUINE_V7)
    assert first["query_text"] == second["query_text"]
    assert (first["line_format"], first["table"]) == ("0.6.0", "datasource_6078145ea64b0003002b3292")
    assert (first["request_id"], first["latency_ms"], first["entries_scanned_post_filter"]) == (14, 13, 288)
    assert first["query_text"] == "select * from datasource_6078145ea64b0003002b3292 limit 10"
    assert first["group_limit_reached"] is False


def test_a_query_over_several_lines_in_docker_composes_output(tmp_path):
    prefix = "pinot-broker_1      | "
    text = (prefix + GENUINE_V7).replace(" from ", f"\n{prefix}from ")
    first, second = rows(tmp_path, text, prefix + GENUINE_SQL_FIRST)
    assert first["query_text"] == "select *\nfrom datasource_6078145ea64b0003002b3292 limit 10"
    assert first["source_lines"] == 2
    assert second["logged_at"] == datetime(2025, 3, 12, 13, 19, 33, 174000)


def test_the_two_lines_of_a_query_of_1_5_1_are_one_query(tmp_path):
    before, row = rows(tmp_path, *GENUINE_1_5_1)
    assert (before["kind"], before["reason"]) == ("other", "sql_before_query")
    assert (row["kind"], row["line_format"], row["table"]) == ("query", "1.5.0", "lineitem")
    assert (row["request_id"], row["latency_ms"]) == (142466608000003764, 13)
    assert (row["entries_scanned_in_filter"], row["entries_scanned_post_filter"]) == (300_870, 56)
    assert row["query_text"].startswith("SELECT SUM(") and row["query_text"].endswith("'1993-01-03'")


@pytest.mark.parametrize(
    ("line", "reason"),
    [(GENUINE_SQL_FIRST, "sql_before_query"), (SERVER_2019, "server_record"), (SERVER_2024, "server_record")],
)
def test_genuine_lines_without_a_brokers_counters(tmp_path, line, reason):
    (row,) = rows(tmp_path, line)
    assert (row["kind"], row["reason"], row["table"]) == ("other", reason, None)


@pytest.mark.parametrize("commit", ASSERTED)
def test_line_that_pinots_own_test_asserts(tmp_path, commit):
    line, line_format = ASSERTED[commit]
    (row,) = rows(tmp_path, line)
    assert (row["kind"], row["line_format"], row["table"]) == ("query", line_format, "table")
    assert (row["request_id"], row["latency_ms"], row["exceptions"]) == (123, 456, 0)
    assert (row["rows_scanned"], row["rows_total"]) == (1, 2)
    assert (row["entries_scanned_in_filter"], row["entries_scanned_post_filter"]) == (3, 4)
    assert (row["segments_queried"], row["segments_processed"], row["segments_matched"]) == (5, 6, 7)
    assert (row["query_text"], row["group_limit_reached"]) == ("SELECT * FROM foo", False)


def test_multi_stage_line_of_pinots_warm_up_test_has_no_entries(tmp_path):
    line = (
        "INFO requestId=3,table=[tableA, tableB],queryHash=h3,timeMs=30,docs=1/2,exceptions=0,query=SELECT 1"
    )
    (row,) = rows(tmp_path, line)
    assert (row["kind"], row["reason"]) == ("other", "multi_stage")


@pytest.mark.parametrize(
    ("line", "line_format"),
    [
        (
            "RequestId: 4, table: t_REALTIME, totalTimeMs: 12, numDocsScanned: 10, "
            "numEntriesScannedInFilter: 300, numEntriesScannedPostFilter: 80, totalDocs: 99, "
            'scatterGatherStats: {h_O=0,1}, query: select * from t where a = "x, query: y" limit 10',
            "2016-12",
        ),
        (
            "Request 4:t_OFFLINE, time:12ms, docs:10/99, entries:300/80, servers:1/1, exceptions:0, "
            'query:select * from t where a = "x, query:y" limit 10',
            "2018-08",
        ),
        (
            GENUINE_V1.replace("myTable", "t").replace("exceptions", "groupLimitReached:true, exceptions"),
            "2018-10",
        ),
    ],
)
def test_other_lines_before_the_first_release(tmp_path, line, line_format):
    (row,) = rows(tmp_path, "2018/10/01 00:00:00.000 INFO [BrokerRequestHandler] [jersey-1] " + line)
    assert (row["kind"], row["line_format"], row["table"]) == ("query", line_format, "t")
    assert row["query_text"].endswith("limit 10")
    assert row["group_limit_reached"] is (True if line_format == "2018-10" else None)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("ResponseTimes for requestId:7, total time:8 scatterGatherStats: {h=1}", "no_entries"),
        (
            "ResponseTimes for requestId:7, table:t, total time:8, scanned docs:5, total docs:9, "
            "scatterGatherStats: {} query: select a\nfrom t",
            "no_entries",
        ),
        ("Query string for requestId 7: select a\nfrom t", "sql_before_query"),
        (
            "Parsing error on requestId 7: selec\njava.lang.Exception: bad\n\tat a.b(C.java:1)",
            "refused_by_broker",
        ),
        ("Validation error on requestId 7: select a from t, too many", "refused_by_broker"),
        ("Request 7 exceeds query quota for table: t", "quota_exceeded"),
        ("Access denied for requestId 7, table t", "access_denied"),
    ],
)
def test_messages_of_2016_to_2018_that_tell_no_entries(tmp_path, message, reason):
    (row,) = rows(tmp_path, "2017/10/01 00:00:00.000 INFO [BrokerRequestHandler] [jersey-1] " + message)
    assert (row["kind"], row["reason"]) == ("other", reason)
