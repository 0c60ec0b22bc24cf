"""Cut a raw forward index into the stored bytes of each row of a window.

Versions 1 to 3, and 4 for fixed-width values: chunks of as many rows each (BaseChunkForwardIndexReader).
Versions 4 to 6 for variable length: chunks of a byte size (VarByteChunkForwardIndexReaderV4 to V6).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from starskip.pinot.segments.chunk_compression import PASS_THROUGH, SNAPPY, decompress_chunk
from starskip.pinot.segments.decoding import Decoder, require

_HEADER_BYTES = 28
_VERSION_4_HEADER_BYTES = 16
_DELTA_OFFSETS_VERSION = 6
_HUGE_CHUNK = 0x80000000
_SHORT = "its raw forward index is shorter than its header says"
_DAMAGED = "a chunk of its raw values is damaged"


@dataclass(frozen=True, slots=True)
class RawRows:
    """Row i holds ``content[offsets[i]:offsets[i + 1]]``; ``version`` of the writer."""

    version: int
    offsets: npt.NDArray[np.int64]
    content: bytes


@dataclass(frozen=True, slots=True)
class _ChunkTable:
    version: int
    rows_per_chunk: int
    compression: int
    first: int
    bounds: npt.NDArray[np.int64]


def decode_fixed_width_rows(
    width: int, size: int, segment_rows: int, rows: range, max_bytes: int
) -> Decoder[RawRows]:
    """Rows of ``width`` bytes each."""
    version = _int((yield 0, 4))
    table = yield from _chunk_table(version, size, segment_rows, rows)
    stored = yield int(table.bounds[0]), int(table.bounds[-1] - table.bounds[0])
    parts = []
    for chunk, (start, end) in enumerate(_pairs(table.bounds - table.bounds[0]), table.first):
        chunk_rows = min(table.rows_per_chunk, segment_rows - chunk * table.rows_per_chunk)
        expected = chunk_rows * width
        require(expected <= max_bytes, f"its window needs more than {max_bytes} bytes")
        part = decompress_chunk(table.compression, stored[start:end], max_bytes, expected)
        require(len(part) >= expected, _DAMAGED)
        parts.append(part[:expected])
        max_bytes -= expected
    skipped = (rows.start - table.first * table.rows_per_chunk) * width
    content = b"".join(parts)[skipped : skipped + len(rows) * width]
    return RawRows(version, np.arange(len(rows) + 1, dtype=np.int64) * width, content)


def decode_variable_rows(size: int, segment_rows: int, rows: range, max_bytes: int) -> Decoder[RawRows]:
    """Rows of any length."""
    version = _int((yield 0, 4))
    if version < 4:
        return (yield from _rows_by_count(version, size, segment_rows, rows, max_bytes))
    require(version <= _DELTA_OFFSETS_VERSION, f"raw forward index version {version} is not read")
    return (yield from _rows_by_bytes(version, size, segment_rows, rows, max_bytes))


def _chunk_table(version: int, size: int, segment_rows: int, rows: range) -> Decoder[_ChunkTable]:
    require(1 <= version <= 4, f"raw forward index version {version} is not read")
    header = yield 4, (_VERSION_4_HEADER_BYTES if version == 1 else _HEADER_BYTES) - 4
    numbers = np.frombuffer(header, dtype=">i4").astype(np.int64)
    chunks, rows_per_chunk = int(numbers[0]), int(numbers[1])
    compression, table_start = (SNAPPY, 16) if version == 1 else (int(numbers[4]), int(numbers[5]))
    require(rows_per_chunk > 0 and chunks * rows_per_chunk >= segment_rows, _SHORT)
    require(table_start >= len(header) + 4, _SHORT)
    first, last = rows.start // rows_per_chunk, (rows.stop - 1) // rows_per_chunk
    entry = np.dtype(">i4" if version <= 2 else ">i8")
    wanted = min(last + 2, chunks) - first
    stored = yield table_start + first * entry.itemsize, wanted * entry.itemsize
    bounds = np.frombuffer(stored, dtype=entry).astype(np.int64)
    if last + 1 == chunks:
        bounds = np.append(bounds, size)
    _require_ascending(bounds, table_start + chunks * entry.itemsize, size)
    return _ChunkTable(version, rows_per_chunk, compression, first, bounds)


def _rows_by_count(
    version: int, size: int, segment_rows: int, rows: range, max_bytes: int
) -> Decoder[RawRows]:
    table = yield from _chunk_table(version, size, segment_rows, rows)
    stored = yield int(table.bounds[0]), int(table.bounds[-1] - table.bounds[0])
    pieces = _Pieces(max_bytes)
    for chunk, (start, end) in enumerate(_pairs(table.bounds - table.bounds[0]), table.first):
        first_row = chunk * table.rows_per_chunk
        chunk_rows = min(table.rows_per_chunk, segment_rows - first_row)
        part = decompress_chunk(table.compression, stored[start:end], pieces.bytes_left)
        require(len(part) >= 4 * chunk_rows, _DAMAGED)
        offsets = np.frombuffer(part, ">i4", chunk_rows).astype(np.int64)
        pieces.add(part, np.append(offsets, len(part)), first_row, rows)
    return pieces.joined(version)


def _rows_by_bytes(
    version: int, size: int, segment_rows: int, rows: range, max_bytes: int
) -> Decoder[RawRows]:
    header = np.frombuffer((yield 4, _VERSION_4_HEADER_BYTES - 4), dtype=">i4")
    compression, chunks_start = int(header[1]), int(header[2])
    require(_VERSION_4_HEADER_BYTES + 8 <= chunks_start <= size and chunks_start % 8 == 0, _SHORT)
    table_bytes = chunks_start - _VERSION_4_HEADER_BYTES
    table = np.frombuffer((yield _VERSION_4_HEADER_BYTES, table_bytes), dtype="<u4").reshape(-1, 2)
    first_rows = np.append((table[:, 0] & ~np.uint32(_HUGE_CHUNK)).astype(np.int64), segment_rows)
    huge = (table[:, 0] & np.uint32(_HUGE_CHUNK)) != 0
    require(bool(first_rows[0] == 0 and (np.diff(first_rows) > 0).all()), _SHORT)
    first = int(np.searchsorted(first_rows, rows.start, side="right")) - 1
    last = int(np.searchsorted(first_rows, rows.stop - 1, side="right")) - 1
    bounds = np.append(table[:, 1].astype(np.int64), size - chunks_start)[first : last + 2]
    _require_ascending(bounds, 0, size - chunks_start)
    stored = yield chunks_start + int(bounds[0]), int(bounds[-1] - bounds[0])
    pieces = _Pieces(max_bytes)
    for chunk, (start, end) in enumerate(_pairs(bounds - bounds[0]), first):
        part = decompress_chunk(compression, stored[start:end], pieces.bytes_left)
        chunk_rows = int(first_rows[chunk + 1] - first_rows[chunk])
        if huge[chunk]:
            require(chunk_rows == 1, _DAMAGED)
            offsets = np.array([0, len(part)])
        else:
            offsets = _chunk_offsets(version, compression, part, chunk_rows)
        pieces.add(part, offsets, int(first_rows[chunk]), rows)
    return pieces.joined(version)


def _chunk_offsets(version: int, compression: int, part: bytes, chunk_rows: int) -> npt.NDArray[np.int64]:
    header_bytes = 4 * (chunk_rows + 1)
    require(len(part) >= header_bytes, _DAMAGED)
    numbers = np.frombuffer(part, "<i4", chunk_rows + 1).astype(np.int64)
    require(int(numbers[0]) == chunk_rows, _DAMAGED)
    if version == _DELTA_OFFSETS_VERSION and compression != PASS_THROUGH:
        return header_bytes + np.concatenate(([0], np.cumsum(numbers[1:])))
    return np.append(numbers[1:], len(part))


class _Pieces:
    """The window's rows of each chunk, gathered within a budget of bytes."""

    def __init__(self, max_bytes: int) -> None:
        self.bytes_left = max_bytes
        self._contents: list[bytes] = []
        self._lengths = [np.empty(0, dtype=np.int64)]

    def add(self, part: bytes, offsets: npt.NDArray[np.int64], first_row: int, rows: range) -> None:
        """Keep the rows in the window of a chunk that starts at ``first_row``."""
        lengths = np.diff(offsets)
        require(bool(offsets[0] >= 0 and offsets[-1] <= len(part) and (lengths >= 0).all()), _DAMAGED)
        low = max(rows.start - first_row, 0)
        high = min(rows.stop - first_row, lengths.size)
        self._contents.append(part[offsets[low] : offsets[high]])
        self._lengths.append(lengths[low:high])
        self.bytes_left -= len(part)

    def joined(self, version: int) -> RawRows:
        """Return all rows as one."""
        offsets = np.concatenate(([0], np.cumsum(np.concatenate(self._lengths))))
        return RawRows(version, offsets.astype(np.int64), b"".join(self._contents))


def _require_ascending(bounds: npt.NDArray[np.int64], low: int, high: int) -> None:
    require(bool(bounds[0] >= low and bounds[-1] <= high and (np.diff(bounds) >= 0).all()), _SHORT)


def _pairs(bounds: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    return list(pairwise(bounds.tolist()))


def _int(content: bytes) -> int:
    return int.from_bytes(content, "big", signed=True)
