"""What stands before the message in a line of a broker log, and so tells where a record begins.

Pinot ships the layout ``%d{yyyy/MM/dd HH:mm:ss.SSS} %p [%c{1}] [%t] %m%n``. Met in the wild besides: the
time in brackets, ISO times with ``T``, a comma before the milliseconds or a zone, a container's name and
``|`` before everything, dotted logger names, a level alone, and no prefix at all.
"""

from __future__ import annotations

import re

CONTAINER = rb"[\w.-]{1,80}+ {0,40}+\| ?"
"""The name that Docker Compose puts before every physical line, continuation lines too."""

_LEVEL = rb"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b"
_TIME = rb"\[?\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9}+)?+(?:Z|[+-]\d\d:?\d\d)?+\]?"
_CAPTURED_TIME = (
    rb"\[?(?P<logged_at>\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,3}+)?+)"
    rb"\d{0,6}+(?P<utc_offset>Z|[+-]\d\d:?\d\d)?+\]?"
)
_TOKEN = rb"\[[^\]\n]{0,300}+\]|" + _LEVEL + rb"|[\w$]++(?:\.[\w$]++)++(?::\d++)?+|-(?= )"

START_OF_LINE = rb"(?:\xef\xbb\xbf)?+(?:" + CONTAINER + rb")?+"
"""A byte order mark and a container's name, both optional."""

TIMED_START = START_OF_LINE + _TIME
"""Begins a record whatever follows it. A line of SQL that begins with a time is taken for one, too."""

BARE_START = START_OF_LINE + rb"(?:" + _LEVEL + rb" )?+"
"""Begins a record when the opening of a known message follows it (people paste lines without a prefix)."""

MAX_START_BYTES = 512
"""No start, with the opening of its message, is longer than this."""

PREFIX = re.compile(
    START_OF_LINE + rb"(?:" + _CAPTURED_TIME + rb")?+(?P<logger>(?: *+(?:" + _TOKEN + rb"))*+):?+ *+"
)
"""Everything up to the message: ``logged_at``, ``utc_offset``, and in ``logger`` level, class and thread.

It matches any record, if only with nothing. What it takes it keeps: no message is searched for in the text.
"""
