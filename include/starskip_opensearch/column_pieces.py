"""Columns of metadata as pieces: Arrow streams of some megabytes, with a checksum of the id and the bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import pyarrow as pa

from starskip_opensearch.opensearch_storage import PIECE_BYTES, piece_names

_CHECKSUM_BYTES = 4
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


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
