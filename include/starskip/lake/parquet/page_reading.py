"""Read chosen pages of a column, of one Parquet file or of several.

Arrow reads whole column chunks. So the pages that hold wanted rows are put together as a small Parquet file
of one column, whose footer knows no other pages, and Arrow reads that. Pages without a dictionary are one row
group, whatever files they come from; with each dictionary a row group begins.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from starskip.lake.parquet.parquet_pages import FilePages, Numbers, PageKind
from starskip.lake.parquet.parquet_thrift import decoded, encoded, format_kinds
from starskip.storage.files.byte_ranges import Range, read_ranges

_MAGIC = b"PAR1"
_ARROW_SCHEMA = b"ARROW:schema"
_SHORT_BYTES = 16 << 10
_MOST_OF_A_HEADER = 8 << 10
"""A longer header, from statistics of long texts, is taken to ask for the dictionary."""
_DICTIONARY_ENCODINGS = (2, 8)
_NOTHING = memoryview(b"")


@dataclass(slots=True)
class _RowGroup:
    """Pages that become a row group: they share one codec, and at most one dictionary."""

    about: Any
    dictionary: memoryview = _NOTHING
    pages: list[memoryview] = field(default_factory=list)
    rows: int = 0
    encodings: set[int] = field(default_factory=set)


def read_pages(chosen: Sequence[tuple[FilePages, Numbers]]) -> tuple[pa.ChunkedArray, int]:
    """Return all rows of chosen pages, a file after the other, and the bytes that were read.

    All files have pages of one kind. Raises OSError and pa.ArrowException for a file that cannot be read,
    ValueError for an index that does not fit the pages.
    """
    groups: list[_RowGroup] = []
    size = 0
    for column, pages in chosen:
        size += _add_file(column, pages, groups)
    kind = chosen[0][0].kind
    contents = [content for group in groups for content in (group.dictionary, *group.pages)]
    file = b"".join((_MAGIC, *contents, *_footer(kind, groups)))
    parquet = pq.ParquetFile(pa.BufferReader(file), coerce_int96_timestamp_unit="us")
    found = parquet.read(use_threads=False).column(0)
    if len(found) != sum(group.rows for group in groups) or not found.type.equals(kind.type):
        raise ValueError("its page index does not fit its pages")
    return found, size


def _add_file(column: FilePages, pages: Numbers, groups: list[_RowGroup]) -> int:
    """Read pages of a file into row groups, continuing the last group if possible; return the bytes read."""
    of_group = column.groups[pages]
    firsts = np.flatnonzero(np.diff(of_group, prepend=-1)).tolist()
    numbers = of_group[firsts].tolist()
    ends = [*firsts[1:], len(pages)]
    dictionaries = [column.dictionaries[each] for each in numbers]
    starts = column.offsets[pages]
    of_pages = list(zip(starts.tolist(), (starts + column.sizes[pages]).tolist(), strict=True))
    # A long dictionary is read only if a page asks for it: writers give it up for later pages.
    short = [each if each[1] - each[0] <= _SHORT_BYTES else (0, 0) for each in dictionaries]
    contents, size = read_ranges(column.path, [*of_pages, *short])
    held = contents[len(of_pages) :]
    missing: dict[int, Range] = {}
    for at, (first, end) in enumerate(zip(firsts, ends, strict=True)):
        if short[at] != dictionaries[at] and any(map(_asks_for_dictionary, contents[first:end])):
            missing[at] = dictionaries[at]
    if missing:
        more, more_size = read_ranges(column.path, list(missing.values()))
        size += more_size
        for at, content in zip(missing, more, strict=True):
            held[at] = content
    rows = np.add.reduceat(column.rows_of(pages), firsts).tolist()
    for number, first, end, dictionary, count in zip(numbers, firsts, ends, held, rows, strict=True):
        about = column.abouts[number]
        if dictionary or not groups or groups[-1].dictionary or groups[-1].about.codec != about.codec:
            groups.append(_RowGroup(about, dictionary))
        groups[-1].pages += contents[first:end]
        groups[-1].rows += count
        groups[-1].encodings.update(about.encodings)
    return size


def _asks_for_dictionary(page: memoryview) -> bool:
    """Return whether the values of a page are places in the dictionary, as its header says."""
    header = decoded("PageHeader", bytes(page[:_MOST_OF_A_HEADER]))
    about = None if header is None else header.data_page_header or header.data_page_header_v2
    return about is None or about.encoding in _DICTIONARY_ENCODINGS


def _footer(kind: PageKind, groups: Sequence[_RowGroup]) -> tuple[bytes, bytes, bytes]:
    """Return the footer of a file of row groups, its length and the magic."""
    kinds = format_kinds()
    position = len(_MAGIC)
    of_file = []
    for group in groups:
        of_dictionary, of_pages = len(group.dictionary), sum(map(len, group.pages))
        about = kinds.ColumnMetaData(
            type=group.about.type,
            encodings=sorted(group.encodings),
            path_in_schema=group.about.path_in_schema,
            codec=group.about.codec,
            num_values=group.rows,
            total_uncompressed_size=group.about.total_uncompressed_size,
            total_compressed_size=of_dictionary + of_pages,
            data_page_offset=position + of_dictionary,
            dictionary_page_offset=position if of_dictionary else None,
        )
        chunk = kinds.ColumnChunk(file_offset=0, meta_data=about)
        size = of_dictionary + of_pages
        of_file.append(kinds.RowGroup(columns=[chunk], total_byte_size=size, num_rows=group.rows))
        position += size
    told = None
    if kind.arrow_schema is not None:
        schema = base64.b64encode(kind.arrow_schema.serialize().to_pybytes())
        told = [kinds.KeyValue(key=_ARROW_SCHEMA, value=schema)]
    document = kinds.FileMetaData(
        version=kind.version,
        schema=[kinds.SchemaElement(name=b"schema", num_children=1), kind.element],
        num_rows=sum(group.rows for group in groups),
        row_groups=of_file,
        key_value_metadata=told,
        created_by=kind.created_by,
    )
    footer = encoded(document)
    return footer, struct.pack("<I", len(footer)), _MAGIC
