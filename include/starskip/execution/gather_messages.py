"""Bring the commit messages of a stage's tasks to the driver through files of the store.

A result of a task goes through the driver's memory, and Spark ends a job whose results are too large. A task
with many messages therefore writes them aside, and its result names that file alone.
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

_MESSAGES = "messages"
"""Stands for the artefact and the table in the row that names a file of messages."""
_MOST_RESULT_BYTES = 4 * 1024
"""Messages of a task that are its result themselves: 16 MiB hold those of 4,000 tasks."""
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
    messages = _gathered(rows, staged[0], what)
    small = [item for each in staged for item in _small_files(messages, each)]
    if not small:
        return messages
    merged = _gathered(engine.rows_of_items(small, _merge, COMMIT_MESSAGES), staged[0], what)
    gone = pa.array([file.name for _, _, files in small for file in files])
    left = messages.filter(pc.invert(pc.is_in(messages["name"], value_set=gone)))
    return pa.concat_tables([left, merged])


def _gathered(rows: Rows, staged: StagedWrite, what: str) -> pa.Table:
    aside = replace(staged, schema=COMMIT_MESSAGES)
    found = rows.map(partial(_in_files, aside), COMMIT_MESSAGES).gather(f"messages of {what}", _MOST_TASKS)
    is_file = pc.equal(found["artefact"], _MESSAGES)
    files = _files(found.filter(is_file))
    read = staged_rows(aside, _MESSAGES, files).read_table() if files else COMMIT_MESSAGES.empty_table()
    return pa.concat_tables([found.filter(pc.invert(is_file)), read])


def _in_files(aside: StagedWrite, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the messages of a task if they are few, else the message of a file that holds them."""
    messages = list(batches)
    if sum(batch.nbytes for batch in messages) <= _MOST_RESULT_BYTES:
        yield from messages
    else:
        yield commit_messages(_MESSAGES, _MESSAGES, aside.write(_MESSAGES, messages))


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
        for file in _files(small.filter(pc.equal(small["table"], table))):
            held.append(file)
            if sum(each.size_bytes for each in held) >= _MERGED_BYTES:
                yield staged, table, tuple(held)
                held = []
        if held:
            yield staged, table, tuple(held)


def _files(messages: pa.Table) -> list[DataFile]:
    columns = (messages[name].to_pylist() for name in ("name", "size_bytes", "rows", "footer"))
    return [DataFile(*each) for each in zip(*columns, strict=True)]


def _merge(items: Iterable[_Item]) -> Iterator[pa.RecordBatch]:
    for staged, table, files in items:
        rows = staged_rows(staged, table, files).batches()
        yield commit_messages(staged.artefact, table, staged.write(table, rows))
