"""The lines of an event log, decompressed, each of bounded length whatever the file holds."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from starskip.storage.files.file_blocks import (
    DamagedFileError,
    compression_of,
    file_blocks,
    has_control_characters,
)
from starskip.storage.files.open_file import file_head, open_file

MAX_LINE_BYTES = 8 << 20
"""A plan's line has some 100 kB; JSON takes ten times a line's bytes once it is read."""
KEPT_BYTES = 2_000
_BLOCK_BYTES = 1 << 20
_EVENT_START = re.compile(rb'(?:\A(?:\xef\xbb\xbf)?|\n)\s*\{\s*"')
"""A file in whose head an event begins is text, whatever damage it has behind that."""
_LZ4_MAGIC = b"LZ4Block"
_LZ4_HEADER = struct.Struct("<8sBiii")
_LZ4_METHOD, _LZ4_LEVEL, _LZ4_STORED, _LZ4_PACKED = 0xF0, 0x0F, 0x10, 0x20
_LZ4_LEAST_BITS = 10
_UNREAD = {b"\x82SNAPPY\0": "snappy", b"ZV": "lzf"}


class EventLine(NamedTuple):
    """A line without its end.

    ``flaw`` is None, or why the line is not whole: "too_long" (its first bytes are kept), "truncated_file",
    "damaged_file", "unreadable_file", "compression_bomb", "unknown_file_format". ``is_ended``: a line end
    followed; a line without an end may still be being written.
    """

    number: int
    text: bytes
    flaw: str | None
    is_ended: bool


def event_lines(path: str) -> Iterator[EventLine]:
    """Yield the lines of a file that are not blank, counted from 1; if it breaks, a line with a flaw."""
    number, parts, held = 1, [b""], 0
    try:
        for block in _blocks(path):
            *ended, rest = block.split(b"\n")
            for piece in ended:
                yield from _line(number, parts, piece, held + len(piece))
                number, parts, held = number + 1, [], 0
            if held <= MAX_LINE_BYTES:
                parts.append(rest)
            held += len(rest)
    except DamagedFileError as damage:
        text = b"".join(parts)[:KEPT_BYTES] or str(damage).encode()
        yield EventLine(number, text, damage.reason, False)
        return
    for line in _line(number, parts, b"", held):
        yield line._replace(is_ended=False)


def _line(number: int, parts: list[bytes], last: bytes, size: int) -> Iterator[EventLine]:
    if size > MAX_LINE_BYTES:
        yield EventLine(number, b"".join([*parts, last[:KEPT_BYTES]])[:KEPT_BYTES], "too_long", True)
        return
    text = b"".join([*parts, last]).rstrip(b"\r")
    if text.strip():
        yield EventLine(number, text, None, True)


def _blocks(path: str) -> Iterator[bytes]:
    try:
        head, _ = file_head(path, 512)
    except OSError as error:
        raise DamagedFileError("unreadable_file", str(error.strerror or error)) from error
    compression = compression_of(head)
    if compression != "none":
        yield from file_blocks(path, compression, 0, _BLOCK_BYTES)
        return
    if head.startswith(_LZ4_MAGIC):
        yield from _lz4_blocks(path)
        return
    for magic, name in _UNREAD.items():
        if head.startswith(magic):
            detail = f"{name} is not read: set spark.eventLog.compression.codec to zstd or lz4"
            raise DamagedFileError("unknown_file_format", detail)
    if has_control_characters(head) and not _EVENT_START.search(head):
        raise DamagedFileError("unknown_file_format", "not a text file")
    yield from file_blocks(path, "none", 0, _BLOCK_BYTES)


def _lz4_blocks(path: str) -> Iterator[bytes]:
    """Yield the blocks of lz4-java's LZ4BlockOutputStream, each of a bounded size by itself."""
    try:
        with open_file(path) as file:
            while header := file.read(_LZ4_HEADER.size):
                if block := _lz4_block(file, header):
                    yield block
    except OSError as error:
        raise DamagedFileError("unreadable_file", str(error.strerror or error)) from error


def _lz4_block(file: BinaryIO, header: bytes) -> bytes:
    if len(header) < _LZ4_HEADER.size:
        raise DamagedFileError("truncated_file", "lz4: the stream ends early")
    magic, token, packed_bytes, size, _ = _LZ4_HEADER.unpack(header)
    most = 1 << (_LZ4_LEAST_BITS + (token & _LZ4_LEVEL))
    if magic != _LZ4_MAGIC or not 0 <= packed_bytes <= most or not 0 <= size <= most:
        raise DamagedFileError("damaged_file", "lz4: no header of a block where one must be")
    packed = file.read(packed_bytes)
    if len(packed) < packed_bytes:
        raise DamagedFileError("truncated_file", "lz4: the stream ends early")
    method = token & _LZ4_METHOD
    if method == _LZ4_STORED or not size:
        return packed
    if method != _LZ4_PACKED:
        raise DamagedFileError("damaged_file", "lz4: a block of an unknown method")
    try:
        return bytes(pa.decompress(packed, decompressed_size=size, codec="lz4_raw"))
    except (OSError, pa.ArrowException) as error:
        raise DamagedFileError("damaged_file", f"lz4: {error}") from error
