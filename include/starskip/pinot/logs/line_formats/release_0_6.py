"""Query lines of Pinot 0.6.0 and 0.7.1: the broker's reduce time joined.

Source: `BaseBrokerRequestHandler` of tag release-0.6.0 (commit 73f0459dc0f). The sample is a genuine line
of a realtime table, from a comment in the Pulsar plugin of package com.reelevant.pinot. A line that ends in
CPU times is PQL of 0.8.0, not this.
"""

from __future__ import annotations

from starskip.pinot.logs.line_formats.line_format import line_format

FORMAT = line_format(
    "0.6.0",
    "requestId=<request_id>,table=<table>,timeMs=<latency_ms>,docs=<rows_scanned>/<rows_total>,"
    "entries=<entries_scanned_in_filter>/<entries_scanned_post_filter>,"
    "segments(queried/processed/matched/consuming/unavailable):"
    "<segments_queried>/<segments_processed>/<segments_matched>/<number>/<number>,"
    "consumingFreshnessTimeMs=<number>,servers=<number>/<number>,groupLimitReached=<group_limit_reached>,"
    "brokerReduceTimeMs=<number>,exceptions=<exceptions>,serverStats=<text>,query=<query_text>",
    unless_behind_query=",offlineThreadCpuTimeNs=<number>,realtimeThreadCpuTimeNs=<number>",
    sample=(
        "requestId=14,table=datasource_6078145ea64b0003002b3292,timeMs=13,docs=9/9,entries=0/288,"
        "segments(queried/processed/matched/consuming/unavailable):1/1/1/1/0,"
        "consumingFreshnessTimeMs=1618482800897,servers=1/1,groupLimitReached=false,"
        "brokerReduceTimeMs=2,exceptions=0,serverStats=(Server=SubmitDelayMs,ResponseDelayMs,"
        "ResponseSize,DeserializationTimeMs);192.168.32.8_R=1,8,3678,0,"
        "query=select * from datasource_6078145ea64b0003002b3292 limit 10"
    ),
)
