"""Read one tarred segment: its facts, or a window of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from starskip.pinot.segments.decompressed_stream import TarLimits
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.segments.segment_layout import SegmentLayout, read_segment_layout
from starskip.pinot.segments.window_reader import read_window
from starskip.tables.row_window import RowWindow
from starskip.tables.segment_facts import SegmentFacts

MAX_COLUMN_BYTES = 64 << 20


def read_segment_facts(file: SegmentFile, *, limits: TarLimits | None = None) -> SegmentFacts:
    """Return the facts of the segment's metadata, with the index sizes found in it.

    Raises DamagedSegment. The tar is read to its end, so that damage anywhere is found.
    """
    return segment_facts(file, read_segment_layout(file, limits or TarLimits(), whole=True))


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
    first_row: int = 0,
    max_column_bytes: int = MAX_COLUMN_BYTES,
    limits: TarLimits | None = None,
    layout: SegmentLayout | None = None,
) -> RowWindow:
    """Return rows ``first_row`` to ``first_row + max_rows`` (clipped to the segment) of ``columns``.

    A column that is missing, of an encoding not read, or needs more than ``max_column_bytes``
    stands in ``unreadable`` with the reason. Raises DamagedSegment. The tar is decompressed up to
    its metadata, if its ``layout`` was not read before, then once up to the last byte that a column needs.
    """
    limits = limits or TarLimits()
    layout = layout or read_segment_layout(file, limits, whole=False)
    rows = range(layout.metadata.rows)[max(first_row, 0) :][: max(max_rows, 0)]
    return read_window(file, layout, tuple(dict.fromkeys(columns)), rows, max_column_bytes, limits)
