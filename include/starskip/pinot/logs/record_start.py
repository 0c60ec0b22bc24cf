"""Recognise where a record of a broker log begins, and the prefix that stands before its message.

Pinot ships the layout ``%d{yyyy/MM/dd HH:mm:ss.SSS} %p [%c{1}] [%t] %m%n``. Met in the wild besides: the
time in brackets, ISO times with ``T``, a comma before the milliseconds or a zone, dotted logger names, a
level alone, and no prefix at all. What shippers put before a line is taken off before (unwrap_lines).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from starskip.pinot.logs.line_formats import FORMATS
from starskip.pinot.logs.line_template import LineFormat
from starskip.storage.files.file_blocks import has_control_characters

_LEVEL = rb"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b"
_TIME = rb"\[?\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?>[.,]\d{1,9}+|)(?>Z|[+-]\d\d:?\d\d|)\]?"
_CAPTURED_TIME = (
    rb"\[?(?P<logged_at>\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?>[.,]\d{1,3}+|))"
    rb"\d{0,6}+(?>(?P<utc_offset>Z|[+-]\d\d:?\d\d)|)\]?"
)
_TOKEN = rb"\[[^\]\n]{0,300}+\]|" + _LEVEL + rb"|[\w$]++(?>(?:\.[\w$]++)+)(?>:\d++|)|-(?= )"

START_OF_LINE = rb"(?>\xef\xbb\xbf|)"
"""A byte order mark, if there is one."""

TIMED_START = START_OF_LINE + _TIME
"""Begins a record whatever follows it. A line of SQL that begins with a time is taken for one, too."""

BARE_START = START_OF_LINE + rb"(?>" + _LEVEL + rb" |)"
"""Begins a record when the opening of a known message follows it (people paste lines without a prefix)."""

MAX_START_BYTES = 512
"""No start, with the opening of its message, is longer than this."""

PREFIX = re.compile(
    START_OF_LINE + rb"(?>" + _CAPTURED_TIME + rb"|)(?P<logger>(?>(?: *+(?:" + _TOKEN + rb"))*)):?+ *+"
)
"""Everything up to the message: ``logged_at``, ``utc_offset``, and in ``logger`` level, class and thread.

It matches any record, if only with the empty text. It never backtracks: no message is searched for in the
text.
"""

_EVENT = rb'(?>\xef\xbb\xbf|)[ \t]{0,40}+(?>[\[,]\s{0,40}+|)\{\s{0,40}+"[^"\\\n]{1,100}+"\s{0,8}+:'

EVENT_START = re.compile(_EVENT)
"""Matches the first bytes of a JSON object, also as an element of an array.

A line of SQL that looks like an event, inside a text literal, is taken for one.
"""


class RecordStarts(NamedTuple):
    """``first`` matches the first bytes of a record: a time, the opening of a known message, a JSON object.

    ``boundary`` matches the line end before a record.
    """

    first: re.Pattern[bytes]
    boundary: re.Pattern[bytes]


def record_starts(formats: Iterable[LineFormat]) -> RecordStarts:
    """Return what begins the records of a log whose messages have these formats."""
    openings = b"|".join(dict.fromkeys(form.opening for form in formats))
    start = TIMED_START + b"|" + BARE_START + b"(?:" + openings + b")|" + _EVENT
    return RecordStarts(re.compile(start), re.compile(rb"\n(?=" + start + rb")"))


KNOWN_STARTS = record_starts(FORMATS)

SNIFFED_BYTES = 1 << 10


def is_binary(head: bytes) -> bool:
    """Return whether a file that begins with ``head`` is no text: an archive, Parquet, UTF-16.

    Control characters may stand in a query, so a head in which a record begins is text.
    """
    head = head[:SNIFFED_BYTES]
    starts = KNOWN_STARTS
    return has_control_characters(head) and not starts.first.match(head) and not starts.boundary.search(head)
