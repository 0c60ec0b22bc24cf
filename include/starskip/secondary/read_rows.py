"""Read row groups, or rows at positions, of a table's Parquet files, columns as the table has them.

For rows at positions only the pages that hold them are read, if the file has a page index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from starskip.lake.parquet.page_reading import read_pages
from starskip.lake.parquet.parquet_pages import FilePages, Numbers
from starskip.secondary.cost import MOST_OF_A_CHUNK
from starskip.secondary.data_file import DAMAGE, DataFileOfTable, reading
from starskip.secondary.table_schema import TableSchema, conformed
from starskip.storage.files.object_reader import ObjectReader
from starskip.storage.files.object_url import local_path, object_url

ROWS_AT_ONCE = 1 << 20
"""Rows of neighbouring row groups that are read in one request."""
_BYTES_AT_ONCE = 64 << 20
"""Stored bytes of pages that are decoded together."""
_INT96 = 3
"""Parquet's physical type of times in 96 bits."""
_SHORT_VALUE_BYTES = 3
"""A text column with at most this many stored bytes a value is mostly dictionary codes."""


@dataclass
class FetchCounts:
    """Counts the reads of a fetch from the table; a row group counts if any page of it was read."""

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

    ``places``: the wanted rows among the groups' rows, by default all. Ranges that lie close together are one
    request. Raises SourceError naming a file that cannot be read.
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
                # Requests ahead of decoding pay off where columns are many, or far away.
                pre_buffer=places is None or isinstance(opened, ObjectReader),
                # If few rows are wanted, texts are decoded only after the other rows are left out.
                read_dictionary=None if places is None else dictionary_columns(footer, groups[0], present),
                coerce_int96_timestamp_unit="us",
            )
            # Each column is a task.
            is_parallel = len(present) > 1
            found = file.of_today(
                parquet.read_row_groups(list(groups), columns=present, use_threads=is_parallel)
            )
            size = column_bytes(footer, groups, present)
            if places is not None:
                found, rows = found.take(pa.array(places)), len(places)
        return as_table_has(found, file, schema, names, rows), size


def dictionary_columns(footer: Any, group: int, names: Sequence[str]) -> list[str]:
    """Return the columns of texts that a row group keeps as a short dictionary, by their stored names."""
    found = []
    for at in range(footer.num_columns):
        leaf = footer.schema.column(at)
        if leaf.path in names and leaf.logical_type.type == "STRING":
            column = footer.row_group(group).column(at)
            if column.total_uncompressed_size <= _SHORT_VALUE_BYTES * column.num_values:
                found.append(leaf.path)
    return found


def as_table_has(
    found: pa.Table, file: DataFileOfTable, schema: TableSchema, names: Sequence[str], rows: int
) -> pa.Table:
    """Return columns of ``rows`` rows of a file as the table has them, partition columns included."""
    stored = [name for name in names if name not in schema.partition]
    partition = dict(file.partition)
    table = conformed(found, schema, stored, rows)
    columns = []
    for name in names:
        if name in partition:
            value = schema.partition_value(name, partition[name])
            columns.append(pa.chunked_array([pa.repeat(value, rows)]))
        else:
            columns.append(table[name])
    return pa.table(columns, schema=pa.schema([schema.columns.field(name) for name in names]))


@dataclass(frozen=True, slots=True, eq=False)
class FileRows:
    """Rows of a Parquet file, at rising positions."""

    file: DataFileOfTable
    positions: Numbers

    def row_groups(self) -> Numbers:
        """Return the row groups that hold some of them."""
        return np.flatnonzero(np.diff(np.searchsorted(self.positions, self.file.row_group_ends()), prepend=0))


@dataclass(frozen=True, slots=True, eq=False)
class _Chosen:
    """The pages of a column that hold some rows of a file, and the rows' places within these pages."""

    column: FilePages
    pages: Numbers
    places: Numbers


def read_positions(
    parts: Sequence[FileRows], schema: TableSchema, names: Sequence[str], counts: FetchCounts
) -> pa.Table:
    """Return columns of rows of files, file after file.

    Where a column has a page index only the pages that hold the rows are read; pages of all files with the
    same kinds of pages are decoded at once. Raises SourceError naming a file that cannot be read.
    """
    classes: list[_LikeFiles] = []
    for number, part in enumerate(parts):
        chosen = [_chosen_pages(part, name) for name in names]
        mine = next((each for each in classes if each.is_like(chosen)), None)
        if mine is None:
            mine = _LikeFiles()
            classes.append(mine)
        mine.numbers.append(number)
        mine.parts.append(part)
        mine.chosen.append(chosen)
    found = [each.read(schema, names, counts) for each in classes]
    return found[0] if len(found) == 1 else _in_order(found, [each.numbers for each in classes], parts)


@dataclass(slots=True)
class _LikeFiles:
    """Files that are read together: by pages of the same columns, of one kind each.

    By file: its number, its rows, and the pages of each column, None for a column read by row groups.
    """

    numbers: list[int] = field(default_factory=list)
    parts: list[FileRows] = field(default_factory=list)
    chosen: list[list[_Chosen | None]] = field(default_factory=list)

    def is_like(self, chosen: Sequence[_Chosen | None]) -> bool:
        return all(map(_is_alike, self.chosen[0], chosen))

    def read(self, schema: TableSchema, names: Sequence[str], counts: FetchCounts) -> pa.Table:
        found = {}
        for name, of_files in zip(names, zip(*self.chosen, strict=True), strict=True):
            pages = [each for each in of_files if each is not None]
            if pages:
                found[name] = _of_pages(self.parts, pages, schema, name, counts)
        others = [name for name in names if name not in found]
        if others:
            together = pa.concat_tables([_of_row_groups(part, schema, others, counts) for part in self.parts])
            found.update({name: together[name] for name in others})
        fields = [schema.columns.field(name) for name in names]
        return pa.table([found[name] for name in names], schema=pa.schema(fields))


def _is_alike(one: _Chosen | None, other: _Chosen | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.column.kind.is_like(other.column.kind)


def _in_order(
    found: Sequence[pa.Table], order: Sequence[Sequence[int]], parts: Sequence[FileRows]
) -> pa.Table:
    """Return the rows in the order of the files; each table of ``found`` has the rows of some files."""
    numbers = np.concatenate([np.asarray(each) for each in order])
    lengths = np.array([len(parts[number].positions) for number in numbers])
    starts = np.cumsum(lengths) - lengths
    places = [np.arange(starts[at], starts[at] + lengths[at]) for at in np.argsort(numbers)]
    return pa.concat_tables(found).take(pa.array(np.concatenate(places)))


def _of_pages(
    parts: Sequence[FileRows],
    chosen: Sequence[_Chosen],
    schema: TableSchema,
    name: str,
    counts: FetchCounts,
) -> pa.ChunkedArray:
    found = []
    for some in _at_once(chosen):
        try:
            values, size = _values(parts[0].file, some, name)
        except DAMAGE:
            # Files are read one by one to find the one that cannot be read.
            values, size = _one_by_one([part.file for part in parts], chosen, some, name)
        counts.pages += sum(len(each.pages) for each in some)
        counts.bytes += size
        places, before = [], 0
        for each in some:
            places.append(each.places + before)
            before += int(each.column.rows_of(each.pages).sum())
        with reading(parts[0].file.path):
            of_table = conformed(pa.table({name: values}), schema, [name], len(values))[name]
        found.append(of_table.take(pa.array(np.concatenate(places))))
    return pa.chunked_array([chunk for each in found for chunk in each.chunks], found[0].type)


def _values(file: DataFileOfTable, some: Sequence[_Chosen], name: str) -> tuple[pa.ChunkedArray, int]:
    """Return the values of pages of files like ``file``, in today's calendar, and the bytes read for them."""
    values, size = read_pages([(each.column, each.pages) for each in some])
    kind = some[0].column.kind
    if kind.calendar is not None and not file.is_of_iceberg:
        values = kind.calendar.of_today(values, name, [kind.element.type == _INT96])
    return values, size


def _one_by_one(
    files: Sequence[DataFileOfTable], chosen: Sequence[_Chosen], some: Sequence[_Chosen], name: str
) -> tuple[pa.ChunkedArray, int]:
    wanted = {id(each) for each in some}
    found, sizes = [], 0
    for file, each in zip(files, chosen, strict=True):
        if id(each) in wanted:
            with reading(file.path):
                values, size = _values(file, [each], name)
            found += values.chunks
            sizes += size
    return pa.chunked_array(found, some[0].column.kind.type), sizes


def _at_once(chosen: Sequence[_Chosen]) -> Iterator[list[_Chosen]]:
    """Cut files into pieces whose pages have about _BYTES_AT_ONCE."""
    held: list[_Chosen] = []
    size = 0
    for each in chosen:
        mine = int(each.column.sizes[each.pages].sum())
        if held and size + mine > _BYTES_AT_ONCE:
            yield held
            held, size = [], 0
        held.append(each)
        size += mine
    if held:
        yield held


def _chosen_pages(part: FileRows, name: str) -> _Chosen | None:
    """Return the pages of a column that hold the rows; None without an index, or if most would be read."""
    paged, stored = part.file.paged(), part.file.stored_names([name]).get(name)
    if paged is None or stored is None:
        return None
    column = paged.column(stored)
    if column is None:
        return None
    pages, places = column.holding(part.positions)
    return _Chosen(column, pages, places) if column.share_of_chunks(pages) <= MOST_OF_A_CHUNK else None


def _of_row_groups(
    part: FileRows, schema: TableSchema, names: Sequence[str], counts: FetchCounts
) -> pa.Table:
    """Read row groups whole, some at a time, and take the rows from them."""
    ends = part.file.row_group_ends()
    row_counts = np.diff(ends, prepend=0)
    found = []
    for groups in together(part.row_groups().tolist(), row_counts, ROWS_AT_ONCE):
        first, last = np.searchsorted(
            part.positions, [ends[groups[0]] - row_counts[groups[0]], ends[groups[-1]]]
        )
        mine = part.positions[first:last]
        held = np.diff(np.searchsorted(mine, ends[groups]), prepend=0)
        # Row groups that are left out between others have no rows here.
        before = np.cumsum(row_counts[groups]) - ends[groups]
        table, size = read_row_groups(part.file, groups, schema, names, mine + np.repeat(before, held))
        counts.bytes += size
        found.append(table)
    return pa.concat_tables(found)


def together(groups: Sequence[int], row_counts: npt.NDArray[np.int64], most_rows: int) -> Iterator[list[int]]:
    """Cut row groups into pieces, read at once, of at most ``most_rows`` rows or of one group."""
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
