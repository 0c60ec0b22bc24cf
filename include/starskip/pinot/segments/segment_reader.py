"""Read one tarred segment: its facts, or a window of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from starskip.pinot.segments.decompressed_stream import TarLimits
from starskip.pinot.segments.pulled_rows import read_pulled_window
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.segments.segment_layout import SegmentLayout, read_segment_layout
from starskip.pinot.segments.window_reader import read_window
from starskip.tables.row_window import RowWindow
from starskip.tables.segment_facts import SegmentFacts

MAX_COLUMN_BYTES = 64 << 20
RUN_ROWS = 1 << 16
"""Rows of a container of a roaring bitmap: what an index takes is told by whole containers."""


def read_segment_facts(file: SegmentFile) -> SegmentFacts:
    """Return the facts of the segment's metadata, with the index sizes found in it.

    Raises DamagedSegment. The tar is read to its end, so that damage anywhere is found.
    """
    return segment_facts(file, read_segment_layout(file, TarLimits(), whole=True))


def segment_facts(file: SegmentFile, layout: SegmentLayout) -> SegmentFacts:
    """Return the facts of a segment whose layout was read."""
    metadata = layout.metadata
    columns = tuple(
        replace(column, index_bytes=layout.index_bytes.get(column.name, {})) for column in metadata.columns
    )
    return SegmentFacts(file.table, metadata.segment, metadata.version, metadata.rows, columns)


def read_row_window(
    file: SegmentFile,
    columns: Iterable[str],
    *,
    max_rows: int,
    layout: SegmentLayout | None = None,
    place: float = 0.0,
) -> RowWindow:
    """Return ``max_rows`` rows of ``columns``, all rows if there are fewer.

    They come from all over the segment, in runs of RUN_ROWS consecutive rows; fewer rows than two runs have
    are one run. ``place``: where the run lies in its share of the segment, from 0 for the first rows to 1 for
    the last ones.
    A column that is missing, of an encoding not read, or needs more than MAX_COLUMN_BYTES stands in
    ``unreadable`` with the reason. Raises DamagedSegment. The tar is decompressed up to its metadata, if its
    ``layout`` was not read before, then once up to the last byte that a column needs.
    """
    limits = TarLimits()
    layout = layout or read_segment_layout(file, limits, whole=False)
    if layout.metadata.pulled_rows is not None:
        return read_pulled_window(file, layout.metadata, dict.fromkeys(columns), max_rows, place, limits)
    runs = spread_runs(layout.metadata.rows, max_rows, place)
    return read_window(file, layout, tuple(dict.fromkeys(columns)), runs, MAX_COLUMN_BYTES, limits)


def spread_runs(segment_rows: int, max_rows: int, place: float) -> list[range]:
    """Return runs of ``max_rows`` of the rows in all, each at the same place of its share of the segment."""
    if max_rows >= segment_rows:
        return [range(segment_rows)]
    count = max(max_rows // RUN_ROWS, 1)
    bounds = [number * max_rows // count for number in range(count + 1)]
    gap = (segment_rows - max_rows) / count
    starts = [low + round(gap * (number + place)) for number, low in enumerate(bounds[:-1])]
    return [range(start, start + bounds[n + 1] - bounds[n]) for n, start in enumerate(starts)]
