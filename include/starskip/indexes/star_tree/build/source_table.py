"""The files of a table that a tree is built from: CSV or Parquet, one file or a folder of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.parquet as pq

from starskip.errors import SourceError, first_line
from starskip.indexes.star_tree.build.column_types import fits, in_unit_of, named_type, plain_type
from starskip.indexes.star_tree.build.csv_tables import csv_tables, csv_types
from starskip.indexes.star_tree.build.source_listing import FileOfTable, list_source
from starskip.lake.table_format import format_above, refuse_format
from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.files.open_file import open_file

ROWS_PER_BATCH = 1 << 20
_ROWS_AT_ONCE = 4 << 20
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file: its identity when it was listed, and the rows of its row groups (None for CSV).

    ``schema``: its own columns and their types; None where nobody has looked. Of a CSV file it is kept only
    where its first block has a row to tell types from.
    """

    identity: FileIdentity
    partition: Mapping[str, str] = field(default_factory=dict)
    row_group_rows: tuple[int, ...] | None = None
    schema: pa.Schema | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SourceChunk:
    """A piece of one file that a task reads: row groups ``[first, end)``, or the whole file."""

    file: SourceFile
    first_row_group: int = 0
    end_row_group: int = 0


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table in files of one format; ``schema`` holds the types after ``casts``.

    ``casts``: columns that are read as another type, such as dates as text, to be what the log's SQL asks of.
    """

    path: str
    file_format: str
    files: tuple[SourceFile, ...]
    schema: pa.Schema
    casts: Mapping[str, pa.DataType] = field(default_factory=dict)

    def chunks(self, rows_per_chunk: int) -> list[SourceChunk]:
        """Return pieces of about that many rows; a row group, or a CSV file, is not cut."""
        found: list[SourceChunk] = []
        # A task needs to know no schema but the table's.
        for file in (replace(file, schema=None) for file in self.files):
            if file.row_group_rows is None:
                found.append(SourceChunk(file))
                continue
            first, rows = 0, 0
            for position, group_rows in enumerate(file.row_group_rows):
                rows += group_rows
                if rows >= rows_per_chunk:
                    found.append(SourceChunk(file, first, position + 1))
                    first, rows = position + 1, 0
            if first < len(file.row_group_rows):
                found.append(SourceChunk(file, first, len(file.row_group_rows)))
        return found

    def batches(self, chunk: SourceChunk, columns: list[str]) -> Iterator[pa.Table]:
        """Yield the rows of a chunk, about ``ROWS_PER_BATCH`` at a time, with those columns.

        Raises SourceError naming the file, and the column where one is missing or of another type.
        """
        path = chunk.file.identity.path
        try:
            read = self._csv_batches if self.file_format == "csv" else _parquet_batches
            stored = [name for name in columns if name not in chunk.file.partition]
            for table in read(chunk, stored):
                yield self._typed(table, chunk.file, columns)
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(path, error) from error

    def _csv_batches(self, chunk: SourceChunk, columns: list[str]) -> Iterator[pa.Table]:
        # As what they are wanted for, not as what a file's first block looks like: 007 may be a text.
        types = {name: self.schema.field(name).type for name in columns}
        tables = csv_tables(chunk.file.identity.path, types, columns)
        yield from (table for table in tables if table.num_rows)

    def _typed(self, table: pa.Table, file: SourceFile, columns: list[str]) -> pa.Table:
        arrays = []
        for name in columns:
            wanted = self.schema.field(name).type
            is_told = name in file.partition
            column = _repeated(file.partition[name], table.num_rows) if is_told else table.column(name)
            if column.type == wanted:
                arrays.append(column)
                continue
            try:
                if not (is_told or name in self.casts or fits(column.type, wanted)):
                    raise pa.ArrowTypeError("cast it, or write the file anew")
                # Whoever asks for coarser times does not want the digits behind; of others none may be lost.
                column = in_unit_of(column, wanted) if name in self.casts else column
                arrays.append(column.cast(wanted))
            except pa.ArrowException as error:
                raise SourceError(
                    f"{file.identity.path}: column {name}: is {column.type} and does not fit {wanted}, as it "
                    f"is in the table's first file or was asked for ({first_line(error)})",
                    source=file.identity.path,
                ) from error
        return pa.table(arrays, names=columns)


def source_table(
    path: str, casts: Mapping[str, str] | None = None, known: Mapping[str, SourceFile] | None = None
) -> SourceTable:
    """Return the table at ``path``: a CSV or Parquet file, or a folder with such files below it.

    Folders ``name=value`` give their files the column ``name``. Types of CSV columns are told from the first
    file. ``casts`` names Arrow types by column ("string", "double", "date32"). ``known``: what was found
    before, by path; a file that is still the same is not opened. Raises SourceError naming the path, file or
    column that is missing or damaged, or of no known kind, and NotPlainFiles for a table format.
    """
    refuse_format(path, format_above(path), what="star-trees")
    file_format, listed = list_source(path)
    files = [_known(each, known or {}) for each in listed]
    schema, files = (_csv_schema if file_format == "csv" else _parquet_schema)(files)
    told = _partition_types(listed)
    stored = [field for field in schema if field.name not in told]
    schema = pa.schema([*stored, *(pa.field(name, type_) for name, type_ in told.items())])
    twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
    if twice is not None:
        first = listed[0].identity.path
        raise SourceError(f"{first}: column {twice} is there twice; give each its own name", source=first)
    wanted = {name: _cast_type(schema, name, text, path) for name, text in (casts or {}).items()}
    fields = [field.with_type(wanted.get(field.name, plain_type(field.type))) for field in schema]
    return SourceTable(path, file_format, tuple(files), pa.schema(fields), wanted)


def _known(listed: FileOfTable, known: Mapping[str, SourceFile]) -> SourceFile:
    """Return what is known of a listed file if it is the same as it was then, else that it is there."""
    identity = listed.identity
    before = known.get(identity.path)
    is_same = (
        before is not None
        and before.identity == identity
        and (identity.etag is not None or before.identity.changed_ns == identity.changed_ns)
    )
    if before is None or not is_same:
        return SourceFile(identity, listed.partition)
    return SourceFile(identity, listed.partition, before.row_group_rows, before.schema)


def _csv_schema(files: list[SourceFile]) -> tuple[pa.Schema, list[SourceFile]]:
    found: pa.Schema | None = None
    for position, each in enumerate(files):
        if each.schema is not None:
            found = each.schema
            break
        path = each.identity.path
        try:
            types, has_rows = csv_types(path)
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(path, error) from error
        found = types if found is None or has_rows else found
        if has_rows:
            files[position] = replace(each, schema=types.remove_metadata())
            break
    if found is None:
        raise SourceError("no file at all", source="")
    return found, files


def _parquet_schema(files: list[SourceFile]) -> tuple[pa.Schema, list[SourceFile]]:
    schema: pa.Schema | None = None
    # Files of one table mostly have the same schema, which then is kept once.
    kept: dict[bytes, pa.Schema] = {}
    for position, each in enumerate(files):
        types = each.schema
        if types is None or each.row_group_rows is None:
            types, rows = _footer(each.identity.path)
            types = kept.setdefault(types.serialize().to_pybytes(), types)
            files[position] = replace(each, row_group_rows=rows, schema=types)
        schema = types if schema is None else _with_types_of(schema, types)
    if schema is None:
        raise SourceError("no file at all", source="")
    return schema, files


def _footer(path: str) -> tuple[pa.Schema, tuple[int, ...]]:
    """Return the schema, without metadata, and the rows of the row groups."""
    try:
        with open_file(path) as file:
            footer = pq.ParquetFile(file)
            rows = tuple(footer.metadata.row_group(i).num_rows for i in range(footer.num_row_groups))
            return footer.schema_arrow.remove_metadata(), rows
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


def _with_types_of(schema: pa.Schema, other: pa.Schema) -> pa.Schema:
    """Return the schema with another file's types where it knows none: all values were null so far."""
    for position, field_ in enumerate(schema):
        if pa.types.is_null(field_.type) and other.names.count(field_.name) == 1:
            schema = schema.set(position, field_.with_type(other.field(field_.name).type))
    return schema


def _parquet_batches(chunk: SourceChunk, columns: list[str]) -> Iterator[pa.Table]:
    path = chunk.file.identity.path
    with open_file(path) as file:
        parquet = pq.ParquetFile(file, pre_buffer=True)
        missing = [name for name in columns if name not in parquet.schema_arrow.names]
        if missing:
            raise SourceError(f"{path}: column {missing[0]} is missing, which other files have", source=path)
        held: list[pa.RecordBatch] = []
        rows = 0
        for groups in _read_together(chunk):
            # Columns of the same file are decoded side by side by Arrow's own threads.
            for batch in parquet.iter_batches(ROWS_PER_BATCH, row_groups=groups, columns=columns):
                held.append(batch)
                rows += batch.num_rows
                if rows >= ROWS_PER_BATCH:
                    yield pa.Table.from_batches(held)
                    held, rows = [], 0
        if held:
            yield pa.Table.from_batches(held)


def _read_together(chunk: SourceChunk) -> Iterator[list[int]]:
    """Yield the row groups of a chunk, as many at once as may be held in memory while they are fetched."""
    held: list[int] = []
    rows = 0
    for group in range(chunk.first_row_group, chunk.end_row_group):
        held.append(group)
        rows += (chunk.file.row_group_rows or ())[group]
        if rows >= _ROWS_AT_ONCE:
            yield held
            held, rows = [], 0
    if held:
        yield held


def _partition_types(listed: tuple[FileOfTable, ...]) -> dict[str, pa.DataType]:
    """Return whole numbers where all values are such, as Spark and Hive read them, else text."""
    found: dict[str, pa.DataType] = {}
    for each in listed:
        for name in each.partition.keys() ^ listed[0].partition.keys():
            told = each if name in each.partition else listed[0]
            path = told.identity.path
            raise SourceError(
                f"{path}: lies in a folder {name}=…, other files of the table do not", source=path
            )
    for name in listed[0].partition:
        values = [each.partition[name] for each in listed]
        numbers = all(value == _HIVE_NULL or _is_whole(value) for value in values)
        found[name] = pa.int64() if numbers else pa.string()
    return found


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 19


def _cast_type(schema: pa.Schema, name: str, text: str, path: str) -> pa.DataType:
    if name not in schema.names:
        raise SourceError(f"{path}: there is no column {name} to cast to {text}", source=path)
    try:
        return named_type(text)
    except ValueError:
        raise SourceError(
            f"{path}: column {name}: {text!r} is no type such as string, double or decimal(12,2)", source=path
        ) from None


def _repeated(text: str, rows: int) -> pa.ChunkedArray:
    """Return what a folder ``name=text`` tells of all rows below it."""
    return pa.chunked_array([pa.repeat(pa.scalar(None if text == _HIVE_NULL else text, pa.string()), rows)])


def _unreadable(path: str, error: Exception) -> SourceError:
    return SourceError(f"{path}: cannot be read ({first_line(error)})", source=path)
