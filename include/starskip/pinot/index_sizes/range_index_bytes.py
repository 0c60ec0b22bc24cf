"""Estimate the size of a range index from the values of a run of rows.

Bit-sliced (Pinot's BitSlicedRangeIndexCreator over RoaringBitmap 0.9.28's RangeBitmap): for every
65,536 rows and every bit of the largest value, one container of the rows where that bit is 0.
Before that, and for multi-value columns (RangeIndexCreator): about 20 ranges with equally many
entries, a roaring bitmap each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.pinot.index_sizes.index_format import IndexFormat
from starskip.pinot.index_sizes.roaring_bytes import (
    BITMAP_BYTES,
    CONTAINER_ROWS,
    MAX_ARRAY_VALUES,
    container_counts,
    roaring_bytes,
)
from starskip.pinot.index_sizes.segment_pieces import segment_pieces
from starskip.tables.row_window import ColumnWindow


def ordinals(values: pa.Array) -> tuple[npt.NDArray[np.uint64], int] | None:
    """Return the ordinal of each value and the number of bits kept; None for values of another type."""
    if pa.types.is_floating(values.type):
        return _of_floats(values.to_numpy(zero_copy_only=False))
    if pa.types.is_integer(values.type) or pa.types.is_timestamp(values.type):
        numbers = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
        # The difference of two 64-bit numbers fits 64 bits without a sign.
        differences = (numbers - numbers.min(initial=np.iinfo(np.int64).max)).view(np.uint64)
        return differences, bit_count(int(differences.max(initial=0)))
    return None


def bit_count(largest: int) -> int:
    """Return the bits of the largest ordinal, at least one."""
    return max(largest.bit_length(), 1)


def _of_floats(numbers: npt.NDArray[np.floating[Any]]) -> tuple[npt.NDArray[np.uint64], int]:
    width = 8 * numbers.itemsize
    sign, all_bits = np.uint64(1 << (width - 1)), np.uint64((1 << width) - 1)
    # Pinot sees one zero, and NaN below everything.
    one_zero = np.where(numbers == 0, numbers.dtype.type(0), numbers)
    bits = one_zero.view(f"u{numbers.itemsize}").astype(np.uint64)
    ordered = np.where(bits & sign, ~bits & all_bits, bits ^ sign)
    ordered[np.isnan(numbers) | np.isneginf(numbers)] = 0
    ordered[np.isposinf(numbers)] = all_bits
    return ordered, width


BIT_SLICED_HEADER_BYTES = 22
"""Version and least value (12) of Pinot, cookie, base, slices, containers and rows (10) of RangeBitmap."""
RANGES = 20
BITMAP_SLICES = 5
"""The lowest slices start as bitmaps, which RangeBitmap never turns into arrays."""

Codes = npt.NDArray[np.signedinteger[Any] | np.unsignedinteger[Any]]


def range_index_bytes(
    column: ColumnWindow, rows: int, segment_rows: int, index_format: IndexFormat
) -> float | None:
    """Return the bytes of the index of one segment, without the magic marker.

    ``column`` is known over the first ``rows`` rows: exact where these are all ``segment_rows``, else by
    segment_pieces. None where it can have no range index, or where the rows are too few.
    """
    pieces = segment_pieces(column, rows, segment_rows)
    by_code: npt.NDArray[np.unsignedinteger[Any]] | None = None
    if column.dictionary is not None:
        slices = bit_count(len(column.dictionary) - 1)
    else:
        found = ordinals(column.values) if column.values is not None else None
        if found is None:
            return None
        by_code, slices = found
    if not pieces:
        return None
    if not index_format.has_bit_slices or column.offsets is not None:
        return _ranged_bytes(column, pieces, by_code, 4 if slices <= 32 else 8)
    total = float(BIT_SLICED_HEADER_BYTES)
    for piece, times in pieces:
        total += times * _sliced_bytes(piece.codes if by_code is None else by_code[piece.codes], slices)
    return total


def _sliced_bytes(codes: Codes, slices: int) -> int:
    """Return the bytes of the masks, one for every CONTAINER_ROWS rows, and of the containers."""
    total = 0
    for first in range(0, len(codes), CONTAINER_ROWS):
        rows = codes[first : first + CONTAINER_ROWS]
        total += (slices + 7) // 8
        for position in range(slices):
            is_zero = rows & rows.dtype.type(1 << position) == 0
            values = int(np.count_nonzero(is_zero))
            runs = int(is_zero[0]) + int(np.count_nonzero(is_zero[1:] & ~is_zero[:-1]))
            total += _slice_bytes(values, runs, starts_as_bitmap=position < BITMAP_SLICES)
    return total


def _slice_bytes(values: int, runs: int, *, starts_as_bitmap: bool) -> int:
    if not values:
        return 0
    as_runs = 2 + 4 * runs
    if starts_as_bitmap:
        return 1 + as_runs if as_runs < BITMAP_BYTES else 3 + BITMAP_BYTES
    if as_runs <= min(BITMAP_BYTES, 2 * values + 2):
        return 1 + as_runs
    return 3 + 2 * values if values <= MAX_ARRAY_VALUES else 3 + BITMAP_BYTES


def _ranged_bytes(
    column: ColumnWindow,
    pieces: Sequence[tuple[ColumnWindow, float]],
    by_code: npt.NDArray[np.unsignedinteger[Any]] | None,
    value_bytes: int,
) -> float:
    # Dictionary ids are in the order of their values; the codes of a raw column's window are not.
    rank = (
        np.argsort(np.argsort(by_code)) if by_code is not None else np.arange(column.codes.max(initial=0) + 1)
    )
    range_of_rank = _ranges(np.cumsum(np.bincount(rank[column.codes])))
    ranges = int(range_of_rank[-1]) + 1
    total = ranged_header_bytes(ranges, value_bytes) + 8 * ranges
    for piece, times in pieces:
        ranged = replace(piece, codes=range_of_rank[rank[piece.codes]].astype(np.int32))
        found = roaring_bytes(container_counts(ranged, ranges), ranges, has_run_containers=False)
        total += times * (found.containers * 8 + found.bodies)
    return total


def _ranges(entries: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the range of each value from the number of entries that are at most that value."""
    range_entries = -(-int(entries[-1]) // RANGES)
    firsts = [0]
    while True:
        # A range ends with the first value that exceeds its share of entries.
        before = entries[firsts[-1] - 1] if firsts[-1] else 0
        first = int(np.searchsorted(entries, before + range_entries, side="right")) + 1
        if first >= len(entries) or entries[first - 1] == entries[-1]:
            break
        firsts.append(first)
    return np.repeat(np.arange(len(firsts)), np.diff([*firsts, len(entries)]))


def ranged_header_bytes(ranges: float, value_bytes: int = 4) -> float:
    """Return version, type name and number of ranges, then the least values and offsets of the ranges."""
    return 4 + 4 + len("INT") + 4 + (value_bytes + 8) * (ranges + 1)
