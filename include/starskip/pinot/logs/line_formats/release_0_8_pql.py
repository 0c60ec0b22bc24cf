"""Query lines of the PQL handler of Pinot 0.8.0 and 0.9.0: CPU times *behind* the query.

Source: `BaseBrokerRequestHandler.handlePQLRequest` of tag release-0.8.0 (commit 40e5d113586). The sample is
a 0.11.0 record in that shape.
"""

from __future__ import annotations

from starskip.pinot.logs.line_formats.line_format import line_format

FORMAT = line_format(
    "0.8.0-pql",
    "requestId=<request_id>,table=<table>,timeMs=<latency_ms>,docs=<rows_scanned>/<rows_total>,"
    "entries=<entries_scanned_in_filter>/<entries_scanned_post_filter>,"
    "segments(queried/processed/matched/consuming/unavailable):"
    "<segments_queried>/<segments_processed>/<segments_matched>/<number>/<number>,"
    "consumingFreshnessTimeMs=<number>,servers=<number>/<number>,groupLimitReached=<group_limit_reached>,"
    "brokerReduceTimeMs=<number>,exceptions=<exceptions>,serverStats=<text>,query=<query_text>,"
    "offlineThreadCpuTimeNs=<number>,realtimeThreadCpuTimeNs=<number>",
    sample=(
        "requestId=4,table=airlineStats_OFFLINE,timeMs=2,docs=35/9746,entries=10050/35,"
        "segments(queried/processed/matched/consuming/unavailable):31/31/20/0/0,"
        "consumingFreshnessTimeMs=0,servers=1/1,groupLimitReached=false,brokerReduceTimeMs=0,"
        "exceptions=0,serverStats=(Server=SubmitDelayMs,ResponseDelayMs,ResponseSize,"
        "DeserializationTimeMs);192.0.2.2_O=1,1,275,0,"
        "query=SELECT COUNT(*) FROM airlineStats WHERE Origin = 'SFO',offlineThreadCpuTimeNs=0,"
        "realtimeThreadCpuTimeNs=0"
    ),
)
