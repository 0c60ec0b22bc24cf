"""Bring what a stage's tasks tell to the driver through files of the store.

A result of a task goes through the driver's memory, and Spark ends a job whose results are too large. A task
with much to tell therefore writes it aside, and its result names that file alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from starskip.execution.engine import Engine, Rows
from starskip.storage.commit_messages import COMMIT_MESSAGES, commit_messages
from starskip.storage.manifest import DataFile
from starskip.storage.snapshot import staged_rows
from starskip.storage.staged_write import StagedWrite

_RESULTS = pa.schema(
    [
        ("name", pa.string()),
        ("size_bytes", pa.int64()),
        ("rows", pa.int64()),
        ("footer", pa.string()),
        ("few", pa.binary()),
    ]
)
"""One row a task: the file that holds its rows, or its ``few`` rows as an Arrow stream."""
_FOLDER = "results"
"""Stands for the table in the names of these files."""
_MOST_RESULT_BYTES = 4 * 1024
"""Rows of a task that are its result themselves: 16 MiB hold those of 4,000 tasks."""
_MOST_TASKS = 1_000_000
_SMALL_BYTES = 4 * 1024 * 1024
_MOST_SMALL_FILES = 16
"""Small files that a table keeps: merging fewer is not worth a job."""
_MERGED_BYTES = 64 * 1024 * 1024

_Item = tuple[StagedWrite, str, tuple[DataFile, ...]]


def gather_messages(engine: Engine, rows: Rows, staged: Sequence[StagedWrite], what: str) -> pa.Table:
    """Return the COMMIT_MESSAGES that ``rows`` are; ``what`` names them in errors.

    ``staged``: the folders that their files lie in. If a table has many small files in one of them, the
    executors merge these files, and the messages name the merged files in their place.
    """
    messages = gather_aside(rows, COMMIT_MESSAGES, staged[0], f"messages of {what}")
    small = [item for each in staged for item in _small_files(messages, each)]
    if not small:
        return messages
    rows = engine.rows_of_items(small, _merge, COMMIT_MESSAGES)
    merged = gather_aside(rows, COMMIT_MESSAGES, staged[0], f"messages of {what}")
    gone = pa.array([file.name for _, _, files in small for file in files])
    left = messages.filter(pc.invert(pc.is_in(messages["name"], value_set=gone)))
    return pa.concat_tables([left, merged])


def gather_aside(rows: Rows, schema: pa.Schema, aside: StagedWrite, what: str) -> pa.Table:
    """Return all rows, which have ``schema``; a task's rows that are not few lie in a file in ``aside``."""
    told = rows.map(partial(_in_files, replace(aside, schema=schema)), _RESULTS).gather(what, _MOST_TASKS)
    files = _files(told.filter(pc.is_valid(told["name"])))
    read = staged_rows(replace(aside, schema=schema), _FOLDER, files).batches() if files else ()
    few = [batch for each in told["few"].drop_null().to_pylist() for batch in pa.ipc.open_stream(each)]
    return pa.Table.from_batches([*few, *read], schema)


def _in_files(aside: StagedWrite, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task themselves if they are few, else the file that holds them."""
    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    if sum(batch.nbytes for batch in held) > _MOST_RESULT_BYTES:
        for file in aside.write(_FOLDER, held):
            row = {name: getattr(file, name) for name in _RESULTS.names[:4]}
            yield pa.RecordBatch.from_pylist([row], schema=_RESULTS)
        return
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, held[0].schema) as writer:
        writer.write_table(pa.Table.from_batches(held).combine_chunks())
    yield pa.RecordBatch.from_pylist([{"few": sink.getvalue().to_pybytes()}], schema=_RESULTS)


def _small_files(messages: pa.Table, staged: StagedWrite) -> Iterator[_Item]:
    """Yield the files to be merged, about _MERGED_BYTES of them at a time."""
    is_small = pc.and_(
        pc.equal(messages["artefact"], staged.artefact), pc.less(messages["size_bytes"], _SMALL_BYTES)
    )
    small = messages.filter(pc.and_(is_small, pc.is_valid(messages["rows"])))
    counts = small.group_by("table").aggregate([([], "count_all")])
    many = counts.filter(pc.greater(counts["count_all"], _MOST_SMALL_FILES))
    for table in many["table"].to_pylist():
        held: list[DataFile] = []
        held_bytes = 0
        for file in _files(small.filter(pc.equal(small["table"], table))):
            held.append(file)
            held_bytes += file.size_bytes
            if held_bytes >= _MERGED_BYTES:
                yield staged, table, tuple(held)
                held, held_bytes = [], 0
        if len(held) > 1:
            yield staged, table, tuple(held)


def _files(messages: pa.Table) -> list[DataFile]:
    columns = (messages[name].to_pylist() for name in ("name", "size_bytes", "rows", "footer"))
    return [DataFile(*each) for each in zip(*columns, strict=True)]


def _merge(items: Iterable[_Item]) -> Iterator[pa.RecordBatch]:
    for staged, table, files in items:
        rows = staged_rows(staged, table, files).batches()
        yield commit_messages(staged.artefact, table, staged.write(table, rows))
