"""Sizes of indexes from a segment's metadata alone: every value equally often, rows in no order.

Sampled rows correct the error for skewed or clustered columns (scoring.index_sizes).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from starskip.pinot.index_sizes.index_format import IndexFormat
from starskip.pinot.index_sizes.range_index_bytes import (
    BIT_SLICED_HEADER_BYTES,
    BITMAP_SLICES,
    RANGES,
    ranged_header_bytes,
)
from starskip.pinot.index_sizes.roaring_bytes import BITMAP_BYTES, CONTAINER_ROWS, MAX_ARRAY_VALUES

Numbers = npt.NDArray[np.float64]


def uniform_inverted_bytes(
    cardinality: Numbers, entries: Numbers, rows: Numbers, index_format: IndexFormat
) -> Numbers:
    """Return the expected bytes of inverted indexes, one a column and segment, without magic markers.

    The arrays have the same order; cardinality, entries (values, rows if single-value) and rows are at least
    1.
    """
    total = 4 * (cardinality + 1) + 8 * cardinality
    for containers, share in _containers(rows):
        # Each value certainly occurs once; the other entries fall anywhere.
        surely_absent = (1 - share) * np.exp(-share * np.maximum(entries - cardinality, 0) / cardinality)
        total += containers * cardinality * 8 * (1 - surely_absent)
        values = np.minimum(entries * share / cardinality, rows * share)
        body = np.where(values <= MAX_ARRAY_VALUES, 2 * values, BITMAP_BYTES)
        if index_format.has_run_containers:
            body = np.minimum(body, 2 + 4 * _runs(values, rows * share))
        total += containers * cardinality * body
    return total


def uniform_range_bytes(
    cardinality: Numbers,
    entries: Numbers,
    rows: Numbers,
    is_single_value: npt.NDArray[np.bool_],
    index_format: IndexFormat,
) -> Numbers:
    """Return the expected bytes of range indexes, as uniform_inverted_bytes.

    ``cardinality`` of a raw column: the number of values that its bits can distinguish.
    """
    ranges = _uniform_ranges(cardinality, entries, rows)
    if not index_format.has_bit_slices:
        return ranges
    return np.where(is_single_value, _uniform_slices(cardinality, rows), ranges)


def _uniform_slices(cardinality: Numbers, rows: Numbers) -> Numbers:
    # frexp counts bits; for 2 ** 64 values it would count one bit more than the largest value has.
    slices = np.minimum(np.frexp(np.maximum(cardinality - 1, 1))[1], 64)
    total = np.full(len(cardinality), float(BIT_SLICED_HEADER_BYTES))
    for containers, share in _containers(rows):
        chunk = rows * share
        total += containers * ((slices + 7) // 8)
        for position in range(int(slices.max(initial=0))):
            block = 2.0**position
            # The number of ids from 0 to n - 1 that have a 0 at the position.
            zeros = np.floor(cardinality / (2 * block)) * block + np.minimum(cardinality % (2 * block), block)
            values = chunk * zeros / cardinality
            as_runs = 1 + 2 + 4 * _runs(values, chunk)
            otherwise = np.where(values <= MAX_ARRAY_VALUES, 3 + 2 * values, 3 + BITMAP_BYTES)
            if position < BITMAP_SLICES:
                otherwise = np.full(len(cardinality), 3.0 + BITMAP_BYTES)
            total += containers * np.where(position < slices, np.minimum(as_runs, otherwise), 0)
    return total


def _uniform_ranges(cardinality: Numbers, entries: Numbers, rows: Numbers) -> Numbers:
    values_per_range = np.ceil((np.ceil(entries / RANGES) + 1) * cardinality / entries)
    ranges = np.ceil(cardinality / values_per_range)
    total = ranged_header_bytes(0) + (ranged_header_bytes(1) - ranged_header_bytes(0) + 8) * ranges
    for containers, share in _containers(rows):
        values = np.minimum(entries / ranges, rows) * share
        body = np.where(values <= MAX_ARRAY_VALUES, 2 * values, BITMAP_BYTES)
        total += containers * ranges * (8 + body)
    return total


def _containers(rows: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the numbers of full and of last containers, each with its share of rows."""
    yield np.floor(rows / CONTAINER_ROWS), np.minimum(CONTAINER_ROWS / rows, 1.0)
    rest = rows % CONTAINER_ROWS
    yield (rest > 0).astype(np.float64), rest / rows


def _runs(values: Numbers, rows: Numbers) -> Numbers:
    """Return the expected number of runs of ``values`` rows picked at random out of ``rows``."""
    share = np.minimum(values / np.maximum(rows, 1), 1.0)
    runs: Numbers = values * (1 - share) + share
    return runs
