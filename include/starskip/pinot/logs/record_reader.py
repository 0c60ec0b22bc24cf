"""The records of a piece of a log: lines that begin like a log line, each with the lines that continue it.

Queries hold newlines and are logged raw, so a record ends before the next line that begins like a log line. A
line of SQL that itself begins with a time, or with the opening of a known message, looks like a record and is
taken for one. The text before the first such line is a record, too, so that no line is lost.

A split owns the records whose first byte lies in it and reads on for the end of its last one: whatever
the cutting, every record of the file is read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from starskip.pinot.logs.log_splits import LogSplit
from starskip.pinot.logs.record_start import MAX_START_BYTES, RECORD_BOUNDARY, SNIFFED_BYTES, is_binary
from starskip.storage.files.file_blocks import DamagedFileError, file_blocks

BLOCK_BYTES = 1 << 20
MAX_RECORD_BYTES = 4 << 20
"""A longer record is cut and set aside; Pinot logs the query of a request of any length."""

_KEPT_BYTES = 8 << 10


class LogRecord(NamedTuple):
    """One record: its first byte in the decompressed file, its physical lines, and its text.

    The text has no line end behind it. ``flaw`` is None, or why the record cannot be trusted to be whole:
    "too_long" (the text is its first 8 KiB), "truncated_file", "damaged_file", "unreadable_file",
    "compression_bomb", "unknown_file_format". A NamedTuple, because one is made for each record of the log.
    """

    position: int
    lines: int
    text: bytes
    flaw: str | None


def read_records(split: LogSplit) -> Iterator[LogRecord]:
    """Yield the records that start in the split, in order.

    Memory is bounded by the block and the longest record. Where a file breaks, the record that is cut off
    there (or an empty one) carries the reason as its flaw; it counts one line if it has none.
    """
    first_byte = max(split.start - 1, 0)  # the byte before shows whether the split begins with a line
    record = _OpenRecord(0) if split.start == 0 else None
    base, tail, flaw = first_byte, b"", None
    blocks = file_blocks(split.path, split.compression, first_byte, BLOCK_BYTES)
    if split.start == 0:
        blocks = _text_blocks(blocks)
    at_end = False
    while not at_end:
        try:
            block = next(blocks, None)
        except DamagedFileError as damage:
            block, flaw = None, damage
        at_end = block is None
        buffer = tail + (block or b"")
        # A start needs all its bytes to be judged; later ones wait for the next block.
        decided = len(buffer) if at_end else max(len(buffer) - MAX_START_BYTES, 0)
        done = 0
        for boundary in RECORD_BOUNDARY.finditer(buffer):
            start = boundary.start() + 1
            if start > decided:
                break
            if record is not None:
                yield record.closed_with(buffer[done:start])
            if split.end is not None and base + start >= split.end:
                return
            record = _OpenRecord(base + start)
            done = start
        if record is None and split.end is not None and base + decided >= split.end:
            return
        if record is not None:
            record.add(buffer[done:decided])
        tail = buffer[decided:]
        base += decided
    if flaw is not None:
        record = record or _OpenRecord(split.start)
        yield record.broken_by(flaw)
    elif record is not None and record.size_bytes:
        yield record.closed_with(b"")


def _text_blocks(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Pass the blocks of a whole file on, unless it begins like no text."""
    head, damage = b"", None
    try:
        while len(head) < SNIFFED_BYTES and (block := next(blocks, b"")):
            head += block
    except DamagedFileError as error:
        damage = error
    if is_binary(head):
        raise DamagedFileError("unknown_file_format", "not a text file")
    yield head
    if damage is not None:
        raise damage
    yield from blocks


class _OpenRecord:
    """A record whose end has not been seen: the one piece of state that grows, up to a bound."""

    __slots__ = ("_lines", "_parts", "_position", "_unfinished_line", "size_bytes")

    def __init__(self, position: int) -> None:
        self._position = position
        self._parts: list[bytes] = []
        self._lines = 0
        self._unfinished_line = False
        self.size_bytes = 0

    def add(self, part: bytes) -> None:
        if not part:
            return
        self._lines += part.count(b"\n")
        self._unfinished_line = not part.endswith(b"\n")
        if self.size_bytes <= MAX_RECORD_BYTES:
            self._parts.append(part)
        self.size_bytes += len(part)

    def closed_with(self, part: bytes, flaw: str | None = None) -> LogRecord:
        self.add(part)
        text = b"".join(self._parts)
        if text.endswith(b"\n"):
            text = text[: -2 if text.endswith(b"\r\n") else -1]
        if flaw is None and self.size_bytes > MAX_RECORD_BYTES:
            flaw = "too_long"
        if flaw is not None:
            text = text[:_KEPT_BYTES]
        return LogRecord(self._position, self._lines + self._unfinished_line, text, flaw)

    def broken_by(self, damage: DamagedFileError) -> LogRecord:
        position, lines, text, _ = self.closed_with(b"", damage.reason)
        return LogRecord(position, max(lines, 1), text or str(damage).encode(), damage.reason)
