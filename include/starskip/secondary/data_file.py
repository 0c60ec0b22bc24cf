"""A file of the table by its path and identity, with its footer, page index or ORC tail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.errors import SourceError, first_line
from starskip.lake.file_columns import stored_names, with_names_of_today
from starskip.lake.orc_file import OrcFile
from starskip.lake.parquet.hybrid_calendar import in_todays_calendar
from starskip.lake.parquet.parquet_footers import open_footer
from starskip.lake.parquet.parquet_pages import PagedFile, paged_file
from starskip.lake.snapshot_columns import SnapshotColumn
from starskip.lake.unlike_spark import UnlikeSpark
from starskip.storage.files.local_file import local_failures
from starskip.storage.files.object_url import object_url

DAMAGE = (OSError, ValueError, LookupError, pa.ArrowException)
"""Errors that readers raise for a file that they cannot read."""
_FOOTERS = 4_096
_ORC_FILES = 1_024


@dataclass(frozen=True, slots=True)
class DataFileOfTable:
    """A file of the table by its path, identity, and partition values as texts by column.

    ``columns``: given for a table whose files may name them otherwise.
    """

    path: str
    size_bytes: int
    modified_ms: int
    partition: tuple[tuple[str, str | None], ...] = ()
    is_orc: bool = False
    columns: tuple[SnapshotColumn, ...] = field(default=(), repr=False)

    @property
    def is_of_iceberg(self) -> bool:
        """Return whether Iceberg's reader reads it, which takes days and times unchanged."""
        return any(not each.stored for each in self.columns)

    def footer(self) -> Any:
        """Return the footer of a Parquet file; footers of recent queries are kept. Raises SourceError."""
        if self.size_bytes == 0:
            return None
        return _footer(self.path, self.size_bytes, self.modified_ms)

    def of_today(self, found: pa.Table) -> pa.Table:
        """Return columns of a Parquet file, in structs, too, by the table's names and in today's calendar.

        Raises SourceError for other names within lists or maps, and for times that only Spark converts.
        """
        with reading(self.path):
            if not self.is_of_iceberg:
                found = in_todays_calendar(found, self.footer())
            if not self.columns:
                return found
            schema = self.footer().schema.to_arrow_schema()
        return with_names_of_today(found, schema, self.columns, self.path)

    def stored_names(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return the table's columns that a Parquet file has, with their names in it.

        Raises SourceError for a column that cannot be identified in the file.
        """
        footer = self.footer()
        if footer is None:
            return {}
        told = _names(self.path, self.size_bytes, self.modified_ms, self.columns)
        found = {name: told.get(name) for name in names}
        return {name: stored for name, stored in found.items() if stored is not None}

    def paged(self) -> PagedFile | None:
        """Return a Parquet file by its page index, None if it has none. Raises SourceError."""
        footer = self.footer()
        if footer is None:
            return None
        with reading(self.path):
            return paged_file(self.path, self.size_bytes, self.modified_ms, footer.serialized_size)

    def orc(self) -> OrcFile:
        """Return an ORC file; its tail is kept."""
        return _orc_file(self.path, self.size_bytes, self.modified_ms)

    def row_group_rows(self) -> npt.NDArray[np.int64]:
        """Return the rows of each row group of a Parquet file; an empty file has none."""
        return np.diff(self.row_group_ends(), prepend=0)

    def row_group_ends(self) -> npt.NDArray[np.int64]:
        """Return the end of each row group of a Parquet file, in rows. Raises SourceError."""
        if self.size_bytes == 0:
            return np.empty(0, np.int64)
        return _row_group_ends(self.path, self.size_bytes, self.modified_ms)

    def units(self) -> int:
        """Return the number of row groups, or of an ORC file's stripes. Raises SourceError."""
        if not self.is_orc:
            return len(self.row_group_ends())
        if self.size_bytes == 0:
            return 0
        with reading(self.path):
            return self.orc().stripe_count


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn errors of reading the file into SourceError that names it; SourceOutage for one that may pass."""
    is_local = object_url(path) is None
    try:
        with local_failures(path) if is_local else nullcontext():
            yield
    except UnlikeSpark as error:
        raise SourceError(f"{path}: is not read as Spark reads it: {error}", source=path) from error
    except DAMAGE as error:
        raise SourceError(f"{path}: cannot be read ({first_line(error)})", source=path) from error


@lru_cache(maxsize=_FOOTERS)
def _footer(path: str, size_bytes: int, modified_ms: int) -> Any:
    del size_bytes, modified_ms
    with reading(path):
        return open_footer(path)


@lru_cache(maxsize=_ORC_FILES)
def _orc_file(path: str, size_bytes: int, modified_ms: int) -> OrcFile:
    return OrcFile(path, size_bytes, modified_ms)


@lru_cache(maxsize=_FOOTERS)
def _row_group_ends(path: str, size_bytes: int, modified_ms: int) -> npt.NDArray[np.int64]:
    footer = _footer(path, size_bytes, modified_ms)
    rows = (footer.row_group(group).num_rows for group in range(footer.num_row_groups))
    return np.cumsum(np.fromiter(rows, np.int64, footer.num_row_groups))


@lru_cache(maxsize=_FOOTERS)
def _names(
    path: str, size_bytes: int, modified_ms: int, columns: tuple[SnapshotColumn, ...]
) -> Mapping[str, str | None]:
    footer = _footer(path, size_bytes, modified_ms)
    with reading(path):
        schema = footer.schema.to_arrow_schema()
    return stored_names(schema, columns, path) if columns else {name: name for name in schema.names}
