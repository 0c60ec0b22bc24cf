"""Query lines of Pinot 0.11.0 to 1.3.0: consuming segments in three parts, and the client's address.

Source: `BaseBrokerRequestHandler` of tag release-0.11.0; from 0.12.0 class `QueryLogger` writes the same
fields. The sample is asserted by `QueryLoggerTest` (commit 2c38d292ea8).
"""

from __future__ import annotations

from starskip.pinot.logs.line_formats.line_format import line_format

FORMAT = line_format(
    "0.11.0",
    "requestId=<request_id>,table=<table>,timeMs=<latency_ms>,docs=<rows_scanned>/<rows_total>,"
    "entries=<entries_scanned_in_filter>/<entries_scanned_post_filter>,"
    "segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/unavailable):"
    "<segments_queried>/<segments_processed>/<segments_matched>/<number>/<number>/<number>/<number>,"
    "consumingFreshnessTimeMs=<number>,servers=<number>/<number>,groupLimitReached=<group_limit_reached>,"
    "brokerReduceTimeMs=<number>,exceptions=<exceptions>,serverStats=<text>,"
    "offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):<number>/<number>/<number>/<number>,"
    "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):<number>/<number>/<number>/<number>,"
    "clientIp=<text>,query=<query_text>",
    sample=(
        "requestId=123,table=table,timeMs=456,docs=1/2,entries=3/4,"
        "segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/unavailable):"
        "5/6/7/8/9/10/24,consumingFreshnessTimeMs=11,servers=12/13,groupLimitReached=false,"
        "brokerReduceTimeMs=22,exceptions=0,serverStats=serverStats,"
        "offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):14/15/16/17,"
        "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):18/19/20/21,clientIp=ip,"
        "query=SELECT * FROM foo"
    ),
)
