"""Parquet files of the store: rows of a schema, compressed, pages with checksums, the name in the footer.

A name is given once (``StagedWrite``), so it identifies the index, the version and the content. A file that
was put in the place of another one is recognised by its footer, which any reader reads anyway. A footer has
no checksum: its digest stands beside the file's name in the manifest (``DataFile.footer``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from starskip.errors import StorageError, printable
from starskip.storage.manifest import DataFile

FORM = 1
"""Number of the form of such files: readers take a file of another form for damaged."""
_KEY = b"starskip.file"
_MAGIC = (b"PAR1", b"PARE")
"""Magic bytes at both ends of a Parquet file: with a plain footer, and with an encrypted one."""
_END_BYTES = 8
"""Length of the last bytes of a file: the length of its footer, and the magic bytes."""
_TAIL_BYTES = 64 << 10
"""Bytes of a file's end that are read at once, as pyarrow does; a longer footer takes a second request."""


@contextmanager
def parquet_writer(sink: Any, schema: pa.Schema, name: str, **options: Any) -> Iterator[pq.ParquetWriter]:
    """Write a file that will be the store's ``name``; ``options`` go to pyarrow's writer."""
    # Rows that were read from another file bring its name along.
    kept = {key: value for key, value in (schema.metadata or {}).items() if key != _KEY}
    # Without checksums a changed bit in a page would be another value, and nobody would notice.
    with pq.ParquetWriter(
        sink, schema.with_metadata(kept or None), write_page_checksum=True, **options
    ) as writer:
        yield writer
        writer.add_key_value_metadata({_KEY: _told(name)})


def checked_parquet(
    rows: pa.Table,
    name: str,
    *,
    row_group_size: int | None = None,
    use_dictionary: bool | Sequence[str] = True,
    delta_columns: Sequence[str] = (),
    compression: str = "zstd",
    encryption: Any = None,
) -> pa.Buffer:
    """Return ``rows`` as the bytes of the store's file ``name``.

    ``use_dictionary`` may name the columns that have one; ``delta_columns``: columns of whole numbers without
    a dictionary, kept as differences. ``encryption``: pyarrow's properties of an encrypted file
    (encryption.data_key).
    """
    sink = pa.BufferOutputStream()
    with parquet_writer(
        sink,
        rows.schema,
        name,
        compression=compression,
        use_dictionary=use_dictionary if isinstance(use_dictionary, bool) else [*use_dictionary],
        column_encoding=dict.fromkeys(delta_columns, "DELTA_BINARY_PACKED") or None,
        encryption_properties=encryption,
    ) as writer:
        writer.write_table(rows, row_group_size=row_group_size)
    return sink.getvalue()


def opened_parquet(opened: Any, file: DataFile, *, decryption: Any = None) -> pq.ParquetFile:
    """Open a file of the store to read its pages by their checksums.

    Raises pyarrow's error for a file that cannot be read, and ArrowInvalid for a file whose footer is not the
    one that was written, that was written under another name, or that has another number of rows.
    """
    parquet = pq.ParquetFile(
        opened,
        metadata=None if file.footer is None else _checked_footer(opened, file, decryption),
        page_checksum_verification=True,
        decryption_properties=decryption,
    )
    require_own(parquet.metadata, file)
    if file.rows is not None and parquet.metadata.num_rows != file.rows:
        raise pa.ArrowInvalid(f"{file.name}: has {parquet.metadata.num_rows} rows, not {file.rows}")
    return parquet


def footer_digest(content: bytes) -> str | None:
    """Return the digest of a Parquet file's stored footer; None if ``content`` is no Parquet file."""
    if not content.startswith(_MAGIC) or not content.endswith(_MAGIC):
        return None
    return _digest(content[-_footer_bytes(content) :])


def require_own(footer: pq.FileMetaData, file: DataFile) -> None:
    """Raise ArrowInvalid for the footer of a file that was not written as the store's ``file``."""
    if (footer.metadata or {}).get(_KEY) != _told(file.name):
        raise pa.ArrowInvalid(f"{file.name}: was written as another file")


def _checked_footer(opened: Any, file: DataFile, decryption: Any) -> pq.FileMetaData:
    """Read a footer once: pyarrow parses the bytes that were compared, and does not read the file again."""
    tail = opened.read_at(min(_TAIL_BYTES, file.size_bytes), max(file.size_bytes - _TAIL_BYTES, 0))
    wanted = _footer_bytes(tail)
    if len(tail) < wanted <= file.size_bytes:
        tail = opened.read_at(wanted - len(tail), file.size_bytes - wanted) + tail
    footer = tail[-wanted:]
    if _digest(footer) != file.footer:
        raise pa.ArrowInvalid(f"{file.name}: its footer is not the one that was written")
    return pq.ParquetFile(pa.BufferReader(footer), decryption_properties=decryption).metadata


def _footer_bytes(tail: bytes) -> int:
    """Return the length of the footer at the end of ``tail``, with everything after it."""
    return int.from_bytes(tail[-_END_BYTES:-4], "little") + _END_BYTES


def _digest(footer: bytes) -> str:
    return xxhash.xxh3_128_hexdigest(footer)


def _told(name: str) -> bytes:
    return f"{FORM} {name}".encode()


def require_columns(present: Collection[str], schema: pa.Schema, *, artefact: str, location: str) -> None:
    """Raise ``StorageError`` for the first column of ``schema`` that is not among ``present``."""
    for column in schema.names:
        if column not in present:
            raise StorageError(
                f"{artefact}: column {column} is missing in {location}; run the step that writes it again",
                location=location,
            )


def fitted(rows: pa.Table, schema: pa.Schema, *, artefact: str, location: str) -> pa.Table:
    """Return ``rows`` with exactly the columns, order and types of ``schema``.

    Raises ``StorageError`` for a column that is missing, unknown, or whose values its type cannot hold.
    """
    require_columns(rows.schema.names, schema, artefact=artefact, location=location)
    for column in rows.schema.names:
        if column not in schema.names:
            raise StorageError(
                f"{artefact}: column {printable(column, 100)} is not in its schema", location=location
            )
    return pa.table([_cast(rows, column, artefact, location) for column in schema], schema=schema)


def _cast(rows: pa.Table, column: pa.Field[Any], artefact: str, location: str) -> pa.ChunkedArray[Any]:
    try:
        return rows.column(column.name).cast(column.type)
    except (pa.ArrowException, KeyError) as error:
        detail = "occurs twice" if isinstance(error, KeyError) else printable(str(error), 200)
        raise StorageError(
            f"{artefact}: column {column.name} does not hold {column.type}: {detail}", location=location
        ) from error
