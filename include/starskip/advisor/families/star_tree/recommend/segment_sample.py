"""Sample rows of some segments of a Pinot table, to estimate its star-trees from.

Each segment would have a tree of its own: a few segments stand for all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from starskip.advisor.families.star_tree.recommend.combinations import distinct_combinations
from starskip.advisor.families.star_tree.recommend.cuboids import Cuboids, Dimensions
from starskip.advisor.families.star_tree.recommend.table_sample import TablePart, TableSample
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.segments.segment_reader import read_row_window
from starskip.tables.table_overview import TableOverview

_MOST_DIMENSIONS = 16
_SAMPLED_SEGMENTS = 4
_MAX_SEGMENT_ROWS = 1_000_000

ARROW_TYPES = {
    "INT": pa.int32(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BIG_DECIMAL": pa.decimal128(38, 10),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("ms"),
    "BYTES": pa.binary(),
}


def column_types(overview: TableOverview) -> dict[str, pa.DataType]:
    """Return the Arrow types of a Pinot table's columns, text where nothing else is known."""
    return {name: ARROW_TYPES.get(column.data_type, pa.string()) for name, column in overview.columns.items()}


def segment_sample(
    files: Sequence[SegmentFile], overview: TableOverview, used: Sequence[Dimensions]
) -> TableSample:
    """Return a sample of some ``files`` of a Pinot table; each segment would have trees of its own."""
    count = min(len(files), _SAMPLED_SEGMENTS)
    dimensions = limited_dimensions(used)
    parts = []
    for position in range(count):
        try:
            window = read_row_window(
                files[position * len(files) // count], dimensions, max_rows=_MAX_SEGMENT_ROWS
            )
        except DamagedSegment:
            # collect_segment_metadata reports the damaged segment; the other segments suffice.
            continue
        known = {
            name: column
            for name, column in window.columns.items()
            if column.dictionary is not None and column.offsets is None
        }
        if not window.rows or set(known) != set(dimensions):
            continue
        codes = {name: column.codes for name, column in known.items()}
        whole = distinct_combinations(codes, np.ones(window.rows, np.int64))
        values = {name: column.dictionary for name, column in known.items()}
        row_ratio = window.rows / window.segment_rows
        parts.append(TablePart(Cuboids({frozenset(codes): whole}, values, row_ratio)))
    return TableSample(
        overview.table,
        tuple(parts),
        column_types(overview),
        float(overview.rows),
        float(overview.stored_bytes),
        scale=overview.segments / len(parts) if parts else 1.0,
        multi_value=frozenset(n for n, column in overview.columns.items() if not column.is_single_value),
    )


def limited_dimensions(used: Sequence[Dimensions]) -> tuple[str, ...]:
    """Return the dimensions of the first sets, as many as may be sampled together."""
    found: dict[str, None] = {}
    for each in used:
        if len(found.keys() | each) <= _MOST_DIMENSIONS:
            found.update(dict.fromkeys(sorted(each)))
    return tuple(found)
