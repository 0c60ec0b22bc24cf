"""Compile the template of a broker log line: the line itself with names in the places of its values.

A template such as ``requestId=<request_id>,table=<table>,timeMs=<latency_ms>,…,query=<query_text>`` is
turned into one regular expression. Every part of it is possessive or ends at the next field's name, so
matching is linear in the line's length whatever its text holds, and the first ``query`` field wins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

COUNTERS = (
    "request_id",
    "latency_ms",
    "rows_scanned",
    "rows_total",
    "entries_scanned_in_filter",
    "entries_scanned_post_filter",
    "segments_queried",
    "segments_processed",
    "segments_matched",
    "exceptions",
)
"""The columns of LOG_RECORDS that hold whole numbers from the line."""

# A comma inside a value (serverStats is full of them) differs from a comma that ends the value by the
# following text: `,name=`, `, name:` or `,name(part/part):`.
FREE_TEXT = rb"[^,]*+(?>(?:,(?!\s?[A-Za-z]++(?>\([A-Za-z/]*+\)|)[=:])[^,]*+)*)"

TABLE = rb"\[?+(?P<table>(?<=\[)[^\[\]\n]++(?=\])|(?<!\[)[^,\[\]\n]++)\]?+"
"""One table, or in brackets the set of tables that a multi-stage query reads: `[a]`, `[a, b]`."""

_FIELDS: dict[str, bytes] = {
    **{name: b"(?P<%s>-?\\d{1,19}+)" % name.encode() for name in COUNTERS},
    "table": TABLE,
    "group_limit_reached": rb"(?P<group_limit_reached>\w*+)",
    "number": rb"-?\d{1,40}+",
    "word": rb"\w*+",
    "words": rb"[A-Za-z ]{0,80}?",
    "text": FREE_TEXT,
    "any_text": rb".*+",
    "query_text": rb"(?P<query_text>.*)",
}
_FIELD = re.compile(r"<(\w+)>")


@dataclass(frozen=True, slots=True)
class LineFormat:
    """One shape: its name, a message of it, and the expressions that read it.

    ``pattern`` matches a whole message (a record without its prefix); its named groups are columns of
    LOG_RECORDS. ``opening`` matches the first bytes of the message. ``reason`` is None for query records,
    else why there are no counters.
    """

    name: str
    sample: str
    pattern: re.Pattern[bytes]
    opening: bytes
    reason: str | None = None


def line_format(
    name: str, template: str, *, sample: str, reason: str | None = None, unless_behind_query: str = ""
) -> LineFormat:
    """Return the format that ``template`` describes.

    Fields are the names of COUNTERS, ``<table>``, ``<group_limit_reached>``, ``<query_text>`` (the rest, any
    bytes), and, for values that are not kept, ``<number>``, ``<word>``, ``<words>``, ``<text>`` (free text up
    to the next field's name), ``<any>`` (all up to the next occurrence of the literal behind it) and
    ``<any_text>`` (the rest). An unknown name is a ValueError. A record that ends in the template
    ``unless_behind_query`` is another shape's.
    """
    body, opening = _expression(template)
    if unless_behind_query:
        stop = b"(?!.*%s\\Z)" % _expression(unless_behind_query)[0]
        body = body.replace(_FIELDS["query_text"], stop + _FIELDS["query_text"])
    return LineFormat(name, sample, message_pattern(body), opening, reason)


def _expression(template: str) -> tuple[bytes, bytes]:
    """Return the expression of a template, and of its part before the second field."""
    parts = _FIELD.split(template)
    body = opening = re.escape(parts[0]).encode()
    for number, (field, text) in enumerate(zip(parts[1::2], parts[2::2], strict=True)):
        literal = re.escape(text).encode()
        body += b"(?>.*?%s)" % literal if field == "any" else _field(field, text) + literal
        if number == 0:
            opening = re.sub(rb"\?P<\w+>", b"?:", body)
    return body, opening


def _field(name: str, behind: str) -> bytes:
    """Return the expression of a field; a table ends at a comma, and where the literal behind it begins."""
    if name not in _FIELDS:
        raise ValueError(f"a template has no field <{name}>; the fields are {', '.join(_FIELDS)}, any")
    end = re.escape(behind[:1]).encode()
    return TABLE.replace(rb"[^,\[\]\n]", rb"[^,\[\]\n" + end + b"]") if name == "table" else _FIELDS[name]


def message_pattern(body: bytes) -> re.Pattern[bytes]:
    """Return the expression of a message that is ``body`` to its last byte, newlines included."""
    return re.compile(body + rb"\Z", re.DOTALL)
