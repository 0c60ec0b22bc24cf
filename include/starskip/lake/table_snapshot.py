"""A snapshot of a lake table: version, schema, and its files as far as known without opening them.

Folders of plain files, Delta and Iceberg tables are listed into this one form. The files are Arrow columns,
for there may be a million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from starskip.errors import NotPlainFiles, SourceError
from starskip.lake.snapshot_columns import PartitionField, SnapshotColumn
from starskip.storage.files.file_identity import FileIdentity

FILES = pa.schema(
    [
        ("path", pa.string()),
        ("size_bytes", pa.int64()),
        ("modified_ns", pa.int64()),
        ("changed_ns", pa.int64()),
        ("etag", pa.string()),
        ("partition", pa.map_(pa.string(), pa.string())),
        ("rows", pa.int64()),
        ("deletes", pa.list_(pa.int32())),
        ("file_format", pa.string()),
    ]
)
"""``path`` to ``etag``: the file's identity; a table format gives its own version of the file as the ETag.

``partition``: texts by column, null for a null; columns that all files of a version are split by. ``rows``:
the file's rows, deleted rows included; null where only the file has the number. ``deletes``: rows of
``DELETES`` that name deleted rows of this file; null where no row is deleted.
"""

DELETES = pa.schema(
    [
        ("kind", pa.string()),
        ("path", pa.string()),
        ("offset", pa.int64()),
        ("size_bytes", pa.int64()),
        ("rows", pa.int64()),
        ("equality_ids", pa.list_(pa.int32())),
        ("file_format", pa.string()),
    ]
)
"""``kind``: "position", "equality" or "vector". ``path``: null where the log has the vector in itself.

``offset``, ``size_bytes``: where a vector lies in its file. ``rows``: rows of the delete file, or deleted
rows of the data file. ``equality_ids``: field ids of the columns that rows are compared by.
"""

NO_SNAPSHOT = -1
"""The version of an Iceberg table without a snapshot."""


def numbers_of_log(etags: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the numbers in ETags of a table format, Delta's times in ms and Iceberg's commits; else null."""
    return pc.struct_field(pc.extract_regex(etags, "^(?:delta|iceberg):(?P<number>[0-9]+)$"), "number").cast(
        pa.int64()
    )


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class TableSnapshot:
    """The files of one version of the table at ``path``, sorted by path.

    ``table_format``: "files", "delta" or "iceberg"; ``file_format``: the files' format, "mixed" for several.
    ``version``: the table format's own number, ``NO_SNAPSHOT`` for an Iceberg table without a snapshot.
    ``location``: the table's folder; ``place``: the name by which Spark's connector opens it. ``schema``:
    None where only the files have it; ``schema_id``: Iceberg's number of it. ``columns``: the same columns
    and fields of structs with their ids, or names, in files. ``partition_fields``: the fields by which files
    are split. ``decode_bounds``, ``decode_partitions``: compute ``bounds`` and ``partitions``, once, when
    these are asked for.
    """

    path: str
    table_format: str
    file_format: str
    files: pa.Table
    version: int | None = None
    schema: pa.Schema | None = None
    partition_columns: tuple[str, ...] = ()
    columns: tuple[SnapshotColumn, ...] = field(default=(), repr=False)
    partition_fields: tuple[PartitionField, ...] = ()
    delete_files: pa.Table = field(default_factory=DELETES.empty_table, repr=False)
    location: str = ""
    place: str = ""
    schema_id: int | None = None
    decode_bounds: Callable[[], pa.Table | None] = field(default=_nothing, repr=False, compare=False)
    decode_partitions: Callable[[], pa.Table | None] = field(default=_nothing, repr=False, compare=False)

    @cached_property
    def bounds(self) -> pa.Table | None:
        """Columns ``min.NAME``, ``max.NAME``, ``null_count.NAME``, a row a file; None where no log has any.

        Least and greatest in Spark's order, never values (docs/lake-tables.md); ``max_number.NAME`` is the
        greatest value of a floating-point column except NaN. Iceberg's manifests are read for them; raises
        SourceError for a manifest that is gone or damaged since the table was listed.
        """
        return self.decode_bounds()

    @cached_property
    def partitions(self) -> pa.Table | None:
        """Values of ``partition_fields`` by their names, a row a file; None where files are not split."""
        return self.decode_partitions()

    @cached_property
    def snapshot_id(self) -> str:
        """The table format's version and Iceberg's schema number; else a digest of the files' identities."""
        if self.version is not None:
            return str(self.version) if self.schema_id is None else f"{self.version}.{self.schema_id}"
        digest = xxhash.xxh3_128()
        for identity in self.identities():
            digest.update(identity.to_text().encode())
        return str(digest.hexdigest())

    @property
    def is_versioned(self) -> bool:
        """Return whether a log names the files, and shows that a file was written again in its place."""
        return self.version is not None

    @property
    def has_deletes(self) -> bool:
        """Return whether some rows of the files count no longer."""
        return bool(self.files.column("deletes").null_count < self.files.num_rows)

    def with_files(self, places: pa.Int64Array) -> TableSnapshot:
        """Return the snapshot with only its files at ``places``."""
        return replace(
            self,
            files=self.files.take(places),
            decode_bounds=lambda: None if self.bounds is None else self.bounds.take(places),
            decode_partitions=lambda: None if self.partitions is None else self.partitions.take(places),
        )

    def identities(self) -> Iterator[FileIdentity]:
        """Yield the identity of each file and its rows: deletes change the identity."""
        names = ("path", "size_bytes", "modified_ns", "etag", "changed_ns")
        columns = [self.files.column(name).to_pylist() for name in names]
        if self.has_deletes:
            lists = self.files.column("deletes").to_pylist()
            columns[3] = [f"{etag}{self._told(each)}" for etag, each in zip(columns[3], lists, strict=True)]
        for row in zip(*columns, strict=True):
            yield FileIdentity(*row)

    def _told(self, deletes: list[int] | None) -> str:
        """Return the deletes of a file as a text."""
        if deletes is None:
            return ""
        rows = self.delete_files.take(pa.array(deletes, pa.int32())).to_pylist()
        return "".join(f" {row['kind']} {row['path']} {row['offset']} {row['rows']}" for row in rows)

    def require_rows_of_spark(self) -> None:
        """Raise SourceError for a table whose rows only Spark can read, and say what to do.

        Such a table has a column that Spark reads by an earlier type, or files with deleted rows
        (NotPlainFiles).
        """
        for column in self.columns:
            if column.unlike_spark:
                raise SourceError(
                    f"{self.path}: is not read as Spark reads it: {column.unlike_spark}: give the column its "
                    "type anew",
                    source=self.path,
                )
        if self.has_deletes:
            deletes = self.files.column("deletes")
            named = self.files.filter(deletes.is_valid()).column("path")[0].as_py()
            kinds = " and ".join(_KINDS[each] for each in sorted(set(self.delete_files["kind"].to_pylist())))
            raise NotPlainFiles(
                f"{self.path}: rows of its file {named} were deleted by {kinds or 'another file'}, which "
                "Spark alone applies: ask Spark, or rewrite the files without them "
                f"({_COMPACT[self.table_format]})",
                source=self.path,
            )


_KINDS = {
    "equality": "an equality delete file",
    "position": "a position delete file",
    "vector": "a deletion vector",
}
_COMPACT = {
    "delta": "REORG TABLE … APPLY (PURGE)",
    "iceberg": "CALL … rewrite_data_files(…, options => map('delete-file-threshold', '1'))",
    "files": "write the rows that count to a folder of their own",
}
