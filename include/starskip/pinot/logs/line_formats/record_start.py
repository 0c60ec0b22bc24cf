"""Where records begin, and what is no log at all."""

from __future__ import annotations

import re

from starskip.pinot.logs.line_formats.log_prefix import BARE_START, TIMED_START
from starskip.pinot.logs.line_formats.registry import FORMATS

_OPENINGS = b"|".join(dict.fromkeys(form.opening for form in FORMATS))
_EVENT = rb'(?:\xef\xbb\xbf)?+[ \t]{0,40}+(?:[\[,]\s{0,40}+)?+\{\s{0,40}+"[^"\\\n]{1,100}+"\s{0,8}+:'
_START = TIMED_START + b"|" + BARE_START + b"(?:" + _OPENINGS + b")|" + _EVENT
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

EVENT_START = re.compile(_EVENT)
"""Matches the first bytes of a JSON object, also as an element of an array.

A line of SQL that looks so, inside a text literal, cannot be told from an event and is taken for one.
"""

RECORD_START = re.compile(_START)
"""Matches the first bytes of a record: a time, the opening of a known message, or a JSON object."""

RECORD_BOUNDARY = re.compile(rb"\n(?=" + _START + rb")")
"""Matches the line end before a record."""

SNIFFED_BYTES = 1 << 10


def is_binary(head: bytes) -> bool:
    """Tell whether a file that begins with ``head`` is no text: an archive, Parquet, UTF-16.

    Control characters may stand in a query, so a head in which a record begins is text.
    """
    head = head[:SNIFFED_BYTES]
    return bool(_CONTROL.search(head)) and not RECORD_START.match(head) and not RECORD_BOUNDARY.search(head)
