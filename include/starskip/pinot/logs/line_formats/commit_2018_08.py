"""Query lines of two weeks of August and September 2018: the table behind the number, time with its unit.

Source: `BaseBrokerRequestHandler` of commit 655a9c59388, replaced by b582a493b22. The sample is that shape
with the values of pull request 3152.
"""

from __future__ import annotations

from starskip.pinot.logs.line_formats.line_format import line_format

FORMAT = line_format(
    "2018-08",
    "Request <request_id>:<table>, time:<latency_ms>ms, docs:<rows_scanned>/<rows_total>, "
    "entries:<entries_scanned_in_filter>/<entries_scanned_post_filter>, servers:<number>/<number>, "
    "exceptions:<exceptions>, query:<query_text>",
    sample=(
        "Request 7:myTable_OFFLINE, time:8ms, docs:10/44673408, entries:0/80, servers:1/1, exceptions:0, "
        "query:select * from myTable limit 10"
    ),
)
