"""Read and write the Parquet files of a tree; errors name a file that is gone or damaged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from starskip.errors import StorageError
from starskip.storage.checked_parquet import checked_parquet, opened_parquet
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

_DAMAGE = (OSError, ValueError, LookupError, pa.ArrowException)
"""Errors of reading a Parquet file that is gone or damaged."""


def write_rows(staged: StagedWrite, table: str, file_name: str, rows: pa.Table) -> DataFile:
    """Write rows as one file of the store and return it."""
    name = staged.new_name(table, file_name)
    return staged.write_named(name, checked_parquet(rows, name).to_pybytes())


def read_rows(
    storage: Storage, file: DataFile, columns: Sequence[str] | None = None, *, rows: int | None = None
) -> pa.Table:
    """Return the rows of a file, with ``columns`` in that order, or with all columns.

    Raises StorageError naming a file that is gone or damaged, was written under another name, or has another
    number of rows than ``rows``, if given.
    """
    wanted = None if columns is None else [*columns]
    with naming_damage(file.name), storage.arrow_filesystem().open_input_file(file.name) as opened:
        # read_table takes several times as long for short files, as most are: it makes a data set of each.
        found = opened_parquet(opened, file).read(columns=wanted)
        if wanted is not None:
            found = found.select(wanted)
    if rows is not None and found.num_rows != rows:
        raise damaged(file.name)
    return found


def is_damaged(storage: Storage, file: DataFile, rows: int | None) -> bool:
    """Return whether a file of a tree is unreadable, another file, or has another number of rows.

    Raises StorageError for a store that cannot be asked.
    """
    filesystem = storage.arrow_filesystem()
    try:
        with filesystem.open_input_file(file.name) as opened:
            found = opened_parquet(opened, file).read().num_rows
    except _DAMAGE:
        return True
    return rows is not None and found != rows


@contextmanager
def naming_damage(name: str) -> Iterator[None]:
    """Turn errors of reading the file into a StorageError that names it."""
    try:
        yield
    except _DAMAGE as error:
        raise damaged(name) from error


def damaged(name: str) -> StorageError:
    """Return the error for a file with impossible content."""
    return StorageError(f"{name}: is gone or damaged; build the tree again", location=name)
