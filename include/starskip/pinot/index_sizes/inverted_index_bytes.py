"""Estimate the size of an inverted index from the dictionary codes of a run of rows.

Pinot's BitmapInvertedIndexWriter: cardinality + 1 offsets of 4 bytes, then one roaring bitmap of
rows for each dictionary id.
"""

from __future__ import annotations

from starskip.pinot.index_sizes.index_format import IndexFormat
from starskip.pinot.index_sizes.roaring_bytes import container_counts, roaring_bytes
from starskip.pinot.index_sizes.segment_pieces import segment_pieces
from starskip.tables.row_window import ColumnWindow


def inverted_index_bytes(
    column: ColumnWindow, rows: int, segment_rows: int, index_format: IndexFormat
) -> float | None:
    """Return the bytes of the index of one segment, without the magic marker.

    ``column`` is known over the first ``rows`` rows: exact where these are all ``segment_rows``, else by
    segment_pieces. None without a dictionary, or where the rows are too few.
    """
    pieces = segment_pieces(column, rows, segment_rows)
    if column.dictionary is None or not pieces:
        return None
    cardinality = len(column.dictionary)
    bodies = headers = containers = 0.0
    for piece, times in pieces:
        counts = container_counts(piece, cardinality)
        found = roaring_bytes(counts, cardinality, has_run_containers=index_format.has_run_containers)
        bodies += times * found.bodies
        containers += times * found.containers
        # The part of a bitmap's header that grows with its containers.
        headers += times * (found.headers - 8 * cardinality)
    # Every value of the dictionary has a container somewhere, also a value that these rows do not show.
    headers *= max(containers, cardinality) / max(containers, 1)
    return 4 * (cardinality + 1) + 8 * cardinality + headers + bodies
