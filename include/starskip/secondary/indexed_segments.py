"""The segments of a table's secondary indexes, whose runs are opened when they are first read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from starskip.file_metadata.metadata_files import read_columns
from starskip.file_metadata.segment import Segment
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.column_name import column_name
from starskip.secondary.data_file import DataFileOfTable
from starskip.secondary.postings import IndexedSegment
from starskip.secondary.run_reader import RunReader, paired
from starskip.secondary.secondary_index import Kind, SecondaryIndex
from starskip.secondary.table_schema import TableSchema, schema_of_text
from starskip.secondary.table_to_index import SCHEMA

_ZONE_COLUMNS = ("low", "high", "file", "first_row", "rows", "nulls")
_TABLES_KEPT = 16


def known_schema(metadata: TableMetadata) -> TableSchema:
    """Return the columns of the files as they were indexed, without the partition columns."""
    return TableSchema(schema_of_text(metadata.source.options[SCHEMA]), ())


@lru_cache(maxsize=_TABLES_KEPT)
def known_segments(
    metadata: TableMetadata,
) -> tuple[tuple[SecondaryIndex, ...], tuple[IndexedSegment, ...]]:
    """Return the indexes that cover all files of the metadata, and the segments of these files.

    All files count as live: the caller compares them with the files to be read. Raises StorageError.
    """
    schema = known_schema(metadata)
    types = schema.types_by_name()
    used = {name: segment for name, segment in metadata.segments.items() if metadata.row_counts[name]}
    indexes = tuple(
        index
        for index in metadata.indexes
        if isinstance(index, SecondaryIndex)
        and all(index.specification in segment.groups for segment in used.values())
        and all(name in types for name in index.columns)
    )
    segments = []
    for name, segment in used.items():
        positions = metadata.live[name]
        files = range(segment.rows) if positions is None else positions.tolist()
        segments.append(indexed_segment(metadata, name, segment, dict.fromkeys(files), indexes, schema))
    return indexes, tuple(segments)


def indexed_segment(
    metadata: TableMetadata,
    name: str,
    segment: Segment,
    files: Mapping[int, DataFileOfTable | None],
    indexes: Sequence[SecondaryIndex],
    schema: TableSchema,
) -> IndexedSegment:
    """Return a segment; ``files``: the live files by position, which also have the partition values."""
    file_rows = np.zeros(segment.rows, np.int64)
    positions = metadata.live[name]
    of = metadata.rows.slice(metadata.row_slices[name].start, metadata.row_counts[name])
    file_rows[np.arange(segment.rows) if positions is None else positions] = of.fill_null(0).to_numpy()
    live = np.zeros(segment.rows, np.bool_)
    live[list(files)] = True
    types = schema.types_by_name()
    runs, zones = {}, {}
    for index in indexes:
        groups = segment.groups[index.specification]
        if index.kind_of_index is Kind.PRIMARY:
            found = read_columns(metadata.storage, groups, _ZONE_COLUMNS) if groups else None
            zones[index.specification] = _typed(found, types[index.columns[0]])
        else:
            kind = types[index.columns[0]] if index.kind_of_index is Kind.BTREE else None
            runs[index.specification] = tuple(
                RunReader(metadata.storage, rows, blocks, kind) for rows, blocks in paired(groups)
            )
    for column in schema.partition:
        zones[f"primary:{column_name((column,))}"] = _partition_zones(column, files, file_rows, schema)
    return IndexedSegment(name, file_rows, live, runs, zones)


def _typed(zones: pa.Table | None, kind: pa.DataType) -> pa.Table:
    names = [pa.field("low", kind), pa.field("high", kind)]
    schema = pa.schema([*names, *(pa.field(name, pa.int64()) for name in _ZONE_COLUMNS[2:])])
    return schema.empty_table() if zones is None else zones.cast(schema).combine_chunks()


def _partition_zones(
    column: str, files: Mapping[int, DataFileOfTable | None], file_rows: np.ndarray, schema: TableSchema
) -> pa.Table:
    """Return the zones of a partition column: one zone a file, whose least and greatest are its one value."""
    kind = schema.columns.field(column).type
    values = [
        schema.partition_value(column, dict(file.partition if file else ()).get(column))
        for file in files.values()
    ]
    key = pa.array([value.as_py() for value in values], kind)
    positions = list(files)
    rows = file_rows[positions]
    nulls = np.where(np.asarray(key.is_null()), rows, 0) if positions else rows
    return pa.table(
        [
            key,
            key,
            pa.array(positions, pa.int64()),
            pa.array(np.zeros(len(rows), np.int64)),
            pa.array(rows),
            pa.array(nulls),
        ],
        names=list(_ZONE_COLUMNS),
    )
