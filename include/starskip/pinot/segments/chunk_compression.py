"""Decompress one chunk of a raw forward index (Pinot's ChunkCompressionType)."""

from __future__ import annotations

import pyarrow as pa
import zstandard

from starskip.pinot.segments.decoding import UnreadableColumn

PASS_THROUGH, SNAPPY, ZSTANDARD, LZ4, LZ4_LENGTH_PREFIXED = range(5)
_LONGEST_VARINT_BYTES = 5
_LZ4_LARGEST_RATIO = 255
_DAMAGED = "a chunk of its raw values is damaged"


def decompress_chunk(compression: int, chunk: bytes, max_bytes: int, exact_bytes: int | None = None) -> bytes:
    """Return the chunk's content, at most ``max_bytes``; ``exact_bytes`` is its size where known.

    Raises UnreadableColumn for a chunk that is larger, damaged or compressed in a way not read.
    """
    if compression == PASS_THROUGH:
        content_bytes = len(chunk)
    elif compression == SNAPPY:
        content_bytes = _varint(chunk)
    elif compression == ZSTANDARD:
        content_bytes = _zstandard_content_bytes(chunk)
    elif compression == LZ4_LENGTH_PREFIXED:
        content_bytes, chunk = int.from_bytes(chunk[:4], "little"), chunk[4:]
    elif compression == LZ4:
        content_bytes = _lz4_content_bytes(chunk, max_bytes) if exact_bytes is None else exact_bytes
    else:
        raise UnreadableColumn(f"its raw values are compressed with method {compression}, which is not read")
    if not 0 <= content_bytes <= max_bytes:
        raise UnreadableColumn(f"its window needs more than {max_bytes} bytes")
    if compression == PASS_THROUGH:
        return chunk
    # If a chunk claims more than it holds, the codec would return uninitialised memory.
    if compression in (LZ4, LZ4_LENGTH_PREFIXED) and content_bytes and _lz4_fits(chunk, content_bytes - 1):
        raise UnreadableColumn(_DAMAGED)
    return _decompress(compression, chunk, content_bytes)


def _decompress(compression: int, chunk: bytes, content_bytes: int) -> bytes:
    codec = pa.Codec("lz4_raw")
    if compression == SNAPPY:
        codec = pa.Codec("snappy")
    elif compression == ZSTANDARD:
        codec = pa.Codec("zstd")
    return bytes(codec.decompress(chunk, decompressed_size=content_bytes, asbytes=True))


def _zstandard_content_bytes(chunk: bytes) -> int:
    try:
        content_bytes = zstandard.frame_content_size(chunk)
    except zstandard.ZstdError as error:
        raise UnreadableColumn(_DAMAGED) from error
    if content_bytes < 0:
        raise UnreadableColumn("a chunk of its raw values does not say its size")
    return content_bytes


def _varint(chunk: bytes) -> int:
    value = 0
    for position, byte in enumerate(chunk[:_LONGEST_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return value
    raise UnreadableColumn(_DAMAGED)


def _lz4_content_bytes(chunk: bytes, max_bytes: int) -> int:
    """Return the size that an LZ4 block unpacks to, which it does not name: the least that suffices."""
    low, high = 0, 4 * len(chunk)
    while not _lz4_fits(chunk, min(high, max_bytes)):
        if high >= min(max_bytes, _LZ4_LARGEST_RATIO * len(chunk)):
            raise UnreadableColumn(f"a chunk of its raw values is damaged or over {max_bytes} bytes")
        low, high = high + 1, 2 * high
    high = min(high, max_bytes)
    while low < high:
        middle = (low + high) // 2
        if _lz4_fits(chunk, middle):
            high = middle
        else:
            low = middle + 1
    return high


def _lz4_fits(chunk: bytes, content_bytes: int) -> bool:
    try:
        pa.Codec("lz4_raw").decompress(chunk, decompressed_size=content_bytes)
    except OSError:
        return False
    return True
