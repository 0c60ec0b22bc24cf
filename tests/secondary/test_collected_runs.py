"""Files that are indexed by one process share a run of each index; damaged ones are told at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from secondary_tables import CLOCK
from starskip.execution.local_engine import LocalEngine
from starskip.secondary import build_run, collect_entries, open_table, table_to_index
from starskip.secondary.lifecycle import (
    create_indexes,
    describe_indexes,
    optimize_indexes,
    refresh_indexes,
)

INDEXES = ["btree:k", "rtree:x,y", "ngram:t"]
FILES, ROWS = 5, 2_000
WHERE = ["k >= 20 AND k < 60", "x >= 0 AND x < 0.5 AND y >= 0 AND y < 2", "contains(t, 'row 17')"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of files each of which is a piece of its own."""
    monkeypatch.setattr(table_to_index, "_PIECE_BYTES", 1)
    random = np.random.default_rng(1)
    for number in range(FILES):
        rows = {
            "k": random.integers(0, 200, ROWS),
            "x": random.normal(0, 1, ROWS),
            "y": random.normal(0, 1, ROWS),
            "t": [f"row {each}" for each in random.integers(0, 999, ROWS).tolist()],
        }
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table(rows), path, compression="none")
        # Files that are as young as their listing are not trusted.
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return tmp_path


def runs(folder: Path) -> dict[str, int]:
    """The number of runs of each index that was asked for."""
    told = describe_indexes(str(folder))["indexes"]
    return {each["index"]: each["runs"] for each in told if each["index"] in INDEXES}


def test_the_pieces_of_a_process_share_a_run(folder: Path) -> None:
    done: list[int] = []

    def shown(items: Sequence[Any]) -> Iterable[Any]:
        for number, item in enumerate(items):
            yield item
            done.append(number)

    create_indexes(str(folder), INDEXES, clock=CLOCK, engine=LocalEngine(shown))
    assert runs(folder) == dict.fromkeys(INDEXES, 1)
    # Progress was told file by file all the same.
    assert done[-FILES:] == list(range(FILES))


def test_the_longest_run_is_written_once_many_bytes_are_held(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect_entries, "RUN_BYTES", 600_000)
    create_indexes(str(folder), INDEXES, clock=CLOCK)
    found = runs(folder)
    assert found["ngram:t"] > found["btree:k"] == 1
    table = open_table(str(folder))
    for where, index in zip(WHERE, INDEXES, strict=True):
        truth = table.answer(where, is_count=True, path=["scan"]).count
        assert table.answer(where, is_count=True, path=[index]).count == truth > 0


def test_keys_that_have_few_entries_in_each_file_and_many_in_all_are_lists(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_run, "LONG_LIST_ENTRIES", 30)
    create_indexes(str(folder), ["btree:k"], clock=CLOCK)
    assert key_rows(folder) == 200
    # Of one file a key has some 10 entries.
    os.utime(folder / "0.parquet", (1_700_000_001, 1_700_000_001))
    refresh_indexes(str(folder), clock=CLOCK)
    assert key_rows(folder) == 200 + ROWS
    optimize_indexes(str(folder))
    assert key_rows(folder) == 200


def key_rows(folder: Path) -> int:
    """The rows of all runs of an index, once its answers are those of a scan."""
    table = open_table(str(folder))
    for where in ("k = 7", WHERE[0]):
        truth = table.answer(where, is_count=True, path=["scan"]).count
        assert table.answer(where, is_count=True, path=["btree:k"]).count == truth > 0
    found = [run for each in table.opened.now().segments for run in each.runs["btree:k"]]
    return sum(run.stored_rows(block) for run in found for block in range(run.row_groups))


def test_all_damaged_files_are_left_out_in_one_pass(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 3):
        path = folder / f"{number}.parquet"
        content = bytearray(path.read_bytes())
        # The pages; the footer can be read.
        content[4:2_000] = b"\xff" * 1_996
        path.write_bytes(bytes(content))
    passes: list[int] = []
    sound = table_to_index.TableToIndex.collect

    def counted(self: Any, order: Any, aside: Any) -> Any:
        passes.append(1)
        return sound(self, order, aside)

    monkeypatch.setattr(table_to_index.TableToIndex, "collect", counted)
    created = create_indexes(str(folder), ["btree:k"], clock=CLOCK)
    assert sorted(Path(each).name for each in created.damaged_files) == ["1.parquet", "3.parquet"]
    assert len(passes) == 2
    assert runs(folder) == {"btree:k": 1}
