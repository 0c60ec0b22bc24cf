"""Compute the bytes of serialised roaring bitmaps from the values and runs of each container.

RoaringFormatSpec, "Standard 32-bit Roaring Bitmap"; a container is written as runs when RoaringBitmap 0.9.28
does so (ArrayContainer.runOptimize, BitmapContainer.runOptimize).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starskip.tables.distinct_numbers import distinct_numbers
from starskip.tables.row_window import ColumnWindow

CONTAINER_ROWS = 1 << 16
BITMAP_BYTES = 8192
MAX_ARRAY_VALUES = 4096

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RoaringBytes:
    """Several bitmaps together: bytes of their container ``bodies`` and of ``headers``; their count."""

    bodies: int
    headers: int
    containers: int


def container_counts(column: ColumnWindow, bitmaps: int) -> Iterator[tuple[Counts, Counts]]:
    """Yield, for every CONTAINER_ROWS rows of the window, values and runs of each of ``bitmaps`` codes.

    Bitmap i holds the rows that have code i. A run is a longest stretch of consecutive rows.
    """
    if column.offsets is None:
        for first in range(0, len(column.codes), CONTAINER_ROWS):
            codes = column.codes[first : first + CONTAINER_ROWS]
            is_start = np.append(True, codes[1:] != codes[:-1])
            yield np.bincount(codes, minlength=bitmaps), np.bincount(codes[is_start], minlength=bitmaps)
        return
    rows = len(column.offsets) - 1
    for first in range(0, rows, CONTAINER_ROWS):
        bounds = column.offsets[first : min(first + CONTAINER_ROWS, rows) + 1]
        row = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        # Sorted by code, then row; a value that a row holds twice is in its bitmap once.
        key = distinct_numbers(column.codes[bounds[0] : bounds[-1]].astype(np.int64) * CONTAINER_ROWS + row)
        codes = key // CONTAINER_ROWS
        is_start = np.append(True, (np.diff(key) != 1) | (np.diff(codes) != 0))[: len(key)]
        yield np.bincount(codes, minlength=bitmaps), np.bincount(codes[is_start], minlength=bitmaps)


def roaring_bytes(
    counts: Iterable[tuple[Counts, Counts]], bitmaps: int, *, has_run_containers: bool
) -> RoaringBytes:
    """Return the bytes of ``bitmaps`` bitmaps from the values and runs of their containers."""
    bodies = 0
    containers = np.zeros(bitmaps, dtype=np.int64)
    has_runs = np.zeros(bitmaps, dtype=bool)
    for values, runs in counts:
        body = np.where(values <= MAX_ARRAY_VALUES, 2 * values, BITMAP_BYTES)
        if has_run_containers:
            as_runs = 2 + 4 * runs
            is_run = as_runs < body
            body = np.where(is_run, as_runs, body)
            has_runs |= is_run
        bodies += int(body.sum())
        containers += values > 0
    plain = 8 + 8 * containers
    # Below four containers a bitmap with runs keeps no offsets.
    with_runs = 4 + (containers + 7) // 8 + np.where(containers < 4, 4, 8) * containers
    return RoaringBytes(
        bodies=bodies,
        headers=int(np.where(has_runs, with_runs, plain).sum()),
        containers=int(containers.sum()),
    )
