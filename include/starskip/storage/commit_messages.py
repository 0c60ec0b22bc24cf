"""Write rows on executors and collect commit messages on the driver.

A commit message names one file and its table. Only messages of tasks that succeeded come back, so a task that
was killed or run twice leaves files that nobody names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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

MAX_COMMIT_MESSAGES = 200_000
_FLUSH_BYTES = 32 * 1024 * 1024


class TableWriter:
    """Stages batches of several tables, a bounded number of bytes at a time."""

    def __init__(self, staged: StagedWrite) -> None:
        """Keep the folder; nothing is written yet."""
        self._staged = staged
        self._held: dict[str, list[pa.RecordBatch]] = {}
        self._held_bytes = 0

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take rows that have a column ``table``; yield messages of the files written to make room."""
        for table in pc.unique(batch.column("table")).to_pylist():
            rows = batch.filter(pc.equal(batch.column("table"), table))
            self._held.setdefault(table, []).append(rows)
        self._held_bytes += batch.nbytes
        if self._held_bytes > _FLUSH_BYTES:
            yield from self.finish()

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Write the held rows and yield their commit messages."""
        for table, batches in self._held.items():
            yield commit_messages(self._staged.artefact, table, self._staged.write(table, batches))
        self._held, self._held_bytes = {}, 0


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


def parts_of(gathered: pa.Table, artefact: str) -> dict[str, Part]:
    """Return the parts of ``artefact``, by table, that the commit messages name."""
    files: dict[str, list[DataFile]] = {}
    for row in gathered.to_pylist():
        if row["artefact"] == artefact and row["name"] is not None:
            file = DataFile(row["name"], row["size_bytes"], row["rows"], row["footer"])
            files.setdefault(row["table"], []).append(file)
    return {table: Part(tuple(sorted(of, key=lambda f: f.name)), {}) for table, of in files.items()}


def notes_of(gathered: pa.Table, artefact: str) -> list[str]:
    """Return the notes that tasks left for ``artefact``."""
    return [
        row["note"] for row in gathered.to_pylist() if row["artefact"] == artefact and row["note"] is not None
    ]
