"""Where records begin, and what is no log at all."""

from __future__ import annotations

import re

from starskip.pinot.logs.line_formats.log_prefix import BARE_START, TIMED_START
from starskip.pinot.logs.line_formats.registry import FORMATS

_OPENINGS = b"|".join(dict.fromkeys(form.opening for form in FORMATS))
_START = TIMED_START + b"|" + BARE_START + b"(?:" + _OPENINGS + b")"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

RECORD_START = re.compile(_START)
"""Matches the first bytes of a record: a time, or the opening of a known message."""

RECORD_BOUNDARY = re.compile(rb"\n(?=" + _START + rb")")
"""Matches the line end before a record."""

SNIFFED_BYTES = 1 << 10


def is_binary(head: bytes) -> bool:
    """Tell whether a file that begins with ``head`` is no text: an archive, Parquet, UTF-16.

    Control characters may stand in a query, so a head in which a record begins is text.
    """
    head = head[:SNIFFED_BYTES]
    return bool(_CONTROL.search(head)) and not RECORD_START.match(head) and not RECORD_BOUNDARY.search(head)
