"""Query lines of December 2016 to September 2018: long names, a space after the colon, no segments.

Source: `BrokerRequestHandler` of that time. The sample is that shape with invented values.
"""

from __future__ import annotations

from starskip.pinot.logs.line_formats.line_format import line_format

FORMAT = line_format(
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
)
