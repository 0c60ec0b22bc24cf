"""Query lines of September 2018: short names, docs and entries in pairs, a colon and no space.

Source: commit b582a493b22; the sample is the genuine line that pull request 3152 quotes.
"""

from __future__ import annotations

from starskip.pinot.logs.line_formats.line_format import line_format

FORMAT = line_format(
    "2018-09",
    "RequestId:<request_id>, table:<table>, timeMs:<latency_ms>, docs:<rows_scanned>/<rows_total>, "
    "entries:<entries_scanned_in_filter>/<entries_scanned_post_filter>, servers:<number>/<number>, "
    "exceptions:<exceptions>, serverStats:<text>, query:<query_text>",
    sample=(
        "RequestId:7, table:myTable_OFFLINE, timeMs:8, docs:10/44673408, entries:0/80, servers:1/1, "
        "exceptions:0, serverStats:<hostName>_O=0,0,0,7, query:select * from myTable limit 10"
    ),
)
