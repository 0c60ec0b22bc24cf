"""Take from log lines what shippers put around them: prefixes, JSON, one within the other.

What is around a line is believed if a record of a log begins within it, or if it was seen around such a
record before (*learned*): a line of a query that looks like JSON, or like a prefix, stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from starskip.pinot.logs.json_messages import JsonMessage, Path, json_messages
from starskip.pinot.logs.line_prefixes import LinePrefix, line_prefixes, without_colours
from starskip.pinot.logs.log_formats import FAILED, KNOWN_FORMATS, FormatFault, LogFormats, Message
from starskip.pinot.logs.log_record import MAX_RECORD_BYTES
from starskip.pinot.logs.record_start import TIMED_START

_TIMED = re.compile(TIMED_START)
_PINOTS_TIME = re.compile(rb"\d{4}/")
_BETWEEN_OBJECTS = b" \t\r\n[],\xef\xbb\xbf"
_JSON_TOKEN = re.compile(rb'"(?>(?:[^"\\]++|\\.)*)(?P<end>"|\Z)|(?P<open>[{\[])|(?P<close>[}\]])')
_NO_NAME = re.compile(r"[^\w.@-]")
_LONGEST_NAME = 100
_DECODER = json.JSONDecoder()
_DEEPEST = 6
_MOST_LEARNED = 10_000
_MOST_PATHS = 100

OF_USER = "wrapper of a user's module"
"""Begins the key of a piece that a user's wrapper was around."""

Key = tuple[object, ...]


class Piece(NamedTuple):
    """A line without what was around it; ``lines``: physical lines from ``position`` on that it stood on.

    ``text`` None: no line, but a bracket or blank between JSON objects. ``key`` tells whose line it is,
    ``wrappers`` what was around it, outermost first. ``begins``: it is the first line of a record, not one
    that continues a record; ``is_bare``: without a time of its own. ``head``: the level that is told of a
    line that seems to continue a record; it is one of its own where records are bare. ``flaw``: why it is
    rejected.
    """

    position: int
    lines: int
    text: bytes | None
    key: Key = ()
    wrappers: tuple[str, ...] = ()
    time: bytes | None = None
    begins: bool = False
    is_bare: bool = False
    head: bytes = b""
    flaw: str | None = None
    is_coloured: bool = False

    @property
    def all_wrappers(self) -> tuple[str, ...]:
        """Return the wrappers, with colours as one of them: lines of one record may have them or not."""
        return (*self.wrappers, "ansi") if self.is_coloured else self.wrappers


class _OpenObject(NamedTuple):
    """A JSON object over several lines whose end has not been seen."""

    first: Piece
    parts: list[bytes]
    lines: int
    depth: int
    size_bytes: int


class LineUnwrapper:
    """Unwraps the lines of one file in their order, in bounded memory."""

    def __init__(self, field: str = "", formats: LogFormats = KNOWN_FORMATS) -> None:
        """Begin with nothing learned; ``field``: the field of the messages, "" if it is to be found."""
        self._field, self._wrappers, self._starts = field, formats.wrappers, formats.starts.first
        self._learned: set[tuple[tuple[str, ...], str, bytes]] = set()
        self._paths: dict[tuple[str, ...], tuple[Path, ...]] = {}
        self._around_lines: set[tuple[str, ...]] = set()
        self._ended: set[Key] = set()
        self._partial: dict[Key, Piece] = {}
        self._objects: dict[Key, _OpenObject] = {}

    def pieces(self, position: int, line: bytes) -> Iterator[Piece]:
        """Yield what a physical line holds, without its line end; nothing yet if it goes on in the next."""
        for wrapper in self._wrappers:
            of_user = Piece(position, 1, line, (OF_USER, wrapper.name), (wrapper.name,))
            try:
                messages = wrapper.messages(line)
            except FormatFault as fault:
                flaw = f"{FAILED}: {fault}"
                yield of_user._replace(key=(OF_USER, position), begins=True, flaw=flaw)
                return
            if messages is not None:
                yield from self._of_messages(of_user, messages)
                return
        yield from self._without_prefixes(Piece(position, 1, line), 0)

    def _of_messages(self, around: Piece, messages: Sequence[tuple[bytes, Message]]) -> Iterator[Piece]:
        if not messages:
            yield around._replace(text=None)
        for number, (text, told) in enumerate(messages):
            piece = around._replace(
                position=around.position + number, text=text, time=told.time.encode() or None
            )
            yield from self._without_prefixes(piece._replace(key=(*around.key, told.source)), 1)

    def rest(self) -> Iterator[Piece]:
        """Yield what still waits for its next line at the end of the file."""
        for key in list(self._partial):
            yield from self._without_prefixes(self._partial.pop(key), 0)
        for key in list(self._objects):
            yield self._broken(key)

    def forget_open_lines(self) -> None:
        """Keep what was learned alone, to begin again with the first line of the file."""
        self._partial.clear()
        self._objects.clear()

    def _begins(self, text: bytes, depth: int = 0) -> bool:
        """Return whether a record begins with the text, or behind prefixes."""
        text = without_colours(text) or text
        if self._starts.match(text) or text.strip() == b"{":
            return True
        return depth < _DEEPEST and any(self._begins_within(each, depth + 1) for each in line_prefixes(text))

    def _begins_within(self, prefix: LinePrefix, depth: int = 0) -> bool:
        return not prefix.is_doubtful and self._begins(prefix.rest, depth)

    def _without_prefixes(self, piece: Piece, depth: int) -> Iterator[Piece]:
        text, is_partial = piece.text or b"", False
        while depth < _DEEPEST:
            depth += 1
            if (plain := without_colours(text)) is not None:
                text, piece = plain, piece._replace(is_coloured=True)
                continue
            if _PINOTS_TIME.match(text):
                break
            for prefix in line_prefixes(text):
                seen = (piece.wrappers, prefix.name, prefix.key)
                if prefix.is_sure or seen in self._learned or self._begins_within(prefix):
                    break
            else:
                break
            if len(self._learned) < _MOST_LEARNED:
                self._learned.add(seen)
            text, is_partial = prefix.rest, prefix.is_partial
            piece = piece._replace(
                key=(*piece.key, prefix.name, prefix.key),
                wrappers=(*piece.wrappers, prefix.name),
                time=prefix.time or piece.time,
            )
        whole = self._joined(piece._replace(text=text), is_partial=is_partial)
        if whole is not None:
            yield from self._without_json(whole, depth)

    def _joined(self, piece: Piece, *, is_partial: bool) -> Piece | None:
        """Return the piece with the parts of its line that came before; None if more of it is to come."""
        key = (piece.key, piece.wrappers)
        if (before := self._partial.pop(key, None)) is not None:
            joined = (before.text or b"") + (piece.text or b"")
            piece = before._replace(text=joined, lines=before.lines + piece.lines)
        if is_partial and len(piece.text or b"") <= MAX_RECORD_BYTES:
            self._partial[key] = piece
            return None
        return piece

    def _without_json(self, piece: Piece, depth: int) -> Iterator[Piece]:
        text = piece.text or b""
        held = self._objects.get(piece.key)
        if held is not None and not text.startswith((b'{"', b'{ "')) and not _TIMED.match(text):
            yield from self._more_of(held, piece)
            return
        if held is not None:  # the next object or record: the one that is open was cut off
            yield self._broken(piece.key)
        content = text.lstrip(_BETWEEN_OBJECTS)
        # Where lines of text are, too, a line of brackets is one of a query.
        is_around_lines = piece.wrappers in self._around_lines
        may_open = not (is_around_lines and any(name.startswith("json:") for name in piece.wrappers))
        if not content and not is_around_lines and self._paths:
            yield piece._replace(text=None)
        elif content[:1] != b"{" or depth >= _DEEPEST:
            yield self._line(piece)
        elif (messages := self._messages(content, piece.wrappers)) is not None:
            yield from self._of_object(piece, messages, depth)
        elif may_open and (open_braces := _depth(content, 0)):
            self._objects[piece.key] = _OpenObject(piece, [content], piece.lines, open_braces, len(content))
        else:
            yield self._line(piece)

    def _more_of(self, held: _OpenObject, piece: Piece) -> Iterator[Piece]:
        """Add a line to an object, and yield its messages if that is its end."""
        text = piece.text or b""
        depth = _depth(text, held.depth)
        held.parts.append(text)
        held = held._replace(
            lines=held.lines + piece.lines, depth=depth or 0, size_bytes=held.size_bytes + len(text) + 1
        )
        self._objects[piece.key] = held
        if depth is None or held.size_bytes > MAX_RECORD_BYTES:
            yield self._broken(piece.key)
        elif depth == 0:
            del self._objects[piece.key]
            whole = held.first._replace(text=b"\n".join(held.parts), lines=held.lines)
            messages = self._messages(whole.text or b"", whole.wrappers)
            yield from [self._line(whole)] if messages is None else self._of_object(whole, messages, 0)

    def _broken(self, key: Key) -> Piece:
        held = self._objects.pop(key)
        return self._line(held.first._replace(text=b"\n".join(held.parts), lines=held.lines))

    def _messages(self, text: bytes, around: tuple[str, ...]) -> list[JsonMessage] | None:
        """Return the messages of the objects in the text; None if one is no JSON, or no wrapper."""
        messages: list[JsonMessage] = []
        learned = self._paths.get(around, ())
        content, at = text.decode("utf-8", "replace").rstrip(" \t\r\n,]"), 0
        try:
            while at < len(content):
                document, at = _DECODER.raw_decode(content, at)
                found = self._messages_of(document, (*learned, *(each.path for each in messages[:1])))
                if not found:
                    return None
                messages += found
                while content[at : at + 1] in (" ", "\t", "\r", "\n", ","):
                    at += 1
        except (ValueError, RecursionError):
            return None
        return messages

    def _messages_of(self, document: object, learned: tuple[Path, ...]) -> list[JsonMessage]:
        if not isinstance(document, dict):
            return []
        return json_messages(document, self._begins, learned, self._field)

    def _of_object(self, piece: Piece, messages: list[JsonMessage], depth: int) -> Iterator[Piece]:
        learned = self._paths.get(piece.wrappers, ())
        if len(self._paths) + len(learned) < _MOST_PATHS:
            self._paths[piece.wrappers] = tuple(dict.fromkeys((*learned, *(each.path for each in messages))))
        for number, message in enumerate(messages):
            inner = Piece(
                piece.position + number,
                # Several messages on one physical line are a line each; lines beyond them are not lost.
                1 if number else max(piece.lines - len(messages) + 1, 1),
                message.text,
                (*piece.key, *message.key),
                (*piece.wrappers, "json:" + _NO_NAME.sub("_", ".".join(message.path))[:_LONGEST_NAME]),
                message.time or piece.time,
                head=message.head,
                is_coloured=piece.is_coloured,
            )
            if message.is_record and not _TIMED.match(message.text):
                yield as_record(inner)
                continue
            is_partial = inner.key in self._ended if message.is_partial is None else message.is_partial
            if message.is_partial is False and len(self._ended) < _MOST_LEARNED:
                self._ended.add(inner.key)
            whole = self._joined(inner, is_partial=is_partial)
            if whole is not None:
                yield from self._without_prefixes(whole, depth + 1)

    def _line(self, piece: Piece) -> Piece:
        """Return the piece as a line: it begins a record, with the shipper's time, if its text does."""
        text = piece.text or b""
        if not self._starts.match(text):
            return piece
        is_object = text.lstrip(_BETWEEN_OBJECTS)[:1] == b"{"
        if not is_object and len(self._around_lines) < _MOST_LEARNED:
            self._around_lines.add(piece.wrappers)
        return piece._replace(begins=True) if is_object or _TIMED.match(text) else as_record(piece)


def as_record(piece: Piece) -> Piece:
    """Return the piece as the first line of a record, with the time and level that its wrapper tells."""
    told = b" ".join(part for part in (piece.time, piece.head, piece.text) if part)
    return piece._replace(text=told, begins=True, is_bare=True)


def _depth(line: bytes, depth: int) -> int | None:
    """Return how many brackets are open behind a line of JSON; None if it is none."""
    for token in _JSON_TOKEN.finditer(line):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth -= 1
            if depth <= 0:
                return 0 if depth == 0 and not line[token.end() :].strip(_BETWEEN_OBJECTS) else None
        elif token["end"] != b'"':
            return None
    return depth
