"""Read the rows of a Parquet or ORC file from its beginning, a batch of bounded length at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from starskip.lake.orc_file import Positions
from starskip.secondary.data_file import DataFileOfTable, reading
from starskip.secondary.read_rows import as_table_has, read_row_groups, together
from starskip.secondary.table_schema import TableSchema

_ROWS_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows from the position ``start`` on.

    ``zones``: the first position and the rows of each row group or stripe, or of a piece of a large one.
    """

    start: int
    rows: pa.Table
    zones: Sequence[tuple[int, int]]


def row_batches(file: DataFileOfTable, names: Sequence[str], schema: TableSchema) -> Iterator[RowBatch]:
    """Yield columns of neighbouring row groups, of a stripe, or of a piece of a large one.

    Raises SourceError naming a file that cannot be read.
    """
    if file.is_orc:
        for start, rows in read_stripes(file, schema, names):
            yield from _cut(start, rows)
        return
    row_counts = file.row_group_rows()
    starts = (np.cumsum(row_counts) - row_counts).tolist()
    for groups in together(list(range(len(row_counts))), row_counts, _ROWS_AT_ONCE):
        table, _ = read_row_groups(file, groups, schema, names)
        if table.num_rows <= _ROWS_AT_ONCE:
            zones = [(starts[group], int(row_counts[group])) for group in groups]
            yield RowBatch(starts[groups[0]], table, zones)
        else:
            yield from _cut(starts[groups[0]], table)


def _cut(start: int, rows: pa.Table) -> Iterator[RowBatch]:
    for at in range(0, rows.num_rows, _ROWS_AT_ONCE):
        piece = rows.slice(at, _ROWS_AT_ONCE)
        yield RowBatch(start + at, piece, [(start + at, piece.num_rows)])


def read_stripes(
    file: DataFileOfTable, schema: TableSchema, names: Sequence[str], positions: Positions | None = None
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the position of the first row and the rows of each stripe that holds some ``positions``.

    Raises SourceError naming a file that cannot be read.
    """
    if file.size_bytes == 0:
        return
    with reading(file.path):
        stored = [name for name in names if name not in schema.partition]
        for start, rows in file.orc().stripes(stored, positions):
            yield start, as_table_has(rows, file, schema, names, rows.num_rows)
