"""The records of a piece of a log: lines that begin like a log line, each with the lines that continue it.

Queries hold newlines and are logged raw, so a record ends before the next line that begins like a log line. A
line of SQL that itself begins with a time, or with the opening of a known message, looks like a record and is
taken for one. The text before the first such line is a record, too, so that no line is lost.

A split owns the records whose first byte lies in it and reads on for the end of its last one: whatever
the cutting, every record of the file is read once.
"""

from __future__ import annotations

from collections.abc import Iterator

from starskip.pinot.logs.joined_lines import HEAD_BYTES, is_wrapped, wrapped_records
from starskip.pinot.logs.log_formats import log_formats
from starskip.pinot.logs.log_record import KEPT_BYTES, MAX_RECORD_BYTES, LogRecord
from starskip.pinot.logs.log_splits import LogSplit
from starskip.pinot.logs.record_start import MAX_START_BYTES, is_binary
from starskip.storage.files.file_blocks import DamagedFileError, file_blocks
from starskip.storage.files.open_file import file_head

BLOCK_BYTES = 1 << 20


def read_records(split: LogSplit) -> Iterator[LogRecord]:
    """Yield the records that start in the split, in order.

    Memory is bounded by the block and the longest record. Where a file breaks, the record that is cut off
    there (or an empty one) carries the reason as its flaw; it counts one line if it has none. A file in which
    something is around the records is read whole by its first split, as lines may lie between one another.
    """
    first_byte = max(split.start - 1, 0)  # the byte before shows whether the split begins with a line
    record = _OpenRecord(0) if split.start == 0 else None
    base, tail, flaw = first_byte, b"", None
    blocks = file_blocks(split.path, split.compression, first_byte, BLOCK_BYTES)
    if split.start == 0:
        head, blocks = _with_head(blocks)
    else:
        head = _head(split.path)
    formats = log_formats(split.formats)
    if is_wrapped(head, split.message_field, formats):
        if split.start == 0:
            yield from wrapped_records(blocks, head, split.message_field, formats)
        return
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
        for boundary in formats.starts.boundary.finditer(buffer):
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


def _head(path: str) -> bytes:
    try:
        return file_head(path, HEAD_BYTES)[0]
    except OSError:
        return b""  # reading the split says why


def _with_head(blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes of a whole file, and all its blocks, unless it begins like no text."""
    head, damage = b"", None
    try:
        while len(head) < HEAD_BYTES and (block := next(blocks, b"")):
            head += block
    except DamagedFileError as error:
        damage = error
    return head[:HEAD_BYTES], _text_blocks(head, damage, blocks)


def _text_blocks(head: bytes, damage: DamagedFileError | None, blocks: Iterator[bytes]) -> Iterator[bytes]:
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
            text = text[:KEPT_BYTES]
        return LogRecord(self._position, self._lines + self._unfinished_line, text, flaw)

    def broken_by(self, damage: DamagedFileError) -> LogRecord:
        record = self.closed_with(b"", damage.reason)
        return record._replace(lines=max(record.lines, 1), text=record.text or str(damage).encode())
