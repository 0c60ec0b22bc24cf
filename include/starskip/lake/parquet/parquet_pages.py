"""Places and rows of the pages of a Parquet file's columns, by the file's offset index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from starskip.lake.parquet.hybrid_calendar import HybridCalendar, hybrid_calendar
from starskip.lake.parquet.parquet_thrift import decoded, page_locations
from starskip.storage.files.byte_ranges import Range, read_ranges
from starskip.storage.files.bytes_read import add_bytes_read

_MAGIC = b"PAR1"
_TAIL_BYTES = 8
_ARROW_SCHEMA = b"ARROW:schema"
_FILES = 4_096
"""Files whose page indexes a process keeps."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ColumnPages:
    """The data pages of a column in one row group.

    ``offsets`` and ``sizes`` in the file; ``first_rows`` in the row group, with its ``rows`` as the last
    item; ``dictionary``: its byte range, empty if there is none; ``chunk``: the footer's metadata of the
    column chunk.
    """

    offsets: Numbers
    sizes: Numbers
    first_rows: Numbers
    rows: int
    dictionary: Range
    chunk: Any


@dataclass(frozen=True, slots=True, eq=False)
class PageKind:
    """The properties that pages of several files must share to be read as one column.

    ``element``: of the format's schema; ``arrow_schema``: Arrow's own form of it, where files have one.
    ``calendar``: which dates and times are not in today's calendar.
    """

    element: Any
    arrow_schema: pa.Schema | None
    type: pa.DataType
    version: int
    created_by: bytes | None
    calendar: HybridCalendar | None = None

    def is_like(self, other: PageKind) -> bool:
        """Return whether pages of both can be read together."""
        if self is other:
            return True
        return (
            self.element == other.element
            and self.type.equals(other.type)
            and (self.arrow_schema is None) == (other.arrow_schema is None)
            and (self.version, self.created_by) == (other.version, other.created_by)
            and self.calendar == other.calendar
        )


@dataclass(frozen=True, slots=True, eq=False)
class FilePages:
    """The data pages of a column of a file, one row group after the other.

    ``offsets`` and ``sizes`` in the file; ``first_rows`` in the file, with its number of rows as the last
    item; ``groups``: the row group of each page. By row group: where the dictionary lies, the stored bytes,
    and the footer's metadata of the column chunk.
    """

    path: str
    kind: PageKind
    offsets: Numbers
    sizes: Numbers
    first_rows: Numbers
    groups: Numbers
    dictionaries: tuple[Range, ...]
    group_bytes: Numbers
    abouts: tuple[Any, ...]

    def holding(self, positions: Numbers) -> tuple[Numbers, Numbers]:
        """Return the pages that hold rows at rising positions, and where these lie among the pages' rows."""
        held = np.diff(np.searchsorted(positions, self.first_rows))
        pages = np.flatnonzero(held)
        lengths = self.rows_of(pages)
        shift = np.cumsum(lengths) - lengths - self.first_rows[pages]
        return pages, positions + np.repeat(shift, held[pages])

    def rows_of(self, pages: Numbers) -> Numbers:
        """Return the number of rows of some pages."""
        return np.asarray(self.first_rows[pages + 1] - self.first_rows[pages], np.int64)

    def share_of_chunks(self, pages: Numbers) -> float:
        """Return the stored bytes of some pages and their dictionaries as a share of their row groups."""
        groups = np.unique(self.groups[pages])
        dictionaries = sum(
            self.dictionaries[each][1] - self.dictionaries[each][0] for each in groups.tolist()
        )
        return float((self.sizes[pages].sum() + dictionaries) / self.group_bytes[groups].sum())


@dataclass(frozen=True)
class PagedFile:
    """A file with a page index; its columns without fields or lists are read by pages."""

    path: str
    leaves: Mapping[str, int]
    schema: pa.Schema
    _format: Any = field(repr=False)
    _indexes: memoryview = field(repr=False)
    _indexes_at: int = 0
    _pages: dict[tuple[int, str], ColumnPages | None] = field(default_factory=dict, repr=False)
    _columns: dict[str, FilePages | None] = field(default_factory=dict, repr=False)

    def pages(self, group: int, column: str) -> ColumnPages | None:
        """Return the pages of a column in a row group, None where no sound index describes them."""
        key = group, column
        if key not in self._pages:
            self._pages[key] = self._decoded(group, column)
        return self._pages[key]

    def column(self, name: str) -> FilePages | None:
        """Return the pages of a column in all row groups, None where no sound index describes them."""
        if name not in self._columns:
            self._columns[name] = self._whole_column(name)
        return self._columns[name]

    def _whole_column(self, name: str) -> FilePages | None:
        groups = self._format.row_groups
        of_groups = [self.pages(group, name) for group in range(len(groups))]
        pages = [each for each in of_groups if each is not None]
        if len(pages) < len(groups) or not groups:
            return None
        starts = np.cumsum([0, *(each.rows for each in pages)])
        lengths = [len(each.offsets) for each in pages]
        abouts = [each.chunk.meta_data for each in pages]
        # Arrow's own types, such as dictionaries, stand in its own form of the schema.
        metadata = {each.key: each.value for each in self._format.key_value_metadata or ()}
        kind_of_values = self.schema.field(name).type
        is_of_days = pa.types.is_date(kind_of_values) or pa.types.is_timestamp(kind_of_values)
        kind = PageKind(
            leaf_elements(self._format.schema)[self.leaves[name]],
            pa.schema([self.schema.field(name)]) if _ARROW_SCHEMA in metadata else None,
            kind_of_values,
            self._format.version,
            self._format.created_by,
            hybrid_calendar(metadata) if is_of_days else None,
        )
        return FilePages(
            self.path,
            kind,
            np.concatenate([each.offsets for each in pages]),
            np.concatenate([each.sizes for each in pages]),
            np.append(
                np.concatenate([each.first_rows for each in pages]) + np.repeat(starts[:-1], lengths),
                starts[-1],
            ),
            np.repeat(np.arange(len(pages)), lengths),
            tuple(each.dictionary for each in pages),
            np.array([each.total_compressed_size for each in abouts], np.int64),
            tuple(abouts),
        )

    def _decoded(self, group: int, column: str) -> ColumnPages | None:
        at = self.leaves.get(column)
        if at is None:
            return None
        row_group = self._format.row_groups[group]
        chunk = row_group.columns[at]
        if chunk.offset_index_offset is None or chunk.crypto_metadata is not None or chunk.file_path:
            return None
        begin = chunk.offset_index_offset - self._indexes_at
        content = self._indexes[begin : begin + chunk.offset_index_length]
        locations = page_locations(bytes(content))
        if locations is None:
            return None
        offsets, sizes, first_rows = (np.ascontiguousarray(locations[:, at]) for at in range(3))
        about = chunk.meta_data
        start = min(about.data_page_offset, about.dictionary_page_offset or about.data_page_offset)
        end = start + about.total_compressed_size
        is_sound = (
            first_rows[0] == 0
            and bool((np.diff(first_rows) > 0).all())
            and first_rows[-1] < row_group.num_rows
            and offsets[0] >= start
            and bool((offsets[1:] >= offsets[:-1] + sizes[:-1]).all())
            and offsets[-1] + sizes[-1] <= end
        )
        dictionary = start, int(offsets[0])
        return (
            ColumnPages(offsets, sizes, first_rows, row_group.num_rows, dictionary, chunk)
            if is_sound
            else None
        )


@lru_cache(maxsize=_FILES)
def paged_file(path: str, size_bytes: int, modified_ms: int, footer_bytes: int) -> PagedFile | None:
    """Return a file by its path and identity, None if its columns cannot be read by pages.

    Raises OSError and SourceError for a file that cannot be read.
    """
    del modified_ms
    footer_at = size_bytes - _TAIL_BYTES - footer_bytes
    (content,), size = read_ranges(path, [(footer_at, size_bytes)])
    add_bytes_read(size)
    if bytes(content[-4:]) != _MAGIC:
        return None
    document = decoded("FileMetaData", bytes(content[:footer_bytes]))
    if document is None:
        return None
    told = [
        (chunk.offset_index_offset, chunk.offset_index_offset + chunk.offset_index_length)
        for group in document.row_groups
        for chunk in group.columns
        if chunk.offset_index_offset is not None and chunk.offset_index_length
    ]
    if not told:
        return None
    start, end = min(each[0] for each in told), max(each[1] for each in told)
    if start < 0 or end > footer_at:
        return None
    (indexes,), size = read_ranges(path, [(start, end)])
    add_bytes_read(size)
    parquet = pq.ParquetFile(pa.BufferReader(_MAGIC + bytes(content)), coerce_int96_timestamp_unit="us")
    schema = parquet.schema_arrow.remove_metadata()
    if sum(_leaves(each.type) for each in schema) != len(leaf_elements(document.schema)):
        return None
    return PagedFile(path, _flat_leaves(schema), schema, document, indexes, start)


def _flat_leaves(schema: pa.Schema) -> dict[str, int]:
    """Return the leaf of each column without fields or lists, by its name, if no other has that name."""
    found: dict[str, int] = {}
    at = 0
    for each in schema:
        if not pa.types.is_nested(each.type) and schema.names.count(each.name) == 1:
            found[each.name] = at
        at += _leaves(each.type)
    return found


def _leaves(kind: pa.DataType) -> int:
    if isinstance(kind, pa.BaseExtensionType):
        return _leaves(kind.storage_type)
    if not pa.types.is_nested(kind):
        return 1
    if pa.types.is_map(kind):
        return _leaves(kind.key_type) + _leaves(kind.item_type)
    return sum(_leaves(kind.field(at).type) for at in range(kind.num_fields))


def leaf_elements(elements: Sequence[Any]) -> list[Any]:
    """Return the elements of a schema that are columns of values."""
    return [each for each in elements if not each.num_children]
