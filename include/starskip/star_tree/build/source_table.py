"""The files from which a tree is built: CSV or Parquet files, a folder of them, a Delta or Iceberg table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from starskip.errors import SourceError, first_line
from starskip.lake.file_columns import stored_names
from starskip.lake.open_lake_table import open_lake_table
from starskip.lake.parquet.hybrid_calendar import hybrid_calendar, in_todays_calendar
from starskip.lake.parquet.parquet_footers import RunTasks, parquet_footers
from starskip.lake.snapshot_columns import SnapshotColumn, char_lengths
from starskip.lake.spark_types import char_lengths_of_fields
from starskip.lake.table_snapshot import TableSnapshot
from starskip.lake.unlike_spark import UnlikeSpark
from starskip.predicates.column_types import (
    char_field,
    char_length,
    fits,
    in_unit_of,
    named_type,
    plain_type,
)
from starskip.star_tree.build.csv_tables import csv_tables, csv_types
from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.files.open_file import open_file

ROWS_PER_BATCH = 1 << 20
_ROWS_AT_ONCE = 4 << 20
_FILE_FORMATS = ("csv", "parquet")
_FORMATS = ("csv", "parquet", "delta", "iceberg")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file: its identity when it was listed, and the rows of its row groups (None for CSV).

    ``schema``: its own columns and their types, None where not read yet. For a CSV file it is kept only if
    the first block has a row from which to infer types.
    """

    identity: FileIdentity
    partition: Mapping[str, str | None] = field(default_factory=dict)
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

    ``casts``: columns that are read as another type, such as dates as text, to fit the log's SQL.
    ``version``: of a table format, whose log holds the schema: a column that a file lacks is null there.
    ``asked_format`` and ``asked_version``: the arguments of ``open_lake_table``. ``columns``: of a versioned
    table, to find its columns in files.
    """

    path: str
    file_format: str
    files: tuple[SourceFile, ...]
    schema: pa.Schema
    casts: Mapping[str, pa.DataType] = field(default_factory=dict)
    version: int | None = None
    asked_format: str | None = None
    asked_version: int | None = None
    columns: tuple[SnapshotColumn, ...] = field(default=(), repr=False)

    @property
    def is_versioned(self) -> bool:
        """True where a log names the files, and shows that a file was written again in its place."""
        return self.version is not None

    @property
    def column_ids(self) -> Mapping[str, str]:
        """Return the ids of a versioned table's columns, by name; a rename does not change an id."""
        return {each.path[0]: each.reading for each in self.columns}

    def chunks(self, rows_per_chunk: int) -> list[SourceChunk]:
        """Return pieces of about that many rows; a row group, or a CSV file, is not cut."""
        found: list[SourceChunk] = []
        # A task needs no schema but the table's.
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
        """Yield the rows of a chunk, about ``ROWS_PER_BATCH`` at a time, with ``columns``.

        Raises SourceError naming the file, and the column where one is missing or of another type.
        """
        path = chunk.file.identity.path
        try:
            read = self._csv_batches if self.file_format == "csv" else self._parquet_batches
            stored = [name for name in columns if name not in chunk.file.partition]
            for table in read(chunk, stored):
                yield self._typed(table, chunk.file, columns)
        except UnlikeSpark as error:
            raise SourceError(f"{path}: is not read as Spark reads it: {error}", source=path) from error
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(path, error) from error

    def _csv_batches(self, chunk: SourceChunk, columns: list[str]) -> Iterator[pa.Table]:
        # Read in the table's types, not in types inferred from the first block: 007 may be a text.
        types = {name: self.schema.field(name).type for name in columns}
        tables = csv_tables(chunk.file.identity.path, types, columns)
        yield from (table for table in tables if table.num_rows)

    def _parquet_batches(self, chunk: SourceChunk, columns: list[str]) -> Iterator[pa.Table]:
        path = chunk.file.identity.path
        with open_file(path) as file:
            # Spark writes the times of Delta tables as INT96, whose nanoseconds end in the year 2262.
            unit = "us" if self.is_versioned else None
            parquet = pq.ParquetFile(file, pre_buffer=True, coerce_int96_timestamp_unit=unit)
            # Iceberg's reader takes days and times unchanged.
            is_of_spark = all(each.stored for each in self.columns)
            if is_of_spark and unit is None and hybrid_calendar(parquet.metadata.metadata) is not None:
                # Nanoseconds begin in 1677, after the last dates that differ.
                parquet = pq.ParquetFile(file, metadata=parquet.metadata, coerce_int96_timestamp_unit="us")
            names = self._names(parquet.schema_arrow, path)
            missing = [name for name in columns if names.get(name) is None]
            if missing and not self.is_versioned:
                raise SourceError(
                    f"{path}: column {missing[0]} is missing, which other files have", source=path
                )
            stored = [name for name in columns if name not in missing]
            named = {names[name] or name: name for name in stored}
            for found in _batches_of(parquet, chunk, list(named)):
                if is_of_spark:
                    found = in_todays_calendar(found, parquet.metadata)
                table = found.rename_columns([named[each] for each in found.column_names])
                for name in missing:
                    nulls = pa.nulls(table.num_rows, self.schema.field(name).type)
                    table = table.append_column(name, nulls)
                yield table

    def _names(self, schema: pa.Schema, path: str) -> Mapping[str, str | None]:
        """Return each column's name in a file, None for a column that it lacks."""
        if self.columns:
            return stored_names(schema, self.columns, path)
        return {name: name for name in schema.names}

    def _typed(self, table: pa.Table, file: SourceFile, columns: list[str]) -> pa.Table:
        arrays = []
        for name in columns:
            wanted = self.schema.field(name).type
            length = char_length(self.schema.field(name))
            is_told = name in file.partition
            column = _repeated(file.partition[name], table.num_rows) if is_told else table.column(name)
            if self.is_versioned and pa.types.is_timestamp(wanted):
                column = _in_zone_of(column, wanted)
            try:
                if column.type != wanted:
                    if not (is_told or name in self.casts or fits(column.type, wanted)):
                        raise pa.ArrowTypeError("cast it, or write the file anew")
                    # A cast to coarser times drops digits on purpose; otherwise no digit may be lost.
                    column = (in_unit_of(column, wanted) if name in self.casts else column).cast(wanted)
            except pa.ArrowException as error:
                raise SourceError(
                    f"{file.identity.path}: column {name}: is {column.type} and does not fit {wanted}, as it "
                    f"is in the table's first file or was asked for ({first_line(error)})",
                    source=file.identity.path,
                ) from error
            arrays.append(column if length is None else pc.utf8_rpad(column, length))
        return pa.table(arrays, names=columns)


def source_table(
    path: str,
    casts: Mapping[str, str] | None = None,
    known: Mapping[str, SourceFile] | None = None,
    *,
    file_format: str | None = None,
    version: int | None = None,
    run_tasks: RunTasks | None = None,
) -> SourceTable:
    """Return the table at ``path``: a CSV or Parquet file, a folder of them, a Delta or Iceberg table.

    Folders ``name=value`` give their files the column ``name``. The first CSV file gives the columns' types.
    ``casts`` names Arrow types by column ("string", "double", "date32"). ``known``: files that were read
    before, by path; an unchanged file is not opened. ``file_format`` and ``version`` as in
    ``open_lake_table``. Footers of many files are read by ``run_tasks``. Raises SourceError naming the path,
    file or column that is missing, damaged or of no known kind, and NotPlainFiles for another table format.
    """
    if file_format not in (None, *_FORMATS):
        raise SourceError(
            f"{path}: star-trees are built of {', '.join(_FORMATS)}, and not of {file_format}", source=path
        )
    snapshot = open_lake_table(path, file_format, version)
    snapshot.require_rows_of_spark()
    if snapshot.file_format not in _FILE_FORMATS:
        raise SourceError(
            f"{path}: has {snapshot.file_format} files, and star-trees are built of CSV and Parquet alone",
            source=path,
        )
    files = [_known(each, known or {}) for each in _source_files(snapshot)]
    if snapshot.file_format == "csv":
        schema, files = _csv_schema(files)
    else:
        files = _with_footers(files, run_tasks)
        schema = _parquet_schema(files) if snapshot.schema is None else snapshot.schema
    if snapshot.schema is None:
        partitions = {name: _partition_type(files, name) for name in snapshot.partition_columns}
        stored = [field for field in schema if field.name not in partitions]
        schema = pa.schema([*stored, *(pa.field(name, type_) for name, type_ in partitions.items())])
    twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
    if twice is not None:
        first = files[0].identity.path
        raise SourceError(f"{first}: column {twice} is there twice; give each its own name", source=first)
    wanted = {name: _cast_type(schema, name, text, path) for name, text in (casts or {}).items()}
    columns = tuple(each for each in snapshot.columns if len(each.path) == 1)
    chars = char_lengths(columns) if columns else char_lengths_of_fields(schema)
    fields = [
        char_field(field.with_type(wanted.get(field.name, plain_type(field.type))), chars.get((field.name,)))
        for field in schema
    ]
    return SourceTable(
        path,
        snapshot.file_format,
        tuple(files),
        pa.schema(fields),
        wanted,
        snapshot.version,
        file_format,
        version,
        columns,
    )


def _source_files(snapshot: TableSnapshot) -> Iterator[SourceFile]:
    partitions = snapshot.files.column("partition").to_pylist()
    for identity, partition in zip(snapshot.identities(), partitions, strict=True):
        yield SourceFile(identity, dict(partition))


def _known(listed: SourceFile, known: Mapping[str, SourceFile]) -> SourceFile:
    """Return a listed file with its known schema and row groups, if it is unchanged."""
    identity = listed.identity
    before = known.get(identity.path)
    is_same = (
        before is not None
        and before.identity == identity
        and (identity.etag is not None or before.identity.changed_ns == identity.changed_ns)
    )
    if before is None or not is_same:
        return listed
    return replace(listed, row_group_rows=before.row_group_rows, schema=before.schema)


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


def _with_footers(files: list[SourceFile], run_tasks: RunTasks | None) -> list[SourceFile]:
    """Return the files with their schemas and row groups; footers that are not known yet are read."""
    unknown = [
        position for position, each in enumerate(files) if each.schema is None or each.row_group_rows is None
    ]
    footers = parquet_footers([files[position].identity.path for position in unknown], run_tasks)
    for position, footer in zip(unknown, footers, strict=True):
        files[position] = replace(files[position], row_group_rows=footer.row_group_rows, schema=footer.schema)
    return files


def _parquet_schema(files: list[SourceFile]) -> pa.Schema:
    schema: pa.Schema | None = None
    for each in files:
        schema = each.schema if schema is None else _with_types_of(schema, each.schema)
    if schema is None:
        raise SourceError("no file at all", source="")
    return schema


def _with_types_of(schema: pa.Schema, other: pa.Schema) -> pa.Schema:
    """Return the schema with another file's types for columns whose values were all null so far."""
    for position, field_ in enumerate(schema):
        if pa.types.is_null(field_.type) and other.names.count(field_.name) == 1:
            schema = schema.set(position, field_.with_type(other.field(field_.name).type))
    return schema


def _batches_of(parquet: pq.ParquetFile, chunk: SourceChunk, columns: list[str]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = 0
    for groups in _read_together(chunk):
        # Arrow's own threads decode the columns of a file in parallel.
        for batch in parquet.iter_batches(ROWS_PER_BATCH, row_groups=groups, columns=columns):
            held.append(batch)
            rows += batch.num_rows
            if rows >= ROWS_PER_BATCH:
                yield pa.Table.from_batches(held)
                held, rows = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _read_together(chunk: SourceChunk) -> Iterator[list[int]]:
    """Yield the row groups of a chunk, as many at once as fit memory while they are fetched."""
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


def _partition_type(files: Sequence[SourceFile], name: str) -> pa.DataType:
    """Return a whole-number type if all values are whole numbers, as in Spark and Hive, else text."""
    values = (each.partition[name] for each in files)
    return pa.int64() if all(value is None or _is_whole(value) for value in values) else pa.string()


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


def _repeated(text: str | None, rows: int) -> pa.ChunkedArray:
    """Return the value of a folder ``name=text``, or of a log, for all rows of a file."""
    return pa.chunked_array([pa.repeat(pa.scalar(text, pa.string()), rows)])


def _in_zone_of(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Return times of INT96, which are instants without a zone in their type, as instants."""
    if pa.types.is_timestamp(column.type) and column.type.tz is None and wanted.tz is not None:
        return column.cast(pa.timestamp(column.type.unit, "UTC"))
    return column


def _unreadable(path: str, error: Exception) -> SourceError:
    return SourceError(f"{path}: cannot be read ({first_line(error)})", source=path)
