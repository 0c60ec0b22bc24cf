"""The rows that star-trees of a table are estimated from: the lake table's, or those of some segments.

One pass over the columns that the shapes name. Of a lake table all distinct combinations are kept as long
as they are at most ``_EXACT_COMBINATIONS``, otherwise samples of each set that some shape uses. Of a Pinot
table, where each segment has a tree of its own, a few segments stand for all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa

from starskip.lake.lake_table import LakeTable
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window
from starskip.star_tree.build.source_table import ROWS_PER_BATCH, SourceTable, source_table
from starskip.star_tree.recommend.combination_sketch import CombinationSketch
from starskip.star_tree.recommend.combinations import distinct_combinations, value_codes
from starskip.star_tree.recommend.cuboids import Cuboids, Dimensions
from starskip.star_tree.recommend.document_bytes import SampledRows
from starskip.star_tree.recommend.table_sample import TablePart, TableSample
from starskip.tables.table_overview import TableOverview

_EXACT_COMBINATIONS = 1 << 19
_SAMPLED_COMBINATIONS = 1 << 15
_MOST_SKETCHES = 3
_MOST_SKETCHED_DIMENSIONS = 5
"""A sketch that overflows keeps one sample for each subset of its dimensions."""
_MOST_DIMENSIONS = 16
_SAMPLED_ROWS = 1 << 16
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


def lake_sample(
    table: str, source: SourceTable, used: Sequence[Dimensions], measured: Collection[str]
) -> TableSample:
    """Return what a lake table's rows tell of trees.

    ``used``: the sets of dimensions that shapes use, the most important first. ``measured``: columns that are
    aggregated. Raises SourceError for files that cannot be read.
    """
    dimensions = _limited(used)
    columns = [*dimensions, *sorted(set(measured) - set(dimensions))]
    rows = sum(sum(file.row_group_rows or ()) for file in source.files)
    # Files of CSV do not tell: then there may be any number of rows.
    step = max((rows or ROWS_PER_BATCH) // _SAMPLED_ROWS, 1)
    is_small = 0 < rows <= _EXACT_COMBINATIONS
    sets = [frozenset(dimensions)] if is_small else _groups(used, dimensions)
    size = _EXACT_COMBINATIONS if is_small else _SAMPLED_COMBINATIONS
    sketches = [CombinationSketch(tuple(sorted(each)), size) for each in sets]
    taken: list[pa.Table] = []
    read = 0
    for batch in _batches(source, columns):
        for sketch in sketches:
            sketch.add(batch)
        first = -read % step
        taken.append(batch.take(pa.array(np.arange(first, batch.num_rows, step))))
        read += batch.num_rows
    cuboids = reduce(Cuboids.joined, [sketch.cuboids() for sketch in sketches])
    sampled = (
        pa.concat_tables(taken).combine_chunks() if taken else source.schema.empty_table().select(columns)
    )
    codes = {name: value_codes(sampled[name], values) for name, values in cuboids.values.items()}
    size_bytes = float(sum(file.identity.size_bytes for file in source.files))
    types = {field.name: field.type for field in source.schema}
    several = frozenset(name for name, type_ in types.items() if pa.types.is_nested(type_))
    part = TablePart(cuboids, SampledRows(codes, sampled))
    return TableSample(table, (part,) if read else (), types, float(read), size_bytes, multi_value=several)


def segment_sample(segments_root: str, overview: TableOverview, used: Sequence[Dimensions]) -> TableSample:
    """Return what some segments of a Pinot table tell of the trees that each segment would have."""
    files = list_segments(segments_root, [overview.table])
    count = min(len(files), _SAMPLED_SEGMENTS)
    dimensions = _limited(used)
    parts = []
    for position in range(count):
        try:
            window = read_row_window(
                files[position * len(files) // count], dimensions, max_rows=_MAX_SEGMENT_ROWS
            )
        except DamagedSegment:
            # Named by collect_segment_metadata; the others tell enough.
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
        parts.append(TablePart(Cuboids({frozenset(codes): whole}, values)))
    return TableSample(
        overview.table,
        tuple(parts),
        column_types(overview),
        float(overview.rows),
        float(overview.stored_bytes),
        scale=overview.segments / len(parts) if parts else 1.0,
        multi_value=frozenset(n for n, column in overview.columns.items() if not column.is_single_value),
    )


def lake_source(lake: LakeTable) -> SourceTable:
    """Return the files of a lake table."""
    return source_table(lake.path, lake.casts)


def _batches(source: SourceTable, columns: list[str]) -> Iterator[pa.Table]:
    for chunk in source.chunks(ROWS_PER_BATCH):
        yield from source.batches(chunk, columns)


def _limited(used: Sequence[Dimensions]) -> tuple[str, ...]:
    """Return the dimensions of the first sets, as many as may be looked at together."""
    found: dict[str, None] = {}
    for each in used:
        if len(found.keys() | each) <= _MOST_DIMENSIONS:
            found.update(dict.fromkeys(sorted(each)))
    return tuple(found)


def _groups(used: Sequence[Dimensions], dimensions: Collection[str]) -> list[Dimensions]:
    """Return sets of dimensions, each of as many of the first ``used`` as may be sketched together."""
    found: list[Dimensions] = []
    for each in used:
        if each <= set(dimensions) and len(each) <= _MOST_SKETCHED_DIMENSIONS:
            group = next((g for g in found if len(g | each) <= _MOST_SKETCHED_DIMENSIONS), None)
            if group is not None:
                found[found.index(group)] = group | each
            elif len(found) < _MOST_SKETCHES:
                found.append(each)
    return found
