"""Query lines of Pinot's master since May 2026: `workloadName` before the query.

Source: `QueryLogger` (asserted at commit 71475e49ef3). The sample has the fields that `QueryLoggerTest`
asserts, in their order, with placeholder values.
"""

from __future__ import annotations

from starskip.pinot.logs.line_formats.line_format import line_format

FORMAT = line_format(
    "2026-05",
    "requestId=<request_id>,table=<table>,queryHash=<text>,timeMs=<latency_ms>,"
    "docs=<rows_scanned>/<rows_total>,"
    "entries=<entries_scanned_in_filter>/<entries_scanned_post_filter>,"
    "segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/unavailable):"
    "<segments_queried>/<segments_processed>/<segments_matched>/<number>/<number>/<number>/<number>,"
    "consumingFreshnessTimeMs=<number>,servers=<number>/<number>,groupsTrimmed=<word>,"
    "groupLimitReached=<group_limit_reached>,groupWarningLimitReached=<word>,brokerReduceTimeMs=<number>,"
    "exceptions=<exceptions>,serverStats=<text>,"
    "offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):<number>/<number>/<number>/<number>,"
    "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):<number>/<number>/<number>/<number>,"
    "clientIp=<text>,queryEngine=<word>,"
    "offlineMemAllocatedBytes(total/thread/resSer):<number>/<number>/<number>,"
    "realtimeMemAllocatedBytes(total/thread/resSer):<number>/<number>/<number>,pools=<text>,"
    "rlsFiltersApplied=<word>,workloadName=<text>,query=<query_text>",
    sample=(
        "requestId=123,table=table,queryHash=queryHash,timeMs=456,docs=1/2,entries=3/4,"
        "segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/unavailable):"
        "5/6/7/8/9/10/24,consumingFreshnessTimeMs=11,servers=12/13,groupsTrimmed=false,"
        "groupLimitReached=false,groupWarningLimitReached=false,brokerReduceTimeMs=22,exceptions=0,"
        "serverStats=serverStats,offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):14/15/16/17,"
        "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):18/19/20/21,clientIp=ip,"
        "queryEngine=singleStage,offlineMemAllocatedBytes(total/thread/resSer):25/26/27,"
        "realtimeMemAllocatedBytes(total/thread/resSer):28/29/30,pools=[],rlsFiltersApplied=false,"
        "workloadName=workloadName,query=SELECT * FROM foo"
    ),
)
