"""Read query lines of an unknown Pinot release: the needed fields in their order, with any others between.

`QueryLogger` asks its authors to add fields at the end, and yet some were inserted; but the order of the
fields that are needed here has not changed since 0.5.0, and ``query`` is last. Any fields but ``query`` may
stand between two of them, so the text of a query is never read as a counter. Lines of commits between 0.12.0
and 1.4.0 are read as well. Tried last, after all exact shapes.
"""

from __future__ import annotations

from starskip.pinot.logs.line_template import FREE_TEXT, TABLE, LineFormat, message_pattern

_OTHER_FIELDS = rb"(?:(?!query[=:])[A-Za-z]++(?>\([A-Za-z/]*+\)|)[=:]" + FREE_TEXT + rb",)*?"


def _skip_to(name: bytes) -> bytes:
    return b"(?>" + _OTHER_FIELDS + name + b")"


def _integer(column: str) -> bytes:
    return b"(?P<%s>-?\\d{1,19}+)" % column.encode()


LATER_RELEASE = LineFormat(
    name="later",
    sample=(
        "requestId=1,table=t,shard=7,timeMs=2,docs=3/4,entries=5/6,segments(queried/processed/matched):7/8/9,"
        "color=red,exceptions=0,serverStats=s,mood(a/b):1/2,query=SELECT * FROM t"
    ),
    pattern=message_pattern(
        b"requestId="
        + _integer("request_id")
        + b",table="
        + TABLE
        + b","
        + _skip_to(b"timeMs=")
        + _integer("latency_ms")
        + b","
        + _skip_to(b"docs=")
        + _integer("rows_scanned")
        + b"/"
        + _integer("rows_total")
        + b","
        + _skip_to(b"entries=")
        + _integer("entries_scanned_in_filter")
        + b"/"
        + _integer("entries_scanned_post_filter")
        + b",(?>"
        + _skip_to(rb"segments\([A-Za-z/]*+\):")
        + _integer("segments_queried")
        + b"/"
        + _integer("segments_processed")
        + b"/"
        + _integer("segments_matched")
        + rb"(?>(?:/-?\d++)*),|)(?>"
        + _skip_to(b"groupLimitReached=")
        + rb"(?P<group_limit_reached>\w*+),|)(?>"
        + _skip_to(b"exceptions=")
        + _integer("exceptions")
        + b",|)"
        + _skip_to(b"query=")
        + b"(?P<query_text>.*)"
    ),
    opening=rb"requestId=-?\d{1,19}+,table=",
)
