"""The Parquet files that a tree is built of and kept in; one that is gone or damaged is named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from starskip.errors import StorageError
from starskip.storage.checked_parquet import checked_parquet
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

_DAMAGE = (OSError, ValueError, LookupError, pa.ArrowException)
"""Errors of reading a Parquet file whose footer was changed, which has no checksum of its own."""


def write_rows(aside: StagedWrite, table: str, file_name: str, rows: pa.Table) -> DataFile:
    """Write rows as one file of the store and return it."""
    return aside.write_file(table, file_name, checked_parquet(rows).to_pybytes())


def read_rows(
    storage: Storage, name: str, columns: Sequence[str] | None = None, *, rows: int | None = None
) -> pa.Table:
    """Return the rows of a file, with those columns in that order, or with all.

    Raises StorageError naming a file that is gone or damaged, or has not as many ``rows``, where these are
    known.
    """
    wanted = None if columns is None else [*columns]
    with naming_damage(name), storage.arrow_filesystem().open_input_file(name) as opened:
        # Of short files, which most are, read_table takes several times as long: it makes a data set of each.
        found = pq.ParquetFile(opened, page_checksum_verification=True).read(columns=wanted)
        if wanted is not None:
            found = found.select(wanted)
    # A footer has no checksum; what it states must fit what was published.
    if rows is not None and found.num_rows != rows:
        raise damaged(name)
    return found


def is_damaged(storage: Storage, name: str, rows: int | None) -> bool:
    """Return whether a file of a tree cannot be read to its end, or has not as many ``rows``.

    Raises StorageError for a store that cannot be asked.
    """
    filesystem = storage.arrow_filesystem()
    try:
        with filesystem.open_input_file(name) as opened:
            found = pq.read_table(opened, page_checksum_verification=True).num_rows
    except _DAMAGE:
        return True
    return rows is not None and found != rows


@contextmanager
def naming_damage(name: str) -> Iterator[None]:
    """Make a StorageError that names the file of whatever reading it raises."""
    try:
        yield
    except _DAMAGE as error:
        raise damaged(name) from error


def damaged(name: str) -> StorageError:
    """Return the error for a file whose content cannot be right."""
    return StorageError(f"{name}: is gone or damaged; build the tree again", location=name)
