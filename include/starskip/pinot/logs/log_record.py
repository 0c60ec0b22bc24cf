"""A record of a log: what the reader of files hands to the parsers."""

from __future__ import annotations

from typing import NamedTuple

MAX_RECORD_BYTES = 4 << 20
"""A longer record is cut and set aside; Pinot logs the query of a request of any length."""

KEPT_BYTES = 8 << 10
"""Bytes that are kept of the text of a record with a flaw."""


class LogRecord(NamedTuple):
    """One record: its first byte in the decompressed file, its physical lines, and its text.

    The text has no line end behind it. ``flaw`` is None, or why the record cannot be trusted to be whole:
    "too_long" (the text is its first 8 KiB), "truncated_file", "damaged_file", "unreadable_file",
    "compression_bomb", "unknown_file_format", or "format_failed: " and the fault of a user's log format.
    ``wrappers``: what shippers had put around its lines, outermost first. A NamedTuple, because one is made
    for each record of the log.
    """

    position: int
    lines: int
    text: bytes
    flaw: str | None
    wrappers: tuple[str, ...] = ()
