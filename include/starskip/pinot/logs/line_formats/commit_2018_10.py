"""Query lines of October 2018: `groupLimitReached` joined.

Source: commit 86f65e0eef2. The sample is that shape with the values of pull request 3152.
"""

from __future__ import annotations

from starskip.pinot.logs.line_formats.line_format import line_format

FORMAT = line_format(
    "2018-10",
    "RequestId:<request_id>, table:<table>, timeMs:<latency_ms>, docs:<rows_scanned>/<rows_total>, "
    "entries:<entries_scanned_in_filter>/<entries_scanned_post_filter>, servers:<number>/<number>, "
    "groupLimitReached:<group_limit_reached>, exceptions:<exceptions>, "
    "serverStats:<text>, query:<query_text>",
    sample=(
        "RequestId:7, table:myTable_OFFLINE, timeMs:8, docs:10/44673408, entries:0/80, servers:1/1, "
        "groupLimitReached:false, exceptions:0, serverStats:<hostName>_O=0,0,0,7, "
        "query:select * from myTable limit 10"
    ),
)
