"""Reads the Avro files of an Iceberg table's metadata, and refuses one that does not end where it should."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

from pyiceberg.avro.decoder import StreamingBinaryDecoder, new_decoder
from pyiceberg.avro.file import META_SCHEMA, SYNC_SIZE, AvroFileHeader
from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import construct_reader, resolve_reader
from pyiceberg.io import InputFile
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_LIST_FILE_SCHEMAS,
    ManifestContent,
    ManifestFile,
    PartitionFieldSummary,
)


class IcebergAvroFile:
    """Holds a file's bytes and its schema; iterating decodes its rows by pyiceberg's readers.

    pyiceberg's own AvroFile goes by its fast decoder alone, which does not know where its bytes end: of a
    file cut short it reads whatever else is in memory. Here the fast one gets whole blocks only.
    """

    def __init__(self, file: InputFile) -> None:
        """Read a file. Raises OSError, ValueError or EOFError where it is no whole Avro file."""
        with file.open() as opened:
            content = opened.read()
        self._size_bytes = len(content)
        self._decoder = StreamingBinaryDecoder(content)
        self._header = construct_reader(META_SCHEMA, {-1: AvroFileHeader}).read(self._decoder)
        self.schema = self._header.get_schema()

    def rows(self, reader: Reader) -> Iterator[Any]:
        """Yield its rows, once. Raises ValueError or EOFError at a block that is not whole."""
        codec = self._header.compression_codec()
        while self._decoder.tell() < self._size_bytes:
            count, content = self._decoder.read_int(), self._decoder.read_bytes()
            if self._decoder.read(SYNC_SIZE) != self._header.sync:
                raise ValueError("a block does not end where it should")
            if codec:
                content = codec.decompress(content)
            decoder = new_decoder(content)
            for _ in range(count):
                row = reader.read(decoder)
                if decoder.tell() > len(content):
                    raise ValueError("a block ends within a row")
                yield row
            if decoder.tell() != len(content):
                raise ValueError("a block has more bytes than rows")


def manifests_of(file: InputFile) -> list[ManifestFile]:
    """Return the manifests of a manifest list. Raises as IcebergAvroFile does."""
    found = IcebergAvroFile(file)
    types: Mapping[int, Callable[..., Any]] = {-1: ManifestFile, 508: PartitionFieldSummary}
    enums: Mapping[int, Callable[..., Enum]] = {517: ManifestContent}
    wanted = MANIFEST_LIST_FILE_SCHEMAS[DEFAULT_READ_VERSION]
    return list(found.rows(resolve_reader(found.schema, wanted, dict(types), dict(enums))))
