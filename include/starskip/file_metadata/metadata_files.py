"""Read and write the Parquet files of metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from errno import EIO, ENOENT
from functools import partial
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from starskip.errors import DamagedFile, StorageError
from starskip.file_metadata.wide_columns import concatenated
from starskip.storage.checked_parquet import checked_parquet, opened_parquet
from starskip.storage.encryption.data_key import DataKey
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

A file is not ``trusted`` if it was so young when listed that a later change may not show
(files.file_identity.is_racy).
"""
ROW_GROUPS = "row_groups"
"""A further column that some families write: the number of row groups of each file."""
REMOVED_SCHEMA = pa.schema([("segment", pa.string()), ("position", pa.int64())])
_WHOLE = (pa.types.is_integer, pa.types.is_date32, pa.types.is_timestamp)
DataKeys = Mapping[str, DataKey]
"""Data keys of encrypted files, by their names in the store."""
_NO_KEYS: DataKeys = MappingProxyType({})
_DAMAGE = (OSError, ValueError, LookupError, pa.ArrowException)
"""Exceptions of reading a Parquet file that is gone or damaged."""


def write_rows(
    staged: StagedWrite, group: str, rows: pa.Table, key: DataKey | None = None
) -> tuple[DataFile, ...]:
    """Write the rows of a group of columns, encrypted if there is a key; no file without rows."""
    return replace(staged, schema=rows.schema).write(group, rows, encode=partial(_encoded, key))


def write_files(staged: StagedWrite, rows: pa.Table, key: DataKey | None = None) -> tuple[DataFile, ...]:
    """Write rows of ``FILES_SCHEMA``, and ROW_GROUPS if it is there, encrypted if there is a key.

    lz4 without a dictionary makes reading twice as fast, at twice the bytes.
    """
    if not rows.num_rows:
        return ()
    name = staged.new_name("files", "files.parquet")
    encryption = None if key is None else key.encryption(name)
    content = checked_parquet(rows, name, compression="lz4", use_dictionary=False, encryption=encryption)
    written = staged.write_named(name, content.to_pybytes())
    return (replace(written, rows=rows.num_rows),)


def read_columns(
    storage: Storage, files: Sequence[DataFile], names: Sequence[str], keys: DataKeys = _NO_KEYS
) -> pa.Table:
    """Read columns of consecutive files; ``keys``: data keys of the encrypted files.

    Raises StorageError naming a file that is gone or damaged.
    """
    return pa.concat_tables([_read(storage, file, names, keys.get(file.name)) for file in files])


def read_schema(storage: Storage, file: DataFile, keys: DataKeys = _NO_KEYS) -> pa.Schema:
    """Read the schema of a file; raises as ``read_columns`` does."""
    try:
        with storage.arrow_filesystem().open_input_file(file.name) as opened:
            return _opened(opened, file, keys.get(file.name)).schema_arrow
    except _DAMAGE as error:
        raise _unread(file, error) from error


def joined(table: pa.Table, name: str) -> pa.Array:
    """Return a column as one array."""
    column = table[name]
    return concatenated(column.chunks) if column.num_chunks else column.combine_chunks()


def _encoded(key: DataKey | None, rows: pa.Table, name: str) -> pa.Buffer:
    """Encode a file; bounds encoded as differences are read three times as fast as with a dictionary."""
    fields, encryption = rows.schema, None if key is None else key.encryption(name)
    if any(pa.types.is_nested(field.type) for field in fields):
        return checked_parquet(rows, name, encryption=encryption)
    whole = [field.name for field in fields if any(is_of(field.type) for is_of in _WHOLE)]
    others = [field.name for field in fields if field.name not in whole]
    return checked_parquet(rows, name, use_dictionary=others, delta_columns=whole, encryption=encryption)


def _read(storage: Storage, file: DataFile, names: Sequence[str], key: DataKey | None) -> pa.Table:
    try:
        with storage.arrow_filesystem().open_input_file(file.name) as opened:
            found = _opened(opened, file, key).read(columns=[*names]).select([*names])
    except _DAMAGE as error:
        raise _unread(file, error) from error
    # The header of a page has no checksum, so the number of rows is compared with the published one.
    if found.num_rows != file.rows:
        raise _damaged(file)
    return found


def _opened(opened: Any, file: DataFile, key: DataKey | None) -> Any:
    decryption = None if key is None else key.decryption(file.name)
    return opened_parquet(opened, file, decryption=decryption)


def _unread(file: DataFile, error: Exception) -> StorageError:
    """Return the error for a file that is gone or damaged, or that this process may not or cannot open."""
    if isinstance(error, OSError) and error.errno not in (None, ENOENT, EIO):
        return StorageError(f"{file.name}: cannot be read: {error.strerror}", location=file.name)
    return _damaged(file)


def _damaged(file: DataFile) -> DamagedFile:
    return DamagedFile(f"{file.name}: is gone or damaged; refresh the metadata in full", location=file.name)
