"""The tail of an ORC file, which pyarrow gives as bytes only: stripes, types with attributes, and bounds.

Protocol buffers of the ORC specification, version 1 ("File Tail"); fields that are not named here are
skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

_FOOTER_OF_TAIL = 2
_STRIPES, _TYPES, _STATISTICS = 3, 4, 7
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
Value = int | bytes


@dataclass(frozen=True, slots=True)
class OrcStripe:
    """The rows of a stripe, and its stored bytes."""

    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class OrcType:
    """A type by the number of its kind, its children, and the attributes that a writer has set."""

    kind: int
    children: tuple[int, ...]
    names: tuple[str, ...]
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OrcTail:
    """``dates``, ``times_ms``: the least and greatest value of each column, by the number of its type."""

    stripes: tuple[OrcStripe, ...]
    types: tuple[OrcType, ...]
    dates: dict[int, tuple[int, int]]
    times_ms: dict[int, tuple[int, int]]
    valued: frozenset[int]


def orc_tail(tail: bytes) -> OrcTail:
    """Parse the serialized tail of a file. Raises ValueError for a damaged tail."""
    try:
        footer = next(bytes_of(value) for number, value in _fields(tail) if number == _FOOTER_OF_TAIL)
        found = list(_fields(footer))
        statistics = [bytes_of(value) for number, value in found if number == _STATISTICS]
        return OrcTail(
            tuple(_stripe(bytes_of(value)) for number, value in found if number == _STRIPES),
            tuple(_type(bytes_of(value)) for number, value in found if number == _TYPES),
            {at: pair for at, each in enumerate(statistics) if (pair := _bounds(each, 7, ((1, 2),)))},
            {at: pair for at, each in enumerate(statistics) if (pair := _bounds(each, 9, ((3, 4), (1, 2))))},
            frozenset(at for at, each in enumerate(statistics) if dict(_fields(each)).get(1, 0)),
        )
    except (LookupError, StopIteration, UnicodeDecodeError, TypeError) as error:
        raise ValueError("the tail of the ORC file is damaged") from error


def bytes_of(value: Value) -> bytes:
    """Return a value that must be bytes."""
    if not isinstance(value, bytes):
        raise TypeError("a number where a message is meant")
    return value


def _stripe(message: bytes) -> OrcStripe:
    found = {number: value for number, value in _fields(message) if isinstance(value, int)}
    return OrcStripe(found[5], sum(found.get(number, 0) for number in (2, 3, 4)))


def _type(message: bytes) -> OrcType:
    kind = 0
    children: list[int] = []
    names: list[str] = []
    attributes: dict[str, str] = {}
    for number, value in _fields(message):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 2:
            children += [value] if isinstance(value, int) else _packed(value)
        elif number == 3:
            names.append(bytes_of(value).decode())
        elif number == 7:
            pair = {of: bytes_of(text).decode() for of, text in _fields(bytes_of(value))}
            attributes[pair[1]] = pair[2]
    return OrcType(kind, tuple(children), tuple(names), attributes)


def _bounds(message: bytes, of: int, pairs: tuple[tuple[int, int], ...]) -> tuple[int, int] | None:
    """Return the least and greatest value of a column's statistics, by the first pair that exists."""
    inner = dict(_fields(message)).get(of)
    if inner is None:
        return None
    found = {number: value for number, value in _fields(bytes_of(inner)) if isinstance(value, int)}
    for low, high in pairs:
        if low in found and high in found:
            return _signed(found[low]), _signed(found[high])
    return None


def _signed(number: int) -> int:
    """Return the number of a zigzag code."""
    return (number >> 1) ^ -(number & 1)


def _packed(content: bytes) -> list[int]:
    found = []
    at = 0
    while at < len(content):
        number, at = _varint(content, at)
        found.append(number)
    return found


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yield the numbers and values of a message's fields."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise LookupError(kind)
        if at + length > len(message):
            raise LookupError(at)
        yield number, message[at : at + length]
        at += length


def _varint(content: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = content[at]
        found |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return found, at
        shift += 7
