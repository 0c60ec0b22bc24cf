"""Extrapolate a sampled run of rows to its whole segment."""

from __future__ import annotations

from dataclasses import replace

from starskip.pinot.index_sizes.roaring_bytes import CONTAINER_ROWS
from starskip.tables.row_window import ColumnWindow


def segment_pieces(
    column: ColumnWindow, rows: int, segment_rows: int
) -> tuple[tuple[ColumnWindow, float], ...]:
    """Return pieces of ``column`` and how often each is assumed to occur in the whole segment.

    ``column`` is known over the first ``rows`` rows. Its full containers stand for all full containers, and
    its first rows for the last, short container: the bytes of a container do not grow evenly with its rows.
    Empty where not even one container of a larger segment is known.
    """
    if not rows:
        return ()
    if rows >= segment_rows:
        return ((column, 1.0),)
    full, rest = segment_rows // CONTAINER_ROWS, segment_rows % CONTAINER_ROWS
    known = rows // CONTAINER_ROWS
    if not known:
        return ()
    pieces = [(_first_rows(column, known * CONTAINER_ROWS), full / known)]
    if rest:
        pieces.append((_first_rows(column, rest), 1.0))
    return tuple(pieces)


def _first_rows(column: ColumnWindow, rows: int) -> ColumnWindow:
    if column.offsets is None:
        return replace(column, codes=column.codes[:rows])
    offsets = column.offsets[: rows + 1]
    return replace(column, codes=column.codes[: offsets[-1]], offsets=offsets)
