"""Columns of metadata as pieces: Arrow streams of some megabytes, each with a checksum of Arrow's bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

import pyarrow as pa

from starskip.storage.opensearch.opensearch_storage import PIECE_BYTES

_CHECKSUM_BYTES = 4
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


def column_pieces(column: pa.Array) -> Iterator[bytes]:
    """Yield the pieces of a column that has rows, by its consecutive rows."""
    rows = max(1, int(len(column) * PIECE_BYTES / max(column.nbytes, 1)))
    schema = pa.schema([("column", column.type)])
    for start in range(0, len(column), rows):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema, options=_OPTIONS) as stream:
            stream.write_batch(pa.record_batch([column.slice(start, rows)], schema=schema))
        content = sink.getvalue().to_pybytes()
        yield zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "big") + content


def column_of(pieces: Iterable[bytes | None], kind: pa.DataType) -> pa.ChunkedArray:
    """Return the column of its pieces; raise ValueError for one that is gone or damaged."""
    chunks = []
    for piece in pieces:
        if piece is None or zlib.crc32(piece[_CHECKSUM_BYTES:]).to_bytes(4, "big") != piece[:_CHECKSUM_BYTES]:
            raise ValueError("a piece is gone or damaged")
        with pa.ipc.open_stream(pa.py_buffer(piece[_CHECKSUM_BYTES:])) as stream:
            chunks += stream.read_all()["column"].chunks
    return pa.chunked_array(chunks, kind)
