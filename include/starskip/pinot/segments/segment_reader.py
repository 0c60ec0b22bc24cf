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
    """Return ``max_rows`` consecutive rows of ``columns``, all rows if there are fewer.

    ``place``: where they lie, from 0 for the first rows to 1 for the last ones. Of a segment that was pulled
    from a live Pinot the rows come from all over it.
    A column that is missing, of an encoding not read, or needs more than MAX_COLUMN_BYTES stands in
    ``unreadable`` with the reason. Raises DamagedSegment. The tar is decompressed up to its metadata, if its
    ``layout`` was not read before, then once up to the last byte that a column needs.
    """
    limits = TarLimits()
    layout = layout or read_segment_layout(file, limits, whole=False)
    if layout.metadata.pulled_rows is not None:
        return read_pulled_window(file, layout.metadata, dict.fromkeys(columns), max_rows, place, limits)
    count = min(max_rows, layout.metadata.rows)
    first = round(place * (layout.metadata.rows - count))
    rows = range(first, first + count)
    return read_window(file, layout, tuple(dict.fromkeys(columns)), rows, MAX_COLUMN_BYTES, limits)
