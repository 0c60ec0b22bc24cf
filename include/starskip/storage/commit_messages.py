"""Write rows on executors and tell the driver which files were written.

A commit message names one file and its table. Only messages of tasks that succeeded come back, so a task that
was killed or run twice leaves files that nobody names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.storage.manifest import DataFile, Part
from starskip.storage.staged_write import StagedWrite

COMMIT_MESSAGES = pa.schema(
    [
        ("artefact", pa.string()),
        ("table", pa.string()),
        ("name", pa.string()),
        ("size_bytes", pa.int64()),
        ("rows", pa.int64()),
        ("footer", pa.string()),
        ("note", pa.string()),
    ]
)
"""One row a file; or, with ``name`` null, a note in JSON that a task leaves for the driver."""

_MOST_HELD_BYTES = 64 * 1024 * 1024


class TableWriter:
    """Stages batches of several tables, and holds a bounded number of bytes.

    If they are too many, the tables that hold most are written. The rows of the others wait for more, so that
    a task writes few small files.
    """

    def __init__(self, staged: StagedWrite) -> None:
        """Keep the folder; nothing is written yet."""
        self._staged = staged
        self._held: dict[str, list[pa.RecordBatch]] = {}
        self._bytes: dict[str, int] = {}

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take rows that have a column ``table``; yield messages of the files written to make room."""
        for table, rows in _by_table(batch):
            self._held.setdefault(table, []).append(rows)
            self._bytes[table] = self._bytes.get(table, 0) + rows.nbytes
        if sum(self._bytes.values()) > _MOST_HELD_BYTES:
            largest = sorted(self._bytes, key=self._bytes.__getitem__, reverse=True)
            while sum(self._bytes.values()) > _MOST_HELD_BYTES // 2:
                yield self._write(largest.pop(0))

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Write the held rows and yield their commit messages."""
        for table in list(self._held):
            yield self._write(table)

    def _write(self, table: str) -> pa.RecordBatch:
        del self._bytes[table]
        files = self._staged.write(table, self._held.pop(table))
        return commit_messages(self._staged.artefact, table, files)


def _by_table(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each table as copies, so that rows that wait do not keep the whole batch."""
    tables = batch.column("table").dictionary_encode()
    if not batch.num_rows:
        return
    if len(tables.dictionary) == 1:
        yield tables.dictionary[0].as_py(), batch
        return
    codes = tables.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(tables.dictionary)), side="right")
    for table, rows in zip(tables.dictionary.to_pylist(), np.split(order, ends[:-1]), strict=True):
        yield table, batch.take(pa.array(rows))


def write_tables(staged: StagedWrite, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Stage rows that have a column ``table``, and yield the commit messages."""
    writer = TableWriter(staged)
    for batch in batches:
        if batch.num_rows:
            yield from writer.add(batch)
    yield from writer.finish()


def commit_messages(artefact: str, table: str, files: Iterable[DataFile]) -> pa.RecordBatch:
    """Return one row a file."""
    rows = [
        {
            "artefact": artefact,
            "table": table,
            "name": file.name,
            "size_bytes": file.size_bytes,
            "rows": file.rows,
            "footer": file.footer,
        }
        for file in files
    ]
    return pa.RecordBatch.from_pylist(rows, schema=COMMIT_MESSAGES)


def note_message(artefact: str, table: str, note: str) -> pa.RecordBatch:
    """Return a row that carries ``note`` to the driver."""
    return pa.RecordBatch.from_pylist(
        [{"artefact": artefact, "table": table, "note": note}], schema=COMMIT_MESSAGES
    )


def parts_of(messages: pa.Table, artefact: str) -> dict[str, Part]:
    """Return the parts of ``artefact``, by table, that the commit messages name."""
    named = messages.filter(pc.and_(pc.equal(messages["artefact"], artefact), pc.is_valid(messages["name"])))
    files: dict[str, list[DataFile]] = {}
    columns = (named.sort_by("name")[name].to_pylist() for name in COMMIT_MESSAGES.names[1:6])
    for table, *file in zip(*columns, strict=True):
        files.setdefault(table, []).append(DataFile(*file))
    return {table: Part(tuple(of_table)) for table, of_table in files.items()}


def notes_of(messages: pa.Table, artefact: str) -> list[str]:
    """Return the notes that tasks left for ``artefact``."""
    noted = messages.filter(pc.equal(messages["artefact"], artefact))
    notes: list[str] = noted["note"].drop_null().to_pylist()
    return notes
