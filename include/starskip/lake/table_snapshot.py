"""A snapshot of a lake table: version, schema, and files with what is known without opening them.

Folders of plain files, Delta and Iceberg tables are listed into this one form. The files are Arrow columns,
for there may be a million.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import xxhash

from starskip.errors import SourceError
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
        ("deletes", pa.list_(pa.string())),
    ]
)
"""``path`` to ``etag``: the file's identity; a table format gives its own version of the file as the ETag.

``partition``: texts by column, null for a null. ``rows``: null where only the file tells. ``deletes``: files
that name rows of this one that count no longer; null where all rows count.
"""


@dataclass(frozen=True)
class TableSnapshot:
    """The files of one version of the table at ``path``, sorted by path.

    ``table_format``: "files", "delta" or "iceberg"; ``file_format``: that of each file. ``version``: the
    table format's own number. ``schema``: None where only the files tell it. ``bounds``: one row a file,
    columns ``min.NAME``, ``max.NAME`` and ``null_count.NAME`` as the manifests have them, None without.
    """

    path: str
    table_format: str
    file_format: str
    files: pa.Table
    version: int | None = None
    schema: pa.Schema | None = None
    partition_columns: tuple[str, ...] = ()
    bounds: pa.Table | None = field(default=None, repr=False)

    @cached_property
    def snapshot_id(self) -> str:
        """The table format's version, else a digest of all files' identities."""
        if self.version is not None:
            return str(self.version)
        digest = xxhash.xxh3_128()
        for identity in self.identities():
            digest.update(identity.to_text().encode())
        return str(digest.hexdigest())

    @property
    def is_versioned(self) -> bool:
        """Return whether a log names the files, which then are never written again."""
        return self.version is not None

    def identities(self) -> Iterator[FileIdentity]:
        """Yield the identity of each file."""
        names = ("path", "size_bytes", "modified_ns", "etag", "changed_ns")
        for row in zip(*(self.files.column(name).to_pylist() for name in names), strict=True):
            yield FileIdentity(*row)

    def require_no_deletes(self) -> None:
        """Raise SourceError naming a file of which some rows count no longer."""
        deletes = self.files.column("deletes")
        if deletes.null_count < len(deletes):
            named = self.files.filter(deletes.is_valid()).column("path")[0].as_py()
            raise SourceError(
                f"{named}: has deleted rows in it, which are not read yet; compact the table, so that its "
                "files hold the current rows alone",
                source=self.path,
            )
