"""Reads an Avro file by its blocks, its columns with the types that Spark gives them."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import zstandard

from starskip.lake.avro_values import AvroField, avro_fields, long_at
from starskip.lake.data_pieces import Piece, Positions, UnlikeSpark, reaches
from starskip.lake.listed_file import ListedFile

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_LEGACY = ("org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96")
_BUFFER_BYTES = 64 << 10
_MOST_BLOCK_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class _Header:
    fields: tuple[AvroField, ...]
    codec: str
    sync: bytes
    size_bytes: int


@dataclass(frozen=True)
class AvroFile:
    """Implements PiecedFile; a unit is a block. Blocks without a position are passed over by their length."""

    path: str
    size_bytes: int
    modified_ms: int

    @cached_property
    def _header(self) -> _Header:
        with self._opened() as (_, opened):
            if opened.read(len(_MAGIC)) != _MAGIC:
                raise ValueError("it is no Avro file")
            metadata: dict[str, bytes] = {}
            while count := _long(opened):
                if count < 0:
                    count = -count
                    _long(opened)
                for _ in range(count):
                    key = _exactly(opened, _long(opened)).decode()
                    metadata[key] = _exactly(opened, _long(opened))
            sync = _exactly(opened, _SYNC_BYTES)
            size = opened.tell()
        if any(each in metadata for each in _LEGACY):
            raise UnlikeSpark("its dates and times are of the calendar that Spark 2 had")
        schema = json.loads(metadata.get("avro.schema", b"null"))
        codec = metadata.get("avro.codec", b"null").decode()
        return _Header(tuple(avro_fields(schema)), codec, sync, size)

    @property
    def schema(self) -> pa.Schema:
        """See PiecedFile."""
        return pa.schema([pa.field(each.name, each.kind) for each in self._header.fields])

    @cached_property
    def units(self) -> int:
        """See PiecedFile."""
        return sum(1 for _ in self._blocks(lambda *_: False))

    @property
    def is_columnar(self) -> bool:
        """See PiecedFile."""
        return False

    def pieces(self, schema: pa.Schema, positions: Positions | None) -> Iterator[Piece]:
        """See PiecedFile."""
        header = self._header
        names = {*schema.names}
        last = None if positions is None else int(positions[-1]) if len(positions) else -1
        for number, start, count, content in self._blocks(lambda at, rows: reaches(positions, at, rows)):
            if content is not None and count:
                rows = _decoded(_decompressed(content, header.codec), count, header.fields, names)
                yield Piece(start, rows, number, count)
            if last is not None and start + count > last:
                return

    def _blocks(self, is_wanted: Callable[[int, int], bool]) -> Iterator[tuple[int, int, int, bytes | None]]:
        """Yield the number, first position and rows of each block, and its bytes if it is wanted."""
        header = self._header
        with self._opened() as (listed, opened):
            opened.seek(header.size_bytes)
            number = start = 0
            while opened.peek(1):
                count, size = _long(opened), _long(opened)
                if count < 0 or not 0 <= size <= _MOST_BLOCK_BYTES:
                    raise ValueError(f"block {number} has no sound length")
                content = None
                if is_wanted(start, count):
                    content = _exactly(opened, size)
                else:
                    opened.seek(size, io.SEEK_CUR)
                if _exactly(opened, _SYNC_BYTES) != header.sync:
                    raise ValueError(f"block {number} does not end where it should")
                listed.require_same()
                listed.tell_bytes()
                yield number, start, count, content
                number, start = number + 1, start + count

    @contextmanager
    def _opened(self) -> Iterator[tuple[ListedFile, io.BufferedReader]]:
        with ListedFile(self.path, self.size_bytes, self.modified_ms) as listed:
            yield listed, io.BufferedReader(listed, _BUFFER_BYTES)
            listed.tell_bytes()


def _decoded(content: bytes, count: int, fields: tuple[AvroField, ...], names: set[str]) -> pa.Table:
    """Decode so many rows; all values are decoded, since none tells its length, and some are kept."""
    kept: list[list[object] | None] = [[] if each.name in names else None for each in fields]
    steps = [
        (each.decode, None if values is None else values.append)
        for each, values in zip(fields, kept, strict=True)
    ]
    at = 0
    try:
        for _ in range(count):
            for decode, keep in steps:
                value, at = decode(content, at)
                if keep is not None:
                    keep(value)
    except (LookupError, struct.error) as error:
        raise ValueError("a block ends within a row") from error
    if at != len(content):
        raise ValueError("a block has more bytes than rows")
    found = {
        each.name: pa.array(values, each.kind)
        for each, values in zip(fields, kept, strict=True)
        if values is not None
    }
    return pa.table(found)


def _decompressed(content: bytes, codec: str) -> bytes:
    try:
        if codec == "null":
            return content
        if codec == "deflate":
            return zlib.decompress(content, -zlib.MAX_WBITS)
        if codec == "snappy":
            # Its own length comes first, and a check sum last.
            size, _ = _length_of_snappy(content)
            return bytes(pa.decompress(content[:-4], decompressed_size=size, codec="snappy"))
        if codec == "zstandard":
            return zstandard.ZstdDecompressor().decompressobj().decompress(content)
        if codec == "bzip2":
            return bz2.decompress(content)
        if codec == "xz":
            return lzma.decompress(content)
    except (zlib.error, lzma.LZMAError, zstandard.ZstdError, EOFError) as error:
        raise ValueError(f"its compressed bytes are damaged: {error}") from error
    raise UnlikeSpark(f"its codec {codec} is not read")


def _length_of_snappy(content: bytes) -> tuple[int, int]:
    found = shift = at = 0
    while True:
        byte = content[at]
        found |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return found, at


def _exactly(opened: io.BufferedReader, size: int) -> bytes:
    found = opened.read(size)
    if len(found) != size:
        raise ValueError("it ends within a block")
    return found


def _long(opened: io.BufferedReader) -> int:
    content = b""
    while not content or content[-1] >= 0x80:
        content += _exactly(opened, 1)
    return long_at(content, 0)[0]
