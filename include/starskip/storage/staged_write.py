"""Stage data files in a fresh folder that no manifest names yet."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa

from starskip.errors import StorageError
from starskip.storage.checked_parquet import checked_parquet, fitted, footer_digest
from starskip.storage.manifest import DataFile
from starskip.storage.storage import PutVerdict, Storage

BYTES_PER_FILE = 64 * 1024 * 1024
"""Arrow bytes that are encoded into one file, which bounds the memory of a writer."""
Encode = Callable[[pa.Table, str], pa.Buffer]
"""Makes the bytes of a file from its rows and its name in the store."""
_ROWS_PER_BATCH = 65_536
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,90}")
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]")
_READABLE_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class StagedWrite:
    """A folder of the store for one run of a writer, whose tasks may each write files into it.

    It can be sent to executors. No file in it belongs to the artefact until it is published; a vacuum removes
    files that never are. A task that is run twice leaves two files, and only the reported one is published.
    """

    storage: Storage
    artefact: str
    folder: str
    schema: pa.Schema | None

    def write(
        self,
        table: str,
        rows: pa.Table | Iterable[pa.RecordBatch],
        *,
        encode: Encode = checked_parquet,
    ) -> tuple[DataFile, ...]:
        """Write the rows of one table as Parquet and return the files, none if there are no rows.

        ``rows`` is a table or a stream of batches; about BYTES_PER_FILE are held at a time. ``encode`` makes
        a file's bytes from rows and the file's name. Raises ``StorageError`` naming artefact and column if
        they do not fit the artefact's schema.
        """
        if isinstance(rows, pa.Table):
            self._fitted(rows.slice(0, 0), table)  # a table without rows has columns all the same
            rows = rows.to_batches(max_chunksize=_ROWS_PER_BATCH)
        return tuple(self._write_parquet(table, chunk, encode) for chunk in _chunks(rows, BYTES_PER_FILE))

    def write_file(self, table: str, file_name: str, content: bytes) -> DataFile:
        """Write one file that is not a table, such as a report page, and return it.

        ``file_name`` is ours, never text from a log; ``DataFile.file_name`` gives it back.
        """
        return self.write_named(self.new_name(table, file_name), content)

    def new_name(self, table: str, file_name: str) -> str:
        """Return a name in the store for a file that ``write_named`` writes next, see ``write_file``."""
        return f"{self._table_folder(table)}/{uuid4().hex}-{file_name}"

    def write_named(self, name: str, content: bytes) -> DataFile:
        """Write one file under a name from ``new_name``, and return it."""
        return self._put(name, content, None)

    def _write_parquet(self, table: str, rows: pa.Table, encode: Encode) -> DataFile:
        name, fitting = f"{self._table_folder(table)}/{uuid4().hex}.parquet", self._fitted(rows, table)
        return self._put(name, encode(fitting, name).to_pybytes(), rows.num_rows)

    def _fitted(self, rows: pa.Table, table: str) -> pa.Table:
        return fitted(rows, self._required_schema(), artefact=self.artefact, location=f"table {table}")

    def _required_schema(self) -> pa.Schema:
        if self.schema is None:
            raise StorageError(
                f"{self.artefact}: has no schema, so it holds plain files and no rows", location=self.artefact
            )
        return self.schema

    def _table_folder(self, table: str) -> str:
        return f"{self.folder}/{file_safe(table)}"

    def _put(self, name: str, content: bytes, rows: int | None) -> DataFile:
        # A lost answer is not read again here, since nothing depends on it: the run fails and the next
        # one writes aside anew, under other names.
        verdict = self.storage.put_if_absent(name, content)
        # A client that repeats a request whose answer was lost meets the object that it has itself stored.
        if verdict is PutVerdict.ALREADY_EXISTS and self.storage.read(name) != content:
            raise StorageError(f"{name}: a file that must be new is already there", location=name)
        return DataFile(name, len(content), rows, footer_digest(content))


def file_safe(text: str) -> str:
    """Return a file name of at most 93 characters for any text; different texts have different names.

    Table names come from logs, where anyone can write them: the readable front is for people,
    the hash keeps names apart, on file systems that fold case too.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"t-{_UNSAFE.sub('-', text[: _READABLE_CHARACTERS - 2])}-{digest}"


def is_plain_name(text: str) -> bool:
    """Return whether a text can stand as it is as the name of a file and in an address."""
    return _PLAIN.fullmatch(text) is not None


def require_written(storage: Storage, folder: str, files: Iterable[DataFile], again: str) -> None:
    """Raise StorageError if a file is not below ``folder`` as it was written.

    ``again``: what to run again, for the message.

    An executor on another machine may have written to a disk of its own, and a step that ran for longer than
    the vacuum's grace may have lost its files: better to know it before readers do.
    """
    known = {file.name: file.size_bytes for file in files}
    stored = {found.name: found.size_bytes for found in storage.objects_below(folder)}
    for name, size_bytes in known.items():
        if stored.get(name) != size_bytes:
            raise StorageError(
                f"{name}: is not in the store as it was written ({size_bytes} bytes); let all executors "
                f"write to the same store and run {again} again",
                location=name,
            )


def _chunks(batches: Iterable[pa.RecordBatch], bytes_per_chunk: int) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    held_bytes = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        held.append(batch)
        held_bytes += batch.nbytes
        if held_bytes >= bytes_per_chunk:
            yield pa.Table.from_batches(held)
            held, held_bytes = [], 0
    if held:
        yield pa.Table.from_batches(held)
