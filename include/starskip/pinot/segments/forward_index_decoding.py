"""Decode a window of a dictionary-encoded forward index into dictionary codes.

Pinot's readers: FixedBitSVForwardIndexReaderV2, SortedIndexReaderImpl, FixedBitMVForwardIndexReader.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from starskip.pinot.segments.decoding import Decoder, UnreadableColumn, require

VALUES_PER_GROUP = 8
"""Eight values of b bits fill exactly b bytes: reads start at such a boundary."""


def unpack_fixed_bit(packed: bytes, bits: int, count: int) -> npt.NDArray[np.int32]:
    """Return the first ``count`` values of ``bits`` (1 to 31) each; ``packed`` starts at a value."""
    groups = -(-count // VALUES_PER_GROUP)
    padded = np.zeros(groups * bits, dtype=np.uint8)
    available = np.frombuffer(packed, dtype=np.uint8)[: padded.size]
    padded[: available.size] = available
    columns = padded.reshape(groups, bits)
    values = np.empty((groups, VALUES_PER_GROUP), dtype=np.int32)
    mask = (1 << bits) - 1
    for lane in range(VALUES_PER_GROUP):
        end_bit = (lane + 1) * bits
        word = np.zeros(groups, dtype=np.int64)
        for byte in range(lane * bits // 8, -(-end_bit // 8)):
            word = (word << 8) | columns[:, byte]
        values[:, lane] = (word >> (-end_bit % 8)) & mask
    return values.reshape(-1)[:count]


def fixed_bit_bytes(bits: int, count: int) -> int:
    """Return how many bytes ``count`` values take."""
    return -(-bits * count // 8)


Codes = npt.NDArray[np.int32]
_BITMAP_BLOCK_BYTES = 1 << 20
_ENTRY_DICTIONARY_MAGIC = 0xFFABCDEF.to_bytes(4, "big")


def bits_per_code(cardinality: int) -> int:
    """Return the width of a code, as Pinot chooses it."""
    return max(1, (cardinality - 1).bit_length())


def decode_fixed_bit(cardinality: int, size: int, segment_rows: int, rows: range) -> Decoder[Codes]:
    """Codes of a single-value column that is not sorted."""
    bits = bits_per_code(cardinality)
    require(size == fixed_bit_bytes(bits, segment_rows), "forward index size and row count disagree")
    return (yield from _fixed_bit_values(bits, 0, rows, cardinality))


def decode_sorted(cardinality: int, size: int, segment_rows: int, rows: range) -> Decoder[Codes]:
    """Codes of a sorted column, stored as first and last row of every code."""
    require(size == 8 * cardinality, "sorted index size and cardinality disagree")
    pairs = np.frombuffer((yield 0, size), dtype=">i4").reshape(cardinality, 2).astype(np.int64)
    starts, ends = pairs[:, 0], pairs[:, 1]
    require(
        bool(starts[0] == 0 and ends[-1] == segment_rows - 1 and (starts[1:] == ends[:-1] + 1).all()),
        "its sorted index does not cover the rows",
    )
    return (np.searchsorted(starts, np.arange(rows.start, rows.stop), side="right") - 1).astype(np.int32)


def decode_multi_value(
    cardinality: int, size: int, segment_rows: int, entries: int, rows: range, max_bytes: int
) -> Decoder[tuple[Codes, Codes]]:
    """Codes and row offsets of a multi-value column: chunk offsets, row-start bitmap, fixed-bit codes.

    The chunk offsets only speed up single look-ups; their length is the rest beside the other two.
    """
    bits = bits_per_code(cardinality)
    bitmap_bytes = -(-entries // 8)
    bitmap_start = size - bitmap_bytes - fixed_bit_bytes(bits, entries)
    head = yield 0, min(4, size)
    require(
        head != _ENTRY_DICTIONARY_MAGIC, "its forward index is encoded as MV_ENTRY_DICT, which is not read"
    )
    require(bitmap_start > 0 and bitmap_start % 4 == 0, "forward index size and entry count disagree")
    starts = yield from _row_starts(bitmap_start, bitmap_bytes, rows)
    if rows.stop == segment_rows:
        starts = np.append(starts, entries)
    require(starts.size == len(rows) + 1, "its row bitmap does not cover the rows")
    window = range(int(starts[0]), int(starts[-1]))
    require(window.stop <= entries, "its row bitmap does not cover the rows")
    if 4 * len(window) > max_bytes:
        raise UnreadableColumn(f"its window needs more than {max_bytes} bytes")
    codes = yield from _fixed_bit_values(bits, bitmap_start + bitmap_bytes, window, cardinality)
    return codes, (starts - starts[0]).astype(np.int32)


def _row_starts(bitmap_start: int, bitmap_bytes: int, rows: range) -> Decoder[npt.NDArray[np.int64]]:
    """Entry positions where rows ``rows.start`` to ``rows.stop`` (inclusive, if it exists) start."""
    found = [np.empty(0, dtype=np.int64)]
    seen = 0
    for start, length in _blocks(bitmap_bytes):
        positions = _set_bits((yield bitmap_start + start, length)) + 8 * start
        found.append(positions[max(rows.start - seen, 0) : max(rows.stop + 1 - seen, 0)])
        seen += positions.size
        if seen > rows.stop:
            break
    return np.concatenate(found)


@lru_cache(maxsize=1)
def _set_bits(block: bytes) -> npt.NDArray[np.int64]:
    """Return the places of the bits of a block, for which the decoder of each run asks in turn."""
    return np.flatnonzero(np.unpackbits(np.frombuffer(block, dtype=np.uint8)))


def _blocks(length: int) -> Iterator[tuple[int, int]]:
    for start in range(0, length, _BITMAP_BLOCK_BYTES):
        yield start, min(_BITMAP_BLOCK_BYTES, length - start)


def _fixed_bit_values(bits: int, base: int, positions: range, cardinality: int) -> Decoder[Codes]:
    aligned = positions.start - positions.start % VALUES_PER_GROUP
    first_byte = aligned // VALUES_PER_GROUP * bits
    last_byte = fixed_bit_bytes(bits, positions.stop)
    packed = yield base + first_byte, last_byte - first_byte
    codes = unpack_fixed_bit(packed, bits, positions.stop - aligned)[positions.start - aligned :]
    require(codes.size == 0 or int(codes.max()) < cardinality, "a code lies beyond the dictionary")
    return codes
