"""Read row groups, or rows at positions, of a table's Parquet files, columns as the table has them.

Of rows at positions only the pages that hold them are read, where a page index tells of pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from starskip.indexes.secondary.cost import MOST_OF_A_CHUNK
from starskip.indexes.secondary.data_file import DataFileOfTable, reading
from starskip.indexes.secondary.table_schema import TableSchema, conformed, partition_scalar
from starskip.lake.parquet_pages import ColumnPages, Numbers, PagedFile
from starskip.storage.files.object_reader import ObjectReader
from starskip.storage.files.object_url import local_path, object_url

_SHORT_VALUE_BYTES = 3
"""A column of texts with no more bytes a value, stored, has most of them as numbers of a dictionary."""


@dataclass
class FetchCounts:
    """Counts what a fetch has read of the table; a row group counts if any page of it was read."""

    row_groups: int = 0
    pages: int = 0
    bytes: int = 0
    rows: int = 0


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
    file: DataFileOfTable,
    groups: Sequence[int],
    schema: TableSchema,
    names: Sequence[str],
    places: Numbers | None = None,
) -> tuple[pa.Table, int]:
    """Return columns of some row groups, in their order, and the bytes that were read for them.

    ``places``: the rows that are wanted among those of the groups, by default all. Ranges that lie close
    together are one request. Raises SourceError naming a file that cannot be read.
    """
    footer = file.footer()
    rows = sum(footer.row_group(group).num_rows for group in groups) if footer is not None else 0
    stored = [name for name in names if name not in schema.partition]
    with reading(file.path):
        if footer is None:
            found, size = pa.table({}), 0
        else:
            opened = _opened(file.path)
            present = list(file.stored_names(stored).values())
            parquet = pq.ParquetFile(
                opened,
                metadata=footer,
                # Requests ahead of decoding pay where columns are many, or far away.
                pre_buffer=places is None or isinstance(opened, ObjectReader),
                # Where few rows are wanted, their texts are put together once the others are left out.
                read_dictionary=None if places is None else _dictionary_columns(footer, groups, present),
                coerce_int96_timestamp_unit="us",
            )
            found = file.of_today(parquet.read_row_groups(list(groups), columns=present, use_threads=True))
            size = column_bytes(footer, groups, present)
            if places is not None:
                found, rows = found.take(pa.array(places)), len(places)
        return as_table_has(found, file, schema, names, rows), size


def _dictionary_columns(footer: Any, groups: Sequence[int], names: Sequence[str]) -> list[str]:
    """Return the columns of texts that the first of some row groups keeps as a short dictionary."""
    found = []
    for at in range(footer.num_columns):
        leaf = footer.schema.column(at)
        if leaf.path in names and leaf.logical_type.type == "STRING":
            column = footer.row_group(groups[0]).column(at)
            if column.total_uncompressed_size <= _SHORT_VALUE_BYTES * column.num_values:
                found.append(leaf.path)
    return found


def as_table_has(
    found: pa.Table, file: DataFileOfTable, schema: TableSchema, names: Sequence[str], rows: int
) -> pa.Table:
    """Return columns of so many rows of a file as the table has them, those of the partition among them."""
    stored = [name for name in names if name not in schema.partition]
    partition = dict(file.partition)
    table = conformed(found, schema, stored, rows)
    columns = []
    for name in names:
        if name in partition:
            value = partition_scalar(partition[name], schema.columns.field(name).type)
            columns.append(pa.chunked_array([pa.repeat(value, rows)]))
        else:
            columns.append(table[name])
    return pa.table(columns, schema=pa.schema([schema.columns.field(name) for name in names]))


def read_positions(
    file: DataFileOfTable,
    groups: Mapping[int, Numbers],
    schema: TableSchema,
    names: Sequence[str],
    counts: FetchCounts,
) -> pa.Table:
    """Return columns of the rows at rising positions of row groups.

    Only pages that hold such rows are read of a column that a page index tells of. Raises SourceError naming
    a file that cannot be read.
    """
    paged = file.paged()
    columns = {}
    stored = file.stored_names(names)
    for name in names:
        is_told = paged is not None and name in stored
        chosen = _chosen_pages(paged, stored[name], groups) if paged is not None and is_told else None
        if paged is None or chosen is None:
            continue
        with reading(file.path):
            found, size = paged.read(stored[name], chosen)
            of_pages = conformed(pa.table({name: found}), schema, [name], len(found))
        counts.pages += sum(len(numbers) for _, numbers in chosen)
        counts.bytes += size
        columns[name] = of_pages[name].take(pa.array(_places(chosen, groups)))
    others = [name for name in names if name not in columns]
    if others:
        starts = np.cumsum([0, *(file.row_group_rows()[group] for group in groups)])
        places = [positions + start for positions, start in zip(groups.values(), starts, strict=False)]
        table, size = read_row_groups(file, list(groups), schema, others, np.concatenate(places))
        counts.bytes += size
        columns.update({name: table[name] for name in others})
    fields = [schema.columns.field(name) for name in names]
    return pa.table([columns[name] for name in names], schema=pa.schema(fields))


def _chosen_pages(
    paged: PagedFile, column: str, groups: Mapping[int, Numbers]
) -> list[tuple[ColumnPages, Numbers]] | None:
    """Return the pages of a column that hold rows, None if no index tells or most of it would be read."""
    chosen = []
    read = whole = 0
    for group, positions in groups.items():
        pages = paged.pages(group, column)
        if pages is None:
            return None
        numbers = pages.holding(positions)
        chosen.append((pages, numbers))
        read += pages.bytes_of(numbers)
        whole += pages.chunk.meta_data.total_compressed_size
    return chosen if read <= MOST_OF_A_CHUNK * whole else None


def _places(chosen: Sequence[tuple[ColumnPages, Numbers]], groups: Mapping[int, Numbers]) -> Numbers:
    """Return where the rows lie among all rows of the chosen pages."""
    found = []
    before = 0
    for (pages, numbers), positions in zip(chosen, groups.values(), strict=True):
        lengths = pages.rows_of(numbers)
        of_row = np.searchsorted(pages.first_rows[numbers], positions, side="right") - 1
        page_starts = before + np.cumsum(lengths) - lengths
        found.append(page_starts[of_row] + positions - pages.first_rows[numbers][of_row])
        before += int(lengths.sum())
    return np.concatenate(found)


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


def _opened(path: str) -> Any:
    url = object_url(path)
    return str(local_path(path)) if url is None else ObjectReader(url, read_ahead=False)
