"""Read and write the Parquet files of metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from starskip.errors import StorageError
from starskip.indexes.skipping.metadata.wide_columns import concatenated
from starskip.storage.checked_parquet import checked_parquet
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

FILES_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("size_bytes", pa.int64()),
        ("modified_ms", pa.int64()),
        ("rows", pa.int64()),
        ("trusted", pa.bool_()),
    ]
)
"""Columns of the files themselves.

Not ``trusted``: a file so young when it was listed that a later change may not show
(files.file_identity.is_racy).
"""
ROW_GROUPS = "row_groups"
"""A further column that some families write of the files: how many row groups each has."""
REMOVED_SCHEMA = pa.schema([("segment", pa.string()), ("position", pa.int64())])
_WHOLE = (pa.types.is_integer, pa.types.is_date32, pa.types.is_timestamp)
_DAMAGE = (OSError, ValueError, LookupError, pa.ArrowException)
"""Exceptions of reading a Parquet file with a damaged footer, which has no checksum."""


def write_rows(aside: StagedWrite, group: str, rows: pa.Table) -> tuple[DataFile, ...]:
    """Write the rows of a group of columns; no file without rows."""
    return replace(aside, schema=rows.schema).write(group, rows, encode=_encoded)


def write_files(aside: StagedWrite, rows: pa.Table) -> tuple[DataFile, ...]:
    """Write rows of ``FILES_SCHEMA``, and ROW_GROUPS if it is there.

    With lz4 and no dictionary they are read twice as fast, at twice the bytes.
    """
    if not rows.num_rows:
        return ()
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="lz4", use_dictionary=False, write_page_checksum=True)
    written = aside.write_file("files", "files.parquet", sink.getvalue().to_pybytes())
    return (replace(written, rows=rows.num_rows),)


def read_columns(storage: Storage, files: Sequence[DataFile], names: Sequence[str]) -> pa.Table:
    """Read columns of consecutive files.

    Raises StorageError naming a file that is gone or damaged.
    """
    return pa.concat_tables([_read(storage, file, names) for file in files])


def read_schema(storage: Storage, file: DataFile) -> pa.Schema:
    """Read the schema of a file; raises as ``read_columns`` does."""
    try:
        with storage.arrow_filesystem().open_input_file(file.name) as opened:
            return pq.read_schema(opened)
    except _DAMAGE as error:
        raise _damaged(file) from error


def joined(table: pa.Table, name: str) -> pa.Array:
    """Return a column as one array."""
    column = table[name]
    return concatenated(column.chunks) if column.num_chunks else column.combine_chunks()


def _encoded(rows: pa.Table) -> pa.Buffer:
    """Encode a file; bounds are read three times as fast as differences than by a dictionary."""
    fields = rows.schema
    if any(pa.types.is_nested(field.type) for field in fields):
        return checked_parquet(rows)
    whole = [field.name for field in fields if any(is_of(field.type) for is_of in _WHOLE)]
    others = [field.name for field in fields if field.name not in whole]
    return checked_parquet(rows, use_dictionary=others, delta_columns=whole)


def _read(storage: Storage, file: DataFile, names: Sequence[str]) -> pa.Table:
    try:
        with storage.arrow_filesystem().open_input_file(file.name) as opened:
            parquet = pq.ParquetFile(opened, page_checksum_verification=True)
            found = parquet.read(columns=[*names]).select([*names])
    except _DAMAGE as error:
        raise _damaged(file) from error
    # A footer has no checksum: compare its row count with the published one.
    if found.num_rows != file.rows:
        raise _damaged(file)
    return found


def _damaged(file: DataFile) -> StorageError:
    return StorageError(f"{file.name}: is gone or damaged; refresh the metadata in full", location=file.name)
