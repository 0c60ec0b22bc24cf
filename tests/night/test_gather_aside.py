"""Results of tasks come to the driver through files if they are large; small files of a table are merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.gather_aside import gather_messages
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.commit_messages import (
    COMMIT_MESSAGES,
    TableWriter,
    note_message,
    notes_of,
    parts_of,
    write_tables,
)
from starskip.storage.snapshot import staged_rows
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage_for import storage_for

THINGS = pa.schema([("table", pa.string()), ("number", pa.int64())])


@dataclass
class Tasks:
    """Rows of an engine with a task for each item; ``results``: bytes of each task's result."""

    tasks: list[list[pa.RecordBatch]]
    results: list[int]

    def map(self, function: Callable[..., Any], schema: pa.Schema) -> Tasks:
        del schema
        return Tasks([list(function(iter(task))) for task in self.tasks], self.results)

    def gather(self, what: str, max_rows: int) -> pa.Table:
        del what, max_rows
        self.results += [sum(batch.nbytes for batch in task) for task in self.tasks]
        batches = [batch for task in self.tasks for batch in task]
        return pa.Table.from_batches(batches) if batches else pa.table({})


class TaskAnItem:
    def __init__(self) -> None:
        self.results: list[int] = []

    def rows_of_items(self, items: Sequence[Any], function: Callable[..., Any], schema: pa.Schema) -> Tasks:
        del schema
        return Tasks([list(function(iter([item]))) for item in items], self.results)


def staged(root: Path) -> StagedWrite:
    store = ArtefactStore(storage_for(str(root)), {"things": THINGS})
    return store.staged_write("things", "2026-11-20")


def things(table: str, numbers: Iterable[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"table": table, "number": n} for n in numbers], THINGS)


def written(root: Path, tasks: int, tables: int, notes: int = 1) -> tuple[pa.Table, TaskAnItem, StagedWrite]:
    aside, engine = staged(root), TaskAnItem()

    def write(numbers: Iterator[int]) -> Iterator[pa.RecordBatch]:
        for number in numbers:
            yield from write_tables(aside, (things(f"t{table}", [number]) for table in range(tables)))
            for note in range(notes):
                yield note_message("things", "-", f"{number} {note}")

    rows = engine.rows_of_items(range(tasks), write, COMMIT_MESSAGES)
    return gather_messages(engine, rows, [aside], "things"), engine, aside


@settings(max_examples=15, deadline=None)
@given(tasks=st.integers(1, 40), tables=st.integers(1, 30), notes=st.integers(0, 60))
def test_nothing_is_lost_and_no_task_tells_much(tmp_path_factory, tasks, tables, notes) -> None:
    messages, engine, aside = written(tmp_path_factory.mktemp("store"), tasks, tables, notes)
    assert sorted(notes_of(messages, "things")) == sorted(
        f"{task} {note}" for task in range(tasks) for note in range(notes)
    )
    parts = parts_of(messages, "things")
    assert set(parts) == {f"t{table}" for table in range(tables)}
    for table, part in parts.items():
        rows = staged_rows(aside, table, part.files).read_table()
        assert sorted(rows["number"].to_pylist()) == list(range(tasks))
        assert set(rows["table"].to_pylist()) == {table}
        assert len(part.files) <= 16
    assert max(engine.results) <= 6_000


def test_few_small_files_are_left_as_they_are(tmp_path: Path) -> None:
    messages, _, _ = written(tmp_path, tasks=16, tables=2)
    assert {len(part.files) for part in parts_of(messages, "things").values()} == {16}


def test_large_results_of_tasks_come_through_files(tmp_path: Path) -> None:
    engine = TaskAnItem()
    tasks = EngineTasks(engine, staged(tmp_path))
    assert tasks.run_tasks("texts", [1, 20_000, 3], lambda length: "x" * length) == ["x", "x" * 20_000, "xxx"]
    assert max(engine.results) < 5_000


@pytest.mark.parametrize("most", [1, 1_000_000])
def test_a_writer_makes_room_by_its_largest_tables(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("starskip.storage.commit_messages._MOST_HELD_BYTES", most)
    writer = TableWriter(staged(tmp_path))
    found = [each for n in range(9) for each in writer.add(things("large", range(5 * n, 5 * n + 5)))]
    found += [each for n in range(9) for each in writer.add(things("small", [n]))]
    found += list(writer.finish())
    parts = parts_of(pa.Table.from_batches(found), "things")
    assert {table: sum(f.rows for f in part.files) for table, part in parts.items()} == {
        "large": 45,
        "small": 9,
    }
    assert len(parts["large"].files) == (9 if most == 1 else 1)
