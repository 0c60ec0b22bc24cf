"""Read chosen pages of a Parquet file's columns; the offset index says where they lie.

Arrow reads whole column chunks. So the pages that hold wanted rows, with their dictionary, are put together
as a small Parquet file of one column, whose footer knows no other pages, and Arrow reads that.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import thriftpy2
from thriftpy2.protocol.compact import TCompactProtocolFactory
from thriftpy2.utils import deserialize, serialize

from starskip.storage.files.byte_ranges import Range, read_ranges
from starskip.storage.files.bytes_read import add_bytes_read

_MAGIC = b"PAR1"
_TAIL_BYTES = 8
_ARROW_SCHEMA = b"ARROW:schema"
_SHORT_BYTES = 16 << 10
_MOST_OF_A_HEADER = 8 << 10
"""A header that is longer, by statistics of long texts, is taken for one that asks for the dictionary."""
_DICTIONARY_ENCODINGS = (2, 8)
_FILES = 4_096
"""Files whose page indexes a process keeps."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ColumnPages:
    """The data pages of a column in one row group.

    ``offsets`` and ``sizes`` in the file; ``first_rows`` in the row group, and its ``rows`` behind them;
    ``dictionary``: where that lies, a range of no bytes if there is none.
    """

    offsets: Numbers
    sizes: Numbers
    first_rows: Numbers
    rows: int
    dictionary: Range
    chunk: Any

    def holding(self, positions: Numbers) -> Numbers:
        """Return the pages that hold rows at rising positions in the row group."""
        begin = np.searchsorted(positions, self.first_rows)
        return np.flatnonzero(np.diff(begin, append=len(positions)))

    def rows_of(self, pages: Numbers) -> Numbers:
        """Return the number of rows of some pages."""
        ends = np.append(self.first_rows[1:], self.rows)
        return np.asarray(ends[pages] - self.first_rows[pages], np.int64)

    @property
    def has_short_dictionary(self) -> bool:
        """Return whether reading the dictionary costs next to nothing, as where there is none."""
        return self.dictionary[1] - self.dictionary[0] <= _SHORT_BYTES

    def bytes_of(self, pages: Numbers) -> int:
        """Return the stored bytes of some pages, and of the dictionary, which they may need."""
        return int(self.sizes[pages].sum()) + self.dictionary[1] - self.dictionary[0]


@dataclass(frozen=True)
class PagedFile:
    """A file with a page index, of which columns without fields or lists are read by pages."""

    path: str
    leaves: Mapping[str, int]
    schema: pa.Schema
    _format: Any = field(repr=False)
    _indexes: memoryview = field(repr=False)
    _indexes_at: int = 0
    _pages: dict[tuple[int, str], ColumnPages | None] = field(default_factory=dict, repr=False)

    def pages(self, group: int, column: str) -> ColumnPages | None:
        """Return the pages of a column in a row group, None where no sound index describes them."""
        key = group, column
        if key not in self._pages:
            self._pages[key] = self._decoded(group, column)
        return self._pages[key]

    def read(self, column: str, chosen: Sequence[tuple[ColumnPages, Numbers]]) -> tuple[pa.ChunkedArray, int]:
        """Return all rows of chosen pages of a column, a row group after the other, and the bytes read.

        Raises OSError and pa.ArrowException for a file that cannot be read, ValueError for one whose index
        is not that of its pages.
        """
        ranges: list[Range] = []
        for pages, numbers in chosen:
            starts, sizes = pages.offsets[numbers], pages.sizes[numbers]
            # A long dictionary is read only if a page asks for it: writers give it up for later pages.
            ranges.append(pages.dictionary if pages.has_short_dictionary else (0, 0))
            ranges.extend(zip(starts.tolist(), (starts + sizes).tolist(), strict=True))
        contents, size = read_ranges(self.path, ranges)
        missing: dict[int, Range] = {}
        at = 0
        for pages, numbers in chosen:
            of_pages = contents[at + 1 : at + 1 + len(numbers)]
            if not pages.has_short_dictionary and any(map(_asks_for_dictionary, of_pages)):
                missing[at] = pages.dictionary
            at += 1 + len(numbers)
        if missing:
            dictionaries, more = read_ranges(self.path, list(missing.values()))
            size += more
            for at, content in zip(missing, dictionaries, strict=True):
                contents[at] = content
        file = b"".join((_MAGIC, *contents, *self._footer(column, chosen, list(map(len, contents)))))
        parquet = pq.ParquetFile(pa.BufferReader(file), coerce_int96_timestamp_unit="us")
        found = parquet.read(use_threads=False).column(0)
        rows = sum(int(pages.rows_of(numbers).sum()) for pages, numbers in chosen)
        if len(found) != rows or not found.type.equals(self.schema.field(column).type):
            raise ValueError("its page index tells of other pages than there are")
        return found, size

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
        index = _decode("OffsetIndex", bytes(content))
        if index is None or not index.page_locations:
            return None
        locations = np.array(
            [(each.offset, each.compressed_page_size, each.first_row_index) for each in index.page_locations],
            np.int64,
        )
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

    def _footer(
        self, column: str, chosen: Sequence[tuple[ColumnPages, Numbers]], lengths: Sequence[int]
    ) -> tuple[bytes, bytes, bytes]:
        """Return the footer of a file of dictionaries and pages, its length and the magic."""
        kinds = _kinds()
        position = len(_MAGIC)
        groups = []
        sizes = iter(lengths)
        for pages, numbers in chosen:
            dictionary = next(sizes)
            data = sum(next(sizes) for _ in range(len(numbers)))
            rows = int(pages.rows_of(numbers).sum())
            about = pages.chunk.meta_data
            of_chunk = kinds.ColumnMetaData(
                type=about.type,
                encodings=about.encodings,
                path_in_schema=about.path_in_schema,
                codec=about.codec,
                num_values=rows,
                total_uncompressed_size=about.total_uncompressed_size,
                total_compressed_size=dictionary + data,
                data_page_offset=position + dictionary,
                dictionary_page_offset=position if dictionary else None,
            )
            chunk = kinds.ColumnChunk(file_offset=0, meta_data=of_chunk)
            groups.append(kinds.RowGroup(columns=[chunk], total_byte_size=dictionary + data, num_rows=rows))
            position += dictionary + data
        root = kinds.SchemaElement(name=b"schema", num_children=1)
        # Arrow's own types, such as those of a dictionary, stand in its own form of the schema.
        told = (each.key == _ARROW_SCHEMA for each in self._format.key_value_metadata or ())
        of_arrow = kinds.KeyValue(key=_ARROW_SCHEMA, value=self._arrow_schema(column)) if any(told) else None
        document = kinds.FileMetaData(
            version=self._format.version,
            schema=[root, _leaf_elements(self._format.schema)[self.leaves[column]]],
            num_rows=sum(group.num_rows for group in groups),
            row_groups=groups,
            key_value_metadata=None if of_arrow is None else [of_arrow],
            created_by=self._format.created_by,
        )
        footer = _encode(document)
        return footer, struct.pack("<I", len(footer)), _MAGIC

    def _arrow_schema(self, column: str) -> bytes:
        return base64.b64encode(pa.schema([self.schema.field(column)]).serialize().to_pybytes())


@lru_cache(maxsize=_FILES)
def paged_file(path: str, size_bytes: int, modified_ms: int, footer_bytes: int) -> PagedFile | None:
    """Return a file by its path and identity, None if its columns cannot be read by pages.

    Raises OSError and SourceError for one that cannot be read.
    """
    del modified_ms
    footer_at = size_bytes - _TAIL_BYTES - footer_bytes
    (content,), size = read_ranges(path, [(footer_at, size_bytes)])
    add_bytes_read(size)
    if bytes(content[-4:]) != _MAGIC:
        return None
    document = _decode("FileMetaData", bytes(content[:footer_bytes]))
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
    if sum(_leaves(each.type) for each in schema) != len(_leaf_elements(document.schema)):
        return None
    return PagedFile(path, _flat_leaves(schema), schema, document, indexes, start)


def _flat_leaves(schema: pa.Schema) -> dict[str, int]:
    """Return the leaf of each column that is one, by its name, if no other has that name."""
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


def _leaf_elements(elements: Sequence[Any]) -> list[Any]:
    return [each for each in elements if not each.num_children]


def _asks_for_dictionary(page: memoryview) -> bool:
    """Return whether the values of a page are places in the dictionary, as its header says."""
    header = _decode("PageHeader", bytes(page[:_MOST_OF_A_HEADER]))
    about = None if header is None else header.data_page_header or header.data_page_header_v2
    return about is None or about.encoding in _DICTIONARY_ENCODINGS


@cache
def _kinds() -> Any:
    """Return the classes of the format's structs."""
    with as_file(files("starskip.lake") / "parquet_format.thrift") as path:
        return thriftpy2.load(str(path), module_name="parquet_format_thrift")


_COMPACT: Any = TCompactProtocolFactory


def _decode(kind: str, content: bytes) -> Any:
    """Return a struct, None for bytes that are none."""
    try:
        return deserialize(getattr(_kinds(), kind)(), content, _COMPACT(decode_response=False))
    except Exception:
        # thriftpy2 lets the errors of all parts of a damaged document through: any of them means the same.
        return None


def _encode(document: Any) -> bytes:
    return bytes(serialize(document, _COMPACT(decode_response=False)))
