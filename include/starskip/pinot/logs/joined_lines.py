"""Join the unwrapped lines of a file to records: lines of several pods may lie between one another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from starskip.pinot.logs.log_formats import KNOWN_FORMATS, LogFormats
from starskip.pinot.logs.log_record import KEPT_BYTES, MAX_RECORD_BYTES, LogRecord
from starskip.pinot.logs.record_start import EVENT_START
from starskip.pinot.logs.unwrap_lines import OF_USER, Key, LineUnwrapper, Piece, as_record
from starskip.storage.files.file_blocks import DamagedFileError

HEAD_BYTES = 256 << 10
_HEAD_LINES = 1_000
"""The bytes and lines of a file's head that show whether something is around its records."""

_EVENT_FIELD = b'"scannedEntries'
_REACH_LINES = 1_000
"""Lines of others that may lie within a record: behind more of them nothing continues it."""

_MOST_WAITING_LINES = 20_000
_MOST_WAITING_BYTES = 64 << 20
"""Lines and bytes behind an open record: past them it ends, whatever follows."""


def is_wrapped(head: bytes, message_field: str = "", formats: LogFormats = KNOWN_FORMATS) -> bool:
    """Return whether more than a tenth of the records in the head of a file begin within a wrapper.

    Lines without one are read in such a file, too. A user's wrapper is around the whole file if it is around
    one line.
    """
    unwrapper = LineUnwrapper(message_field, formats)
    taught = _told_of(unwrapper, head)
    if any(piece.key[:1] == (OF_USER,) for piece in taught):
        return True
    if not any(_tells(piece) for piece in taught):
        # Perhaps wrapped lines before the first record, or an object that is longer than the head.
        return bool(taught) or head.lstrip()[:1] == b"{" or head.lstrip()[:2] == b"[{"
    # What was learned holds for the lines before, too, which seemed to be records of their own.
    found = [bool(piece.all_wrappers) for piece in _told_of(unwrapper, head) if _tells(piece)]
    return 10 * sum(found) > len(found)


def _tells(piece: Piece) -> bool:
    """Return whether the piece begins a record that tells if the log is wrapped: no other program's JSON."""
    text = piece.text or b""
    return piece.begins and (bool(piece.wrappers) or not EVENT_START.match(text) or _EVENT_FIELD in text)


def _told_of(unwrapper: LineUnwrapper, head: bytes) -> list[Piece]:
    """Return the pieces of a head that begin a record or were wrapped, and teach the unwrapper."""
    unwrapper.forget_open_lines()
    lines = enumerate(head.split(b"\n")[:_HEAD_LINES])
    pieces = (piece for number, line in lines for piece in unwrapper.pieces(number, line.removesuffix(b"\r")))
    return [piece for piece in pieces if piece.begins or piece.wrappers]


def wrapped_records(
    blocks: Iterator[bytes], head: bytes, message_field: str, formats: LogFormats = KNOWN_FORMATS
) -> Iterator[LogRecord]:
    """Yield the records of a whole file, in the order of their first lines; ``head``: its first bytes.

    Memory is bounded by the records that lie between one another. A file that breaks has a record of its own
    that says so.
    """
    unwrapper = LineUnwrapper(message_field, formats)
    _told_of(unwrapper, head)
    unwrapper.forget_open_lines()
    joined = _JoinedLines()
    position = 0
    try:
        for position, line, flaw in _lines(blocks):
            text = line.removesuffix(b"\r")
            pieces = [Piece(position, 1, text, (position,))] if flaw else unwrapper.pieces(position, text)
            for piece in pieces:
                yield from joined.add(piece, flaw or piece.flaw)
    except DamagedFileError as damage:
        yield from joined.rest(unwrapper.rest())
        yield LogRecord(position + 1, 1, str(damage).encode(), damage.reason)
        return
    yield from joined.rest(unwrapper.rest())


def _lines(blocks: Iterator[bytes]) -> Iterator[tuple[int, bytes, str | None]]:
    """Yield position and bytes of each line, and "too_long" with the first bytes of one past the bound."""
    position = size = 0
    parts: list[bytes] = []
    for block in blocks:
        *ended, last = block.split(b"\n")
        for part in ended:
            line = b"".join((*parts, part))
            size += len(part)
            if position == 0:
                line = line.removeprefix(b"\xef\xbb\xbf")
            yield position, line[:MAX_RECORD_BYTES], "too_long" if size > MAX_RECORD_BYTES else None
            position, size, parts = position + size + 1, 0, []
        size += len(last)
        if last and size <= MAX_RECORD_BYTES + len(last):
            parts.append(last)
    if size:
        line = b"".join(parts).removeprefix(b"\xef\xbb\xbf" if position == 0 else b"")
        yield position, line[:MAX_RECORD_BYTES], "too_long" if size > MAX_RECORD_BYTES else None


class _OpenRecord:
    """A record whose lines are being gathered."""

    __slots__ = ("born", "first", "flaw", "is_open", "lines", "parts", "quotes", "size_bytes", "touched")

    def __init__(self, first: Piece, flaw: str | None, now: int) -> None:
        self.first, self.flaw, self.born, self.touched = first, flaw, now, now
        self.lines, self.size_bytes, self.quotes, self.is_open = 0, 0, 0, True
        self.parts: list[bytes] = []

    def add(self, piece: Piece, now: int) -> None:
        self.lines, self.touched = self.lines + piece.lines, now
        text = piece.text or b""
        if self.size_bytes <= MAX_RECORD_BYTES:
            self.parts.append(text)
            self.quotes += text.count(b"'")
        self.size_bytes += len(text) + 1

    def goes_on_in(self, text: bytes) -> bool:
        """Return whether JSON is a line of a text literal of the query."""
        return self.quotes % 2 == 1 and _EVENT_FIELD not in text and EVENT_START.match(text) is not None

    def record(self) -> LogRecord:
        flaw = self.flaw or ("too_long" if self.size_bytes > MAX_RECORD_BYTES + 1 else None)
        text = b"\n".join(self.parts)
        return LogRecord(
            self.first.position,
            self.lines,
            text[:KEPT_BYTES] if flaw else text,
            flaw,
            self.first.all_wrappers,
        )


class _JoinedLines:
    """The records that are open, by whose they are, and those that wait for one before them to end."""

    def __init__(self) -> None:
        self._open: dict[Key, _OpenRecord] = {}
        self._waiting: deque[_OpenRecord] = deque()
        self._waiting_bytes = self._now = 0
        self._blank: LogRecord | None = None

    def add(self, piece: Piece, flaw: str | None = None) -> Iterator[LogRecord]:
        """Yield the records that end before the piece."""
        self._now += 1
        before = self._open.get(piece.key)
        text = piece.text
        if text is None or (before is None and not piece.wrappers and not text.strip()):
            self._add_blank(piece)
            return
        if before is not None and before.first.is_bare and piece.head and not piece.begins:
            piece = as_record(piece)
        elif before is not None and piece.begins and before.goes_on_in(text):
            piece = piece._replace(begins=False)
        if before is None or piece.begins:
            if before is not None:
                before.is_open = False
            record = self._open[piece.key] = _OpenRecord(piece, flaw, self._now)
            self._waiting.append(record)
            if self._blank is not None:
                record.lines, self._blank = self._blank.lines, None
        else:
            record = before
        record.add(piece, self._now)
        self._waiting_bytes += len(text)
        while self._waiting and self._is_done(self._waiting[0]):
            yield self._first_waiting()

    def rest(self, pieces: Iterable[Piece]) -> Iterator[LogRecord]:
        """Yield the records that are left, with the last pieces of the file."""
        for piece in pieces:
            yield from self.add(piece)
        while self._waiting:
            yield self._first_waiting()
        if self._blank is not None:
            yield self._blank

    def _add_blank(self, piece: Piece) -> None:
        """Count a line without content: for the newest record, else for the next, else for one of its own."""
        if self._waiting:
            self._waiting[-1].lines += piece.lines
        else:
            lines = self._blank.lines if self._blank else 0
            self._blank = LogRecord(piece.position, lines + piece.lines, b"", None)

    def _is_done(self, record: _OpenRecord) -> bool:
        return (
            not record.is_open
            or self._now - record.touched > _REACH_LINES
            or self._now - record.born > _MOST_WAITING_LINES
            or self._waiting_bytes > _MOST_WAITING_BYTES
        )

    def _first_waiting(self) -> LogRecord:
        first = self._waiting.popleft()
        self._waiting_bytes -= first.size_bytes - len(first.parts)
        if first.is_open:
            del self._open[first.first.key]
        return first.record()
