"""Declare the shapes of broker log lines, each as a template: the line itself with names for its values.

A new shape is one more entry of ``FORMATS`` (docs/add-a-log-format.md). No two exact shapes fit the same
record, so their order matters in nothing but speed. Commits and tags are from apache/pinot; a sample without
a source is a record of Pinot 0.11.0 written in that shape.
"""

from __future__ import annotations

from starskip.pinot.logs.line_template import FREE_TEXT, TABLE, LineFormat, line_format, message_pattern
from starskip.pinot.logs.other_messages import OTHER_MESSAGES

_OLD_COUNTERS = (
    "RequestId:<request_id>, table:<table>, timeMs:<latency_ms>, docs:<rows_scanned>/<rows_total>, "
    "entries:<entries_scanned_in_filter>/<entries_scanned_post_filter>, "
)
_COUNTERS = (
    "timeMs=<latency_ms>,docs=<rows_scanned>/<rows_total>,"
    "entries=<entries_scanned_in_filter>/<entries_scanned_post_filter>,"
)
_SEGMENTS = "<segments_queried>/<segments_processed>/<segments_matched>"
_FIVE_SEGMENTS = f"segments(queried/processed/matched/consuming/unavailable):{_SEGMENTS}/<number>/<number>,"
_SEGMENT_NAMES = (
    "segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/unavailable):"
)
_SEVEN_SEGMENTS = f"{_SEGMENT_NAMES}{_SEGMENTS}/<number>/<number>/<number>/<number>,"
_SERVERS = "consumingFreshnessTimeMs=<number>,servers=<number>/<number>,"
_GROUP_LIMIT = "groupLimitReached=<group_limit_reached>,"
_GROUPS = f"groupsTrimmed=<word>,{_GROUP_LIMIT}groupWarningLimitReached=<word>,"
_RESULT = "exceptions=<exceptions>,serverStats=<text>,"
_REDUCE = "brokerReduceTimeMs=<number>,"
_CPU_TIME = "offlineThreadCpuTimeNs=<number>,realtimeThreadCpuTimeNs=<number>"
_FOUR_PARTS = "(total/thread/sysActivity/resSer):<number>/<number>/<number>/<number>,"
_CPU_TIMES = f"offlineThreadCpuTimeNs{_FOUR_PARTS}realtimeThreadCpuTimeNs{_FOUR_PARTS}"
_THREE_PARTS = "(total/thread/resSer):<number>/<number>/<number>,"
_MEMORY = f"offlineMemAllocatedBytes{_THREE_PARTS}realtimeMemAllocatedBytes{_THREE_PARTS}"
_CLIENT = f"{_CPU_TIMES}clientIp=<text>,queryEngine=<word>,{_MEMORY}pools=<text>,rlsFiltersApplied=<word>,"
_QUERY = "query=<query_text>"

_SAMPLE_VALUES = {
    "request_id": "4",
    "table": "airlineStats_OFFLINE",
    "latency_ms": "2",
    "rows_scanned": "35",
    "rows_total": "9746",
    "entries_scanned_in_filter": "10050",
    "entries_scanned_post_filter": "35",
    "segments_queried": "31",
    "segments_processed": "31",
    "segments_matched": "20",
    "group_limit_reached": "false",
    "exceptions": "0",
    "text": "(Server=SubmitDelayMs,ResponseDelayMs,ResponseSize,DeserializationTimeMs);192.0.2.2_O=1,1,275,0",
    "query_text": "SELECT COUNT(*) FROM airlineStats WHERE Origin = 'SFO'",
}
_PLACEHOLDER_COUNTERS = f"timeMs=456,docs=1/2,entries=3/4,{_SEGMENT_NAMES}5/6/7/8/9/10/24,"
_PLACEHOLDER_QUERY = "query=SELECT * FROM foo"
_PLACEHOLDER_REST = (
    "consumingFreshnessTimeMs=11,servers=12/13,groupsTrimmed=false,groupLimitReached=false,"
    "groupWarningLimitReached=false,brokerReduceTimeMs=22,exceptions=0,serverStats=serverStats,"
    "offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):14/15/16/17,"
    "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):18/19/20/21,clientIp=ip,"
    "queryEngine=singleStage,offlineMemAllocatedBytes(total/thread/resSer):25/26/27,"
    "realtimeMemAllocatedBytes(total/thread/resSer):28/29/30,pools=[],rlsFiltersApplied=false,"
)
"""The fields that `QueryLoggerTest` asserts since 1.4.0, in their order, with placeholder values."""

_OTHER_FIELDS = rb"(?:(?!query[=:])[A-Za-z]++(?>\([A-Za-z/]*+\)|)[=:]" + FREE_TEXT + rb",)*?"


def _without_sample(name: str, template: str) -> LineFormat:
    """Return a format whose sample is the record of _SAMPLE_VALUES."""
    sample = template.replace("servers=<number>/<number>", "servers=1/1")
    sample = sample.replace("servers:<number>/<number>", "servers:1/1")
    for field, value in (*_SAMPLE_VALUES.items(), ("number", "0")):
        sample = sample.replace(f"<{field}>", value)
    return line_format(name, template, sample=sample)


FORMATS = (
    # Pinot 0.11.0 to 1.3.0: consuming segments in three parts, and the client's address. `QueryLogger` writes
    # it from 0.12.0 on. `QueryLoggerTest` asserts the sample (commit 2c38d292ea8).
    line_format(
        "0.11.0",
        f"requestId=<request_id>,table=<table>,{_COUNTERS}{_SEVEN_SEGMENTS}{_SERVERS}{_GROUP_LIMIT}{_REDUCE}"
        f"{_RESULT}{_CPU_TIMES}clientIp=<text>,{_QUERY}",
        sample=(
            f"requestId=123,table=table,{_PLACEHOLDER_COUNTERS}consumingFreshnessTimeMs=11,servers=12/13,"
            "groupLimitReached=false,brokerReduceTimeMs=22,exceptions=0,serverStats=serverStats,"
            "offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):14/15/16/17,"
            "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):18/19/20/21,clientIp=ip,"
            f"{_PLACEHOLDER_QUERY}"
        ),
    ),
    # Pinot 1.5.0 (commit 8fd34ecbf5e): `queryHash` between table and time.
    line_format(
        "1.5.0",
        f"requestId=<request_id>,table=<table>,queryHash=<text>,{_COUNTERS}{_SEVEN_SEGMENTS}{_SERVERS}{_GROUPS}"
        f"{_REDUCE}{_RESULT}{_CLIENT}{_QUERY}",
        sample=(
            f"requestId=123,table=table,queryHash=queryHash,{_PLACEHOLDER_COUNTERS}{_PLACEHOLDER_REST}"
            f"{_PLACEHOLDER_QUERY}"
        ),
    ),
    # Pinot 1.4.0 (commit 767e3cddd64): engine, memory, pools, row-level security and group trimming. Commits
    # between the releases lack some of these fields: LATER_RELEASE reads them.
    line_format(
        "1.4.0",
        f"requestId=<request_id>,table=<table>,{_COUNTERS}{_SEVEN_SEGMENTS}{_SERVERS}{_GROUPS}{_REDUCE}{_RESULT}"
        f"{_CLIENT}{_QUERY}",
        sample=f"requestId=123,table=table,{_PLACEHOLDER_COUNTERS}{_PLACEHOLDER_REST}{_PLACEHOLDER_QUERY}",
    ),
    # Pinot's master since May 2026 (asserted at commit 71475e49ef3): `workloadName` before the query.
    line_format(
        "2026-05",
        f"requestId=<request_id>,table=<table>,queryHash=<text>,{_COUNTERS}{_SEVEN_SEGMENTS}{_SERVERS}{_GROUPS}"
        f"{_REDUCE}{_RESULT}{_CLIENT}workloadName=<text>,{_QUERY}",
        sample=(
            f"requestId=123,table=table,queryHash=queryHash,{_PLACEHOLDER_COUNTERS}{_PLACEHOLDER_REST}"
            f"workloadName=workloadName,{_PLACEHOLDER_QUERY}"
        ),
    ),
    # Pinot 1.6.0 (release notes of 2026-10; commits 22470be7320 and 49d9994479f, of which only the headers
    # were read): `approximatedResult`, which `QueryLogger` asks to be added behind the last field.
    line_format(
        "1.6.0",
        f"requestId=<request_id>,table=<table>,queryHash=<text>,{_COUNTERS}{_SEVEN_SEGMENTS}{_SERVERS}{_GROUPS}"
        f"{_REDUCE}{_RESULT}{_CLIENT}workloadName=<text>,approximatedResult=<word>,{_QUERY}",
        sample=(
            f"requestId=123,table=table,queryHash=queryHash,{_PLACEHOLDER_COUNTERS}{_PLACEHOLDER_REST}"
            f"workloadName=workloadName,approximatedResult=false,{_PLACEHOLDER_QUERY}"
        ),
    ),
    # Pinot 0.10.0: CPU times in four parts, and the query last for PQL too.
    _without_sample(
        "0.10.0",
        f"requestId=<request_id>,table=<table>,{_COUNTERS}{_FIVE_SEGMENTS}{_SERVERS}{_GROUP_LIMIT}{_REDUCE}"
        f"{_RESULT}{_CPU_TIMES}{_QUERY}",
    ),
    # The SQL handler of Pinot 0.8.0 (commit 40e5d113586) and 0.9.0: CPU times before the query.
    _without_sample(
        "0.8.0-sql",
        f"requestId=<request_id>,table=<table>,{_COUNTERS}{_FIVE_SEGMENTS}{_SERVERS}{_GROUP_LIMIT}{_REDUCE}"
        f"{_RESULT}{_CPU_TIME},{_QUERY}",
    ),
    # The PQL handler of Pinot 0.8.0 and 0.9.0: CPU times *behind* the query.
    _without_sample(
        "0.8.0-pql",
        f"requestId=<request_id>,table=<table>,{_COUNTERS}{_FIVE_SEGMENTS}{_SERVERS}{_GROUP_LIMIT}{_REDUCE}"
        f"{_RESULT}{_QUERY},{_CPU_TIME}",
    ),
    # Pinot 0.6.0 (commit 73f0459dc0f) and 0.7.1: the broker's reduce time. The sample is a genuine line of a
    # realtime table, from a comment in the Pulsar plugin of package com.reelevant.pinot. A line that ends in
    # CPU times is PQL of 0.8.0.
    line_format(
        "0.6.0",
        f"requestId=<request_id>,table=<table>,{_COUNTERS}{_FIVE_SEGMENTS}{_SERVERS}{_GROUP_LIMIT}{_REDUCE}"
        f"{_RESULT}{_QUERY}",
        unless_behind_query="," + _CPU_TIME,
        sample=(
            "requestId=14,table=datasource_6078145ea64b0003002b3292,timeMs=13,docs=9/9,entries=0/288,"
            "segments(queried/processed/matched/consuming/unavailable):1/1/1/1/0,"
            "consumingFreshnessTimeMs=1618482800897,servers=1/1,groupLimitReached=false,"
            "brokerReduceTimeMs=2,exceptions=0,serverStats=(Server=SubmitDelayMs,ResponseDelayMs,"
            "ResponseSize,DeserializationTimeMs);192.168.32.8_R=1,8,3678,0,"
            "query=select * from datasource_6078145ea64b0003002b3292 limit 10"
        ),
    ),
    # Pinot 0.5.0 (commit 4df2d5f0550): `name=value` without spaces from here on.
    _without_sample(
        "0.5.0",
        f"requestId=<request_id>,table=<table>,{_COUNTERS}{_FIVE_SEGMENTS}{_SERVERS}{_GROUP_LIMIT}{_RESULT}"
        f"{_QUERY}",
    ),
    # Pinot 0.4.0 (commit f0ecdf101f6): unavailable segments.
    _without_sample(
        "0.4.0",
        f"{_OLD_COUNTERS}segments(queried/processed/matched/consuming/unavailable):"
        f"{_SEGMENTS}/<number>/<number>, consumingFreshnessTimeMs:<number>, servers:<number>/<number>, "
        "groupLimitReached:<group_limit_reached>, exceptions:<exceptions>, serverStats:<text>, "
        "query:<query_text>",
    ),
    # Pinot 0.2.0 (commit 06baad647bf) and 0.3.0: consuming segments and their freshness.
    _without_sample(
        "0.2.0",
        f"{_OLD_COUNTERS}segments(queried/processed/matched/consuming):{_SEGMENTS}/<number>, "
        "consumingFreshnessTimeMs:<number>, servers:<number>/<number>, "
        "groupLimitReached:<group_limit_reached>, exceptions:<exceptions>, serverStats:<text>, "
        "query:<query_text>",
    ),
    # Pinot 0.1.0 (commit 9607ca49027): segments, with a space and no comma behind them.
    _without_sample(
        "0.1.0",
        f"{_OLD_COUNTERS}segments(queried/processed/matched):{_SEGMENTS} servers:<number>/<number>, "
        "groupLimitReached:<group_limit_reached>, exceptions:<exceptions>, serverStats:<text>, "
        "query:<query_text>",
    ),
    # October 2018 (commit 86f65e0eef2): `groupLimitReached`. The sample has the values of pull request 3152.
    line_format(
        "2018-10",
        f"{_OLD_COUNTERS}servers:<number>/<number>, groupLimitReached:<group_limit_reached>, "
        "exceptions:<exceptions>, serverStats:<text>, query:<query_text>",
        sample=(
            "RequestId:7, table:myTable_OFFLINE, timeMs:8, docs:10/44673408, entries:0/80, servers:1/1, "
            "groupLimitReached:false, exceptions:0, serverStats:<hostName>_O=0,0,0,7, "
            "query:select * from myTable limit 10"
        ),
    ),
    # September 2018 (commit b582a493b22): short names, docs and entries in pairs, a colon and no space. The
    # sample is the genuine line that pull request 3152 quotes.
    line_format(
        "2018-09",
        f"{_OLD_COUNTERS}servers:<number>/<number>, exceptions:<exceptions>, serverStats:<text>, "
        "query:<query_text>",
        sample=(
            "RequestId:7, table:myTable_OFFLINE, timeMs:8, docs:10/44673408, entries:0/80, servers:1/1, "
            "exceptions:0, serverStats:<hostName>_O=0,0,0,7, query:select * from myTable limit 10"
        ),
    ),
    # Two weeks of August and September 2018 (commits 655a9c59388 to b582a493b22): the table behind the
    # number, the time with its unit. The sample has the values of pull request 3152.
    line_format(
        "2018-08",
        "Request <request_id>:<table>, time:<latency_ms>ms, docs:<rows_scanned>/<rows_total>, "
        "entries:<entries_scanned_in_filter>/<entries_scanned_post_filter>, servers:<number>/<number>, "
        "exceptions:<exceptions>, query:<query_text>",
        sample=(
            "Request 7:myTable_OFFLINE, time:8ms, docs:10/44673408, entries:0/80, servers:1/1, exceptions:0, "
            "query:select * from myTable limit 10"
        ),
    ),
    # December 2016 to September 2018: long names, a space after the colon, no segments. Invented values.
    line_format(
        "2016-12",
        "RequestId: <request_id>, table: <table>, totalTimeMs: <latency_ms>, "
        "numDocsScanned: <rows_scanned>, numEntriesScannedInFilter: <entries_scanned_in_filter>, "
        "numEntriesScannedPostFilter: <entries_scanned_post_filter>, totalDocs: <rows_total>, "
        "scatterGatherStats: <any>, query: <query_text>",
        sample=(
            "RequestId: 4, table: myTable_OFFLINE, totalTimeMs: 12, numDocsScanned: 10, "
            "numEntriesScannedInFilter: 300, numEntriesScannedPostFilter: 80, totalDocs: 44673408, "
            "scatterGatherStats: {host_O=0,1}, query: select * from myTable limit 10"
        ),
    ),
    *OTHER_MESSAGES,
)
"""The exact shapes."""


def _skip_to(name: bytes) -> bytes:
    return b"(?>" + _OTHER_FIELDS + name + b")"


def _integer_field(column: str) -> bytes:
    return b"(?P<%s>-?\\d{1,19}+)" % column.encode()


# `QueryLogger` asks its authors to add fields at the end, and yet some were inserted; but the order of the
# fields that are needed here has not changed since 0.5.0, and ``query`` is last. Any fields but ``query``
# may stand between two of them, so the text of a query is never read as a counter. Lines of commits between
# 0.12.0 and 1.4.0 are read as well. Tried last, after all exact shapes.
LATER_RELEASE = LineFormat(
    name="later",
    sample=(
        "requestId=1,table=t,shard=7,timeMs=2,docs=3/4,entries=5/6,segments(queried/processed/matched):7/8/9,"
        "color=red,exceptions=0,serverStats=s,mood(a/b):1/2,query=SELECT * FROM t"
    ),
    pattern=message_pattern(
        b"requestId="
        + _integer_field("request_id")
        + b",table="
        + TABLE
        + b","
        + _skip_to(b"timeMs=")
        + _integer_field("latency_ms")
        + b","
        + _skip_to(b"docs=")
        + _integer_field("rows_scanned")
        + b"/"
        + _integer_field("rows_total")
        + b","
        + _skip_to(b"entries=")
        + _integer_field("entries_scanned_in_filter")
        + b"/"
        + _integer_field("entries_scanned_post_filter")
        + b",(?>"
        + _skip_to(rb"segments\([A-Za-z/]*+\):")
        + _integer_field("segments_queried")
        + b"/"
        + _integer_field("segments_processed")
        + b"/"
        + _integer_field("segments_matched")
        + rb"(?>(?:/-?\d++)*),|)(?>"
        + _skip_to(b"groupLimitReached=")
        + rb"(?P<group_limit_reached>\w*+),|)(?>"
        + _skip_to(b"exceptions=")
        + _integer_field("exceptions")
        + b",|)"
        + _skip_to(b"query=")
        + b"(?P<query_text>.*)"
    ),
    opening=rb"requestId=-?\d{1,19}+,table=",
)
