"""Lines of the multi-stage engine that tell of no entries, or of no table.

Source: `QueryLogger` since August 2023, which writes the set of tables as ``[a, b]``. Lines with entries are
ordinary query records, of one table or of several together. The sample is from Pinot's
`QueryLogWarmupQuerySourceTest`, query filled in; some of its lines have no ``entries`` at all.
"""

from __future__ import annotations

from starskip.pinot.logs.line_formats.line_format import LineFormat, message_pattern

_OPENING = rb"requestId=(?:-?\d{1,19}+),table="

FORMAT = LineFormat(
    name="multi_stage",
    sample="requestId=3,table=[tableA, tableB],queryHash=h3,timeMs=30,docs=1/2,exceptions=0,query=SELECT 1",
    pattern=message_pattern(
        rb"requestId=(?P<request_id>-?\d{1,19}+),table="
        rb"(?:\[\]|\[[^\],]*+(?:,[^\],]*+)++\](?!(?:(?!,query=).)*,entries=-?\d)),.*"
    ),
    opening=_OPENING,
    reason="multi_stage",
)
