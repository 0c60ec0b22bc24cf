"""Reads the manifests of an Iceberg snapshot, entry by entry, into Arrow columns of its data files.

Only the fields of an entry that a snapshot needs are decoded; bounds are decoded in a second reading, if they
are asked for. At most some thousand entries are Python objects at a time, the rest Arrow columns, so that a
table of many files needs little memory. An Avro file that does not end where it should is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa
from pyiceberg.avro.decoder import StreamingBinaryDecoder, new_decoder
from pyiceberg.avro.file import META_SCHEMA, SYNC_SIZE, AvroFileHeader
from pyiceberg.avro.reader import (
    BinaryReader,
    IntegerReader,
    MapReader,
    NoneReader,
    OptionReader,
    Reader,
    StructReader,
)
from pyiceberg.avro.resolver import construct_reader, resolve_reader
from pyiceberg.io import InputFile
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_LIST_FILE_SCHEMAS,
    ManifestContent,
    ManifestFile,
    PartitionFieldSummary,
)
from pyiceberg.typedef import Record
from pyiceberg.types import StructType

from starskip.errors import SourceError, StarskipError
from starskip.lake.iceberg.iceberg_bounds import bounds_by_column
from starskip.lake.iceberg.iceberg_deletes import DeleteFiles, Entry
from starskip.lake.iceberg.iceberg_metadata import StoredFileIO, damaged
from starskip.lake.iceberg.iceberg_schema import arrow_type
from starskip.lake.plain_paths import plain_path, plain_paths
from starskip.lake.snapshot_columns import SnapshotColumn

if TYPE_CHECKING:
    from pyiceberg.avro.decoder import BinaryDecoder
    from pyiceberg.schema import Schema

ENTRIES_AT_ONCE = 8_192
SPEC, PARTITION = "spec_id", "partition."
"""Columns besides ``table_snapshot.FILES``: the number of a file's spec; values by field id."""
ADDED_BELOW = 1 << 40
"""Bound of the numbers of commits: taken for a time in milliseconds, each lies before 2005."""
_DELETED, _ADDED = 2, 1
_UNREADABLE = (ValueError, TypeError, ArithmeticError, pa.ArrowException)
_DATA_FILE, _PARTITION = 2, 102
_NOTHING = NoneReader()  # type: ignore[no-untyped-call]
_ENTRY = {0: "status", 3: "sequence_number", 4: "file_sequence_number", 2: "data_file"}
_FILE = {
    134: "content",
    100: "path",
    101: "file_format",
    102: "partition",
    103: "rows",
    104: "size_bytes",
    135: "equality_ids",
    143: "referenced",
    144: "offset",
    145: "content_bytes",
}
_BOUNDS = {110: "nulls", 137: "nans", 125: "lower", 128: "upper"}


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """``data``: a row a data file; ``deletes``: the files that name deleted rows.

    ``manifests``: the data files' manifests, in the order of the rows; ``files`` opens them.
    """

    data: pa.Table
    deletes: DeleteFiles
    manifests: tuple[ManifestFile, ...]
    files: StoredFileIO


def snapshot_files(manifest_list: str, files: StoredFileIO, table: UUID) -> SnapshotFiles:
    """Return the files that the manifests of a list name; ``table``: the table's own id.

    Raises SourceError naming a manifest that is missing or damaged.
    """
    place = plain_path(manifest_list)
    try:
        manifests = _manifests_of(files.new_input(manifest_list))
    except StarskipError:
        raise
    except Exception as error:
        raise damaged(place, error, "manifest list") from None
    deletes = DeleteFiles()
    of_data = []
    for manifest in manifests:
        if not int(manifest.content):
            of_data.append(manifest)
            continue
        for entry in _live(manifest, files, _FILE | _BOUNDS, {}):
            deletes.add(entry)
    types: dict[int, pa.DataType] = {}
    pieces = [
        _piece(entries, deletes, types, table, plain_path(manifest.manifest_path))
        for manifest in of_data
        for entries in _batches(_live(manifest, files, _FILE, types))
    ]
    data = pa.concat_tables(pieces, promote_options="permissive") if pieces else pa.table({})
    return SnapshotFiles(data, deletes, tuple(of_data), files)


def file_bounds(found: SnapshotFiles, columns: Sequence[SnapshotColumn]) -> pa.Table:
    """Read the manifests of a snapshot again; return the bounds of ``columns``, a row a row of ``data``.

    Raises SourceError naming a manifest that is missing or damaged.
    """
    pieces = []
    for manifest in found.manifests:
        for entries in _batches(_live(manifest, found.files, _BOUNDS, {})):
            told = ([entry.file[name] for entry in entries] for name in ("lower", "upper", "nulls", "nans"))
            try:
                pieces.append(pa.table(bounds_by_column(columns, *told)))
            except _UNREADABLE as error:
                raise damaged(plain_path(manifest.manifest_path), error, "manifest") from None
    return pa.concat_tables(pieces) if pieces else pa.table({})


def _batches(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    while held := list(islice(entries, ENTRIES_AT_ONCE)):
        yield held


def _live(
    manifest: ManifestFile, files: StoredFileIO, wanted: Mapping[int, str], types: dict[int, pa.DataType]
) -> Iterator[Entry]:
    """Yield the entries that are not deleted, with the fields that they inherit from their manifest.

    ``wanted``: names of the fields that are read, by their ids. ``types`` is filled with the types of the
    partition's values, by field id.
    """
    place = plain_path(manifest.manifest_path)
    found = 0
    try:
        avro = _AvroFile(files.new_input(manifest.manifest_path))
        reader, partition = _projected(avro.schema, wanted)
        ids = [field.field_id for field in partition.fields]
        types.update((field.field_id, arrow_type(field.field_type)) for field in partition.fields)
        for entry in avro.rows(reader):
            status, sequence, file_sequence, record = (entry[at] for at in range(len(_ENTRY)))
            if status == _DELETED:
                continue
            inherits = manifest.sequence_number == 0 or status == _ADDED
            found += 1
            file = {name: record[at] for at, name in enumerate(wanted.values())}
            values = file.get("partition")
            split_by = () if values is None else tuple(values[at] for at in range(len(ids)))
            file["partition"] = dict(zip(ids, split_by, strict=values is not None))
            yield Entry(
                file,
                _inherited(sequence, manifest.sequence_number, inherits),
                _added(_inherited(file_sequence, manifest.sequence_number, inherits), manifest),
                manifest.partition_spec_id,
                split_by,
            )
    except StarskipError:
        raise
    except Exception as error:
        raise damaged(place, error, "manifest") from None
    told = manifest.added_files_count, manifest.existing_files_count
    listed = sum(each or 0 for each in told)
    # A file that is cut at the end of a block reads as a shorter one.
    if None not in told and found != listed:
        raise SourceError(
            f"{place}: this manifest of an Iceberg table is damaged: it names {found:,} files, and the "
            f"manifest list counts {listed:,}",
            source=place,
        )


def _inherited(own: int | None, of_manifest: int | None, inherits: bool) -> int:
    if own is not None:
        return int(own)
    if not inherits:
        raise ValueError("an entry that is not new has no sequence number")
    return int(of_manifest or 0)


def _added(file_sequence: int, manifest: ManifestFile) -> int:
    """Return the number of the commit that added a file.

    Format version 1 has no sequence numbers. There it is the id of the snapshot that wrote the manifest,
    which changes when manifests are merged.
    """
    return file_sequence or manifest.added_snapshot_id or 0


def _told(added: int, table: UUID) -> int:
    """Return a number below ``ADDED_BELOW`` for a commit of this table, as IcebergFiles.java does.

    The table's id is part of it: a table that is made anew in its place counts its commits from 1 again.
    """
    return (added + table.int) % ADDED_BELOW


def _projected(schema: Schema, wanted: Mapping[int, str]) -> tuple[StructReader, StructType]:
    """Return the reader of the fields of ``_ENTRY`` and ``wanted``, and the type of the partition's values.

    Fields that older manifests lack are null.
    """
    whole = resolve_reader(schema, schema)
    stored = [field.field_id for field in schema.fields]
    data_file = schema.find_type(_DATA_FILE)
    if not (isinstance(whole, StructReader) and isinstance(data_file, StructType)):
        raise ValueError("its entries have no data file")
    readers = dict(zip(stored, (reader for _, reader in whole.field_readers), strict=True))
    inner = readers[_DATA_FILE]
    if not isinstance(inner, StructReader):
        raise ValueError("its entries have no data file")
    ids = [field.field_id for field in data_file.fields]
    of_file = dict(zip(ids, (reader for _, reader in inner.field_readers), strict=True))
    readers[_DATA_FILE] = _chosen(of_file, wanted, data_file)
    partition = data_file.field(_PARTITION)
    if partition is None or not isinstance(partition.field_type, StructType):
        raise ValueError("its partition is no struct")
    return _chosen(readers, _ENTRY, schema.as_struct()), partition.field_type


def _chosen(readers: Mapping[int, Reader], wanted: Mapping[int, str], kind: StructType) -> StructReader:
    """Return the reader of a struct that puts its fields, by id, at their places in ``wanted``."""
    places = {field_id: place for place, field_id in enumerate(wanted)}
    found: list[tuple[int | None, Reader]] = [
        (places[field_id], reader) if field_id in places else (len(wanted), _passing(reader))
        for field_id, reader in readers.items()
    ]
    found += [(places[field_id], _NOTHING) for field_id in wanted if field_id not in readers]
    return StructReader(tuple(found), Record, kind)


def _passing(reader: Reader) -> Reader:
    """Return a reader that skips a field; pyiceberg's readers skip a map more slowly than they read it."""
    inner = reader.option if isinstance(reader, OptionReader) else reader
    if not isinstance(inner, MapReader) or not isinstance(inner.key, IntegerReader):
        return reader
    if not isinstance(inner.value, (IntegerReader, BinaryReader)):
        return reader
    passing = _PassedMap(isinstance(inner.value, IntegerReader))
    return OptionReader(passing) if isinstance(reader, OptionReader) else passing


class _PassedMap(Reader):
    """Skips a map of numbers to numbers, or to bytes, without making an object."""

    def __init__(self, of_numbers: bool) -> None:
        self._of_numbers = of_numbers

    def read(self, decoder: BinaryDecoder) -> None:
        """Skip the map's blocks; a block may begin with its length in bytes."""
        while (count := decoder.read_int()) != 0:
            if count < 0:
                decoder.skip(decoder.read_int())
            elif self._of_numbers:
                decoder.read_ints(2 * count)
            else:
                decoder.read_int_bytes_dict(count, {})

    skip = read


def _piece(
    entries: Sequence[Entry],
    deletes: DeleteFiles,
    types: dict[int, pa.DataType],
    table: UUID,
    place: str,
) -> pa.Table:
    """Return some data files as columns."""

    def each(name: str) -> list[Any]:
        return [entry.file[name] for entry in entries]

    try:
        locations = pa.array(each("path"), pa.string())
        found: dict[str, Any] = {
            "path": plain_paths(locations),
            "size_bytes": pa.array(each("size_bytes"), pa.int64()),
            # A file may be written again in its place, and added again.
            "etag": pa.array([f"iceberg:{_told(entry.added, table)}" for entry in entries], pa.string()),
            "rows": pa.array(each("rows"), pa.int64()),
            "deletes": pa.array([deletes.numbers_for(entry) for entry in entries], pa.list_(pa.int32())),
            "file_format": pa.array([str(value).lower() for value in each("file_format")], pa.string()),
            SPEC: pa.array([entry.spec_id for entry in entries], pa.int32()),
        }
        for field_id in entries[0].file["partition"]:
            values = [entry.file["partition"][field_id] for entry in entries]
            found[f"{PARTITION}{field_id}"] = _partition_values(values, types[field_id])
    except _UNREADABLE as error:
        raise damaged(place, error, "manifest") from None
    return pa.table(found)


def _partition_values(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return values as Arrow has them; times and dates come as numbers, a UUID as its object."""
    if pa.types.is_fixed_size_binary(kind):
        return pa.array([getattr(value, "bytes", value) for value in values], kind)
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)


class _AvroFile:
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


def _manifests_of(file: InputFile) -> list[ManifestFile]:
    """Return the manifests of a manifest list. Raises as _AvroFile does."""
    found = _AvroFile(file)
    types: Mapping[int, Callable[..., Any]] = {-1: ManifestFile, 508: PartitionFieldSummary}
    enums: Mapping[int, Callable[..., Enum]] = {517: ManifestContent}
    wanted = MANIFEST_LIST_FILE_SCHEMAS[DEFAULT_READ_VERSION]
    return list(found.rows(resolve_reader(found.schema, wanted, dict(types), dict(enums))))
