"""Rows of a segment that were pulled from a live Pinot, kept as Parquet in the place of its indexes.

The tar of such a segment has Pinot's own ``metadata.properties`` and ``index_map``, with the key PULLED_ROWS
in the former, and no ``columns.psf``. ``rows.parquet`` has the rows, in their order in the segment but not
next to one another. ``values.parquet`` has one row: of the columns whose distinct values in the segment are
all known, the sorted list of these. ``nulls.parquet`` says of columns with a null vector which rows are null.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.decompressed_stream import TarLimits
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.segments.segment_metadata import SegmentMetadata
from starskip.pinot.segments.tar_stream import tar_members
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.thin_window import rows_taken
from starskip.tables.value_ends import value_ends

MAX_PULLED_ROWS = 65_535
"""Fewer than a container of roaring bitmaps: rows from all over a segment tell no size of one."""

_ROWS, _VALUES, _NULLS = "rows.parquet", "values.parquet", "nulls.parquet"
_MAX_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class PulledRows:
    """Rows of one segment; ``values`` and ``nulls`` by column, where they are known."""

    rows: pa.Table
    values: Mapping[str, pa.Array]
    nulls: Mapping[str, pa.Array]


NO_ROWS = PulledRows(pa.table({}), {}, {})


def pulled_members(pulled: PulledRows) -> dict[str, bytes]:
    """Return the files of the rows, by name."""
    lists = {name: pa.ListArray.from_arrays([0, len(each)], each) for name, each in pulled.values.items()}
    tables = {_ROWS: pulled.rows, _VALUES: pa.table(lists), _NULLS: pa.table(dict(pulled.nulls))}
    return {name: _parquet(table) for name, table in tables.items() if table.num_columns}


def _parquet(table: pa.Table) -> bytes:
    written = io.BytesIO()
    pq.write_table(table, written, compression="zstd")
    return written.getvalue()


def read_pulled_window(
    file: SegmentFile,
    metadata: SegmentMetadata,
    columns: Iterable[str],
    max_rows: int,
    place: float,
    limits: TarLimits,
) -> RowWindow:
    """Return at most ``max_rows`` of the pulled rows; raises DamagedSegment, also where there are none."""
    if not metadata.pulled_rows and metadata.rows:
        raise DamagedSegment(file.path, "no_rows", "was pulled with its metadata alone")
    read = _read_members(file, metadata.pulled_rows or 0, limits)
    facts = {column.name: column for column in metadata.columns}
    found: dict[str, ColumnWindow] = {}
    unreadable: dict[str, str] = {}
    for name in columns:
        if name not in facts:
            unreadable[name] = "the segment has no such column"
        elif name not in read.rows.column_names:
            unreadable[name] = f"its rows were not pulled: data type {facts[name].data_type}"
        else:
            of_facts = facts[name].min_value, facts[name].max_value
            found[name] = _column(read.rows[name], read.values.get(name), read.nulls.get(name), of_facts)
    rows = read.rows.num_rows
    window = RowWindow(file.table, metadata.segment, metadata.rows, rows, found, unreadable)
    if rows <= max_rows:
        return window
    first = round(place * (rows - max_rows))
    return rows_taken(window, np.arange(first, first + max_rows))


def _column(
    column: pa.ChunkedArray,
    values: pa.Array | None,
    nulls: pa.Array | None,
    ends: tuple[str | None, str | None],
) -> ColumnWindow:
    rows: Any = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    offsets = None
    if pa.types.is_list(rows.type):
        offsets = (rows.offsets.to_numpy() - rows.offsets[0].as_py()).astype(np.int32)
        rows = rows.flatten()
    is_null = None if nulls is None else nulls.to_numpy(zero_copy_only=False)
    if values is not None:
        codes = pc.index_in(rows, value_set=values)
        if codes.null_count == 0:
            places = codes.to_numpy().astype(np.int32, copy=False)
            return ColumnWindow(places, dictionary=values, offsets=offsets, nulls=is_null)
    encoded = rows.dictionary_encode()
    return ColumnWindow(
        codes=encoded.indices.to_numpy().astype(np.int32, copy=False),
        offsets=offsets,
        values=encoded.dictionary,
        nulls=is_null,
        ends=value_ends(*ends, encoded.dictionary.type),
    )


def _read_members(file: SegmentFile, count: int, limits: TarLimits) -> PulledRows:
    tables: dict[str, pa.Table] = {}
    with closing(tar_members(file.path, limits)) as members:
        for member in members:
            name = member.name.rpartition("/")[2]
            if name not in (_ROWS, _VALUES, _NULLS):
                continue
            if member.size > _MAX_BYTES:
                raise DamagedSegment(file.path, "too_large", f"{name} has {member.size} bytes")
            tables[name] = _table(file, name, member.read(member.size))
    empty = pa.table({})
    rows, nulls = tables.get(_ROWS, empty), tables.get(_NULLS, empty)
    lists = tables.get(_VALUES, empty)
    counted = {_ROWS: (rows, count), _NULLS: (nulls, count), _VALUES: (lists, 1)}
    for name, (table, expected) in counted.items():
        if table.num_columns and table.num_rows != expected:
            raise DamagedSegment(file.path, "bad_rows", f"{name} has {table.num_rows} rows, not {expected}")
    return PulledRows(rows, _lists_of(lists), {name: _array(nulls, name) for name in nulls.column_names})


def _table(file: SegmentFile, name: str, content: bytes) -> pa.Table:
    try:
        opened = pq.ParquetFile(io.BytesIO(content))
        if opened.metadata.num_rows > MAX_PULLED_ROWS:
            raise DamagedSegment(file.path, "too_large", f"{name} has more than {MAX_PULLED_ROWS} rows")
        found: pa.Table = opened.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedSegment(file.path, "bad_rows", f"{name} is damaged ({error})") from error
    return found


def _lists_of(lists: pa.Table) -> Mapping[str, pa.Array]:
    return {name: _array(lists, name)[0].values for name in lists.column_names}


def _array(table: pa.Table, name: str) -> Any:
    return table[name].combine_chunks() if table[name].num_chunks != 1 else table[name].chunk(0)


def sorted_values(values: pa.Array) -> pa.Array:
    """Return distinct values in the order of a dictionary."""
    in_order: pa.Array = values.take(pc.sort_indices(values))
    return in_order
