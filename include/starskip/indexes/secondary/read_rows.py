"""Read row groups of a table's Parquet files, columns as the table has them, and count what that reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from starskip.errors import SourceError, first_line
from starskip.indexes.secondary.table_schema import TableSchema, conformed, partition_scalar
from starskip.storage.files.object_reader import ObjectReader
from starskip.storage.files.object_url import local_path, object_url

_DAMAGE = (OSError, ValueError, LookupError, pa.ArrowException)
_FOOTERS = 4_096


@dataclass(frozen=True, slots=True)
class DataFileOfTable:
    """A file of the table by its path, identity, and partition values as texts by column."""

    path: str
    size_bytes: int
    modified_ms: int
    partition: tuple[tuple[str, str | None], ...] = ()

    def footer(self) -> Any:
        """Return the file's footer; those of a process's last files are kept. Raises SourceError."""
        return None if self.size_bytes == 0 else _footer(self.path, self.size_bytes, self.modified_ms)

    def row_group_rows(self) -> npt.NDArray[np.int64]:
        """Return the rows of each row group; a file of no bytes has none."""
        footer = self.footer()
        groups = range(footer.num_row_groups) if footer is not None else ()
        return np.array([footer.row_group(group).num_rows for group in groups], np.int64)


def column_bytes(footer: Any, groups: Iterable[int], names: Sequence[str]) -> int:
    """Return the stored bytes of columns in some row groups."""
    wanted = set(names)
    found = 0
    for number in groups:
        group = footer.row_group(number)
        for at in range(group.num_columns):
            column = group.column(at)
            if column.path_in_schema.partition(".")[0] in wanted:
                found += column.total_compressed_size
    return found


def read_row_groups(
    file: DataFileOfTable, groups: Sequence[int], schema: TableSchema, names: Sequence[str]
) -> tuple[pa.Table, int]:
    """Return columns of some row groups, in their order, and the bytes that were read for them.

    Ranges that lie close together are one request. Raises SourceError naming a file that cannot be read.
    """
    footer = file.footer()
    rows = sum(footer.row_group(group).num_rows for group in groups) if footer is not None else 0
    stored = [name for name in names if name not in schema.partition]
    partition = dict(file.partition)
    try:
        if footer is None:
            found, size = pa.table({}), 0
        else:
            parquet = pq.ParquetFile(
                _opened(file.path), metadata=footer, pre_buffer=True, coerce_int96_timestamp_unit="us"
            )
            present = [name for name in stored if name in parquet.schema_arrow.names]
            found = parquet.read_row_groups(list(groups), columns=present, use_threads=True)
            size = column_bytes(footer, groups, present)
        table = conformed(found, schema, stored, rows)
        columns = []
        for name in names:
            if name in partition:
                value = partition_scalar(partition[name], schema.columns.field(name).type)
                columns.append(pa.chunked_array([pa.repeat(value, rows)]))
            else:
                columns.append(table[name])
        fields = [schema.columns.field(name) for name in names]
        return pa.table(columns, schema=pa.schema(fields)), size
    except _DAMAGE as error:
        raise SourceError(f"{file.path}: cannot be read ({first_line(error)})", source=file.path) from error


def together(groups: Sequence[int], row_counts: npt.NDArray[np.int64], most_rows: int) -> Iterator[list[int]]:
    """Cut row groups into pieces of at most so many rows, or of one group, that are read at once."""
    held: list[int] = []
    rows = 0
    for group in groups:
        if held and rows + row_counts[group] > most_rows:
            yield held
            held, rows = [], 0
        held.append(group)
        rows += int(row_counts[group])
    if held:
        yield held


@lru_cache(maxsize=_FOOTERS)
def _footer(path: str, size_bytes: int, modified_ms: int) -> Any:
    del size_bytes, modified_ms
    try:
        return pq.read_metadata(_opened(path))
    except _DAMAGE as error:
        raise SourceError(f"{path}: cannot be read ({first_line(error)})", source=path) from error


def _opened(path: str) -> Any:
    url = object_url(path)
    return str(local_path(path)) if url is None else ObjectReader(url, read_ahead=False)
