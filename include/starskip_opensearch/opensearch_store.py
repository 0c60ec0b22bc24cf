"""The metadata store of OpenSearch: each row a document to be searched, each column also whole, in pieces.

Pieces are Arrow streams of some megabytes, with a checksum of the id and the bytes. Groups that are written
together share documents, so that one query covers all of them. A clause without a
query (Bloom filters, ranges, users' own) is evaluated on whole columns, which are fetched once.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import pyarrow as pa
from starskip.errors import DamagedFile
from starskip.file_metadata.metadata_store import Groups, StoredMetadata
from starskip.skipping.own_types import Clause, Mask
from starskip.storage.encryption.data_key import DataKey
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite, file_safe

from starskip_opensearch.documents import ROWS, Document
from starskip_opensearch.evaluation import Evaluation
from starskip_opensearch.known_details import Details, details_of
from starskip_opensearch.opensearch_storage import (
    PIECE_BYTES,
    ObjectFields,
    OpenSearchStorage,
    piece_names,
    pieces_of,
    row_name,
)
from starskip_opensearch.search_fields import SearchColumn, search_columns

_CHECKSUM_BYTES = 4
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True, slots=True)
class OpenSearchStore:
    """Implements MetadataStore."""

    storage: OpenSearchStorage

    @property
    def encrypts(self) -> bool:
        """See MetadataStore."""
        return False

    def with_keys(
        self, data_keys: Mapping[str, DataKey], new_keys: Mapping[str, DataKey] = MappingProxyType({})
    ) -> OpenSearchStore:
        """See MetadataStore."""
        del data_keys, new_keys
        return self

    def write(self, staged: StagedWrite, groups: Groups) -> Mapping[str, tuple[DataFile, ...]]:
        """See MetadataStore; all groups are in memory at a time."""
        block = uuid4().hex
        pending: list[_Group] = []
        written: dict[str, tuple[DataFile, ...]] = {}
        columns: list[SearchColumn] = []
        for group, table in groups:
            written[group] = ()
            if table.num_rows:
                searched = search_columns(group, table) if is_index(group) else {}
                columns += searched.values()
                pending.append(_staged(staged, group, table, block, searched))
                written[group] = (pending[-1].file,)
        if pending:
            self.storage.put_fresh([(of.file.name, of.fields) for of in pending])
            self.storage.write_pieces(piece for of in pending for piece in of.pieces())
        if columns:
            documents, url = self.storage.documents, self.storage.url
            documents.require_index(url.rows, ROWS, {each.field: {"type": each.kind} for each in columns})
            documents.write(url.rows, _row_documents(block, columns))
            # Refreshed before any manifest names the rows, so that each version can be searched completely.
            documents.refresh(url.rows)
        return written

    def read(self, files: Sequence[DataFile], names: Sequence[str]) -> pa.Table:
        """See MetadataStore."""
        details = details_of(self.storage, [file.name for file in files])
        wanted = [
            pieces_of(of.owner, *of.columns[name], file.size_bytes / max(of.pieces, 1))
            for file, of in zip(files, details, strict=True)
            for name in names
        ]
        contents = self.storage.read_pieces(piece for pieces in wanted for piece in pieces)
        return pa.concat_tables(
            [_table(file, of, names, contents) for file, of in zip(files, details, strict=True)]
        )

    def schema(self, file: DataFile) -> pa.Schema:
        """See MetadataStore."""
        (found,) = details_of(self.storage, [file.name])
        return found.schema

    def may_match(self, metadata: StoredMetadata, clause: Clause) -> Mask:
        """See MetadataStore."""
        return Evaluation.of(self.storage, metadata).may_match(clause)


@dataclass(frozen=True, slots=True)
class _Group:
    """A group of columns that is about to be written."""

    file: DataFile
    fields: ObjectFields
    contents: Sequence[bytes]

    def pieces(self) -> Iterator[tuple[str, bytes]]:
        """Yield its pieces by their ids."""
        names = piece_names(self.fields.owner, 0, len(self.contents))
        return zip(names, self.contents, strict=True)


def _staged(
    staged: StagedWrite, group: str, rows: pa.Table, block: str, searched: Mapping[str, SearchColumn]
) -> _Group:
    owner = uuid4().hex
    contents: list[bytes] = []
    places = {}
    for name in rows.column_names:
        start = len(contents)
        contents += column_pieces(rows[name].combine_chunks(), owner, start)
        places[name] = [start, len(contents)]
    size = sum(map(len, contents))
    details: dict[str, Any] = {
        "schema": base64.b64encode(rows.schema.serialize().to_pybytes()).decode(),
        "columns": places,
        "fields": {name: [column.field, column.kind] for name, column in searched.items()},
    }
    of_block = block if searched else ""
    fields = ObjectFields(size, owner, len(contents), of_block, rows.num_rows, details)
    name = f"{staged.folder}/{file_safe(group)}/{owner}.rows"
    return _Group(DataFile(name, size, rows.num_rows), fields, contents)


def is_index(group: str) -> bool:
    """Return whether a group belongs to an index, whose specification has a colon."""
    return ":" in group


def _row_documents(block: str, columns: Sequence[SearchColumn]) -> Iterator[Document]:
    names = [column.field for column in columns]
    for position, keys in enumerate(zip(*(column.keys for column in columns), strict=True)):
        fields = dict(zip(names, keys, strict=True))
        nulls = [name for name, key in fields.items() if key is None]
        for name in nulls:
            del fields[name]
        yield row_name(block, position), {"block": block, "position": position, "null": nulls, **fields}


def _table(file: DataFile, of: Details, names: Sequence[str], contents: Iterator[bytes | None]) -> pa.Table:
    """Return columns of the next ``contents``."""
    columns = []
    for name in names:
        start, end = of.columns[name]
        pieces = list(islice(contents, end - start))
        try:
            column = column_of(pieces, of.schema.field(name).type, of.owner, start)
        except (ValueError, pa.ArrowException) as error:
            raise _damaged(file) from error
        if len(column) != file.rows:
            raise _damaged(file)
        columns.append(column)
    return pa.table(columns, schema=pa.schema([of.schema.field(name) for name in names]))


def _damaged(file: DataFile) -> DamagedFile:
    return DamagedFile(f"{file.name}: is gone or damaged; refresh the metadata in full", location=file.name)


def column_pieces(column: pa.Array, owner: str, first: int) -> Iterator[bytes]:
    """Yield the pieces of a column that has rows, by its consecutive rows.

    They are pieces of ``owner`` from number ``first`` on.
    """
    rows = max(1, int(len(column) * PIECE_BYTES / max(column.nbytes, 1)))
    schema = pa.schema([("column", column.type)])
    for number, start in enumerate(range(0, len(column), rows), first):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema, options=_OPTIONS) as stream:
            stream.write_batch(pa.record_batch([column.slice(start, rows)], schema=schema))
        content = sink.getvalue().to_pybytes()
        yield _checksum(content, owner, number) + content


def column_of(pieces: Sequence[bytes | None], kind: pa.DataType, owner: str, first: int) -> pa.ChunkedArray:
    """Return the column of its pieces; raise ValueError for a missing, damaged or wrong one."""
    chunks = []
    for number, piece in enumerate(pieces, first):
        if piece is None or _checksum(piece[_CHECKSUM_BYTES:], owner, number) != piece[:_CHECKSUM_BYTES]:
            raise ValueError("a piece is gone or damaged")
        with pa.ipc.open_stream(pa.py_buffer(piece[_CHECKSUM_BYTES:])) as stream:
            chunks += stream.read_all()["column"].chunks
    return pa.chunked_array(chunks, kind)


def _checksum(content: bytes, owner: str, number: int) -> bytes:
    (name,) = piece_names(owner, number, number + 1)
    return zlib.crc32(content, zlib.crc32(name.encode())).to_bytes(_CHECKSUM_BYTES, "big")
