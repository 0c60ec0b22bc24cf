"""The check of entries: nothing is wrong with a sound index of any shape, and each planted fault is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from law_cases import law_cases
from secondary_tables import CLOCK, Random, random_table, small_blocks
from starskip.errors import StorageError
from starskip.execution.local_engine import LocalEngine
from starskip.indexes.secondary import check_parts, collect_entries, merge_cuts, run_files
from starskip.indexes.secondary.check_entries import CheckedRuns, EntryChecks, check_entries
from starskip.indexes.secondary.lifecycle import (
    create_indexes,
    existing_indexes,
    optimize_indexes,
    refresh_indexes,
)
from starskip.indexes.secondary.table_files import listed_table
from starskip.indexes.secondary.table_state import table_state

CASES = law_cases("STARSKIP_SECONDARY_CHECKS", 2)
SEED = int(os.environ["STARSKIP_SECONDARY_SEED"])
KINDS = {"btree": "btree:n", "rtree": "rtree:lat,lng", "ngram": "ngram:s"}


def checks_of(folder: Path, checked: CheckedRuns | None = None) -> EntryChecks:
    metadata = existing_indexes(str(folder))
    return check_entries(LocalEngine(), metadata, table_state(metadata, listed_table(str(folder))), checked)


def wrong(folder: Path) -> dict[str, dict[str, int]]:
    """What is wrong, by index; nothing of an index that is sound."""
    faults = checks_of(folder).faults
    found = {index: {name: count for name, count in of.items() if count} for index, of in faults.items()}
    return {index: of for index, of in found.items() if of}


@pytest.mark.law
@pytest.mark.parametrize("number", range(CASES))
def test_nothing_is_wrong_with_sound_indexes(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = SEED + number
    monkeypatch.setattr(check_parts, "WINDOW_ROWS", 50)
    with small_blocks(Random(seed)):
        table = random_table(tmp_path, seed)
        assert wrong(tmp_path) == {}, seed
        table.change()
        # Of changed files neither points nor texts can be read.
        assert wrong(tmp_path) == {}, seed
        refresh_indexes(str(tmp_path), clock=CLOCK)
        assert wrong(tmp_path) == {}, seed
        optimize_indexes(str(tmp_path))
        assert wrong(tmp_path) == {}, seed


def written(folder: Path) -> None:
    """Two files of rows whose keys are few and many, with nulls among them."""
    for number in range(2):
        random = np.random.default_rng(number)
        few = random.integers(0, 4, 300)
        rows = pa.table(
            {
                "n": pa.array(
                    [None if k % 29 == 0 else int(k) if k % 2 else int(few[k]) for k in range(300)]
                ),
                "lat": random.uniform(-90, 90, 300),
                "lng": random.uniform(-90, 90, 300),
                "s": [f"text {few[k]} of row {k}" for k in range(300)],
            }
        )
        pq.write_table(rows, folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (1_700_000_000 + number, 1_700_000_000 + number))


def _first_single(rows: pa.Table) -> int:
    return int(np.flatnonzero(np.asarray(rows["address"].is_valid()))[0])


def _row_missing(rows: pa.Table) -> pa.Table:
    at = _first_single(rows)
    return pa.concat_tables([rows.slice(0, at), rows.slice(at + 1)]).combine_chunks()


def _row_doubled(rows: pa.Table) -> pa.Table:
    at = _first_single(rows)
    return pa.concat_tables([rows.slice(0, at + 1), rows.slice(at)]).combine_chunks()


def _addresses_shifted(rows: pa.Table) -> pa.Table:
    at = rows.column_names.index("address")
    return rows.set_column(at, "address", pc.add(rows["address"], 1))


def _falling(rows: pa.Table) -> pa.Table:
    keyed = rows.num_rows - rows.column(0).null_count
    order = [*range(keyed - 1, -1, -1), *range(keyed, rows.num_rows)]
    return rows.take(pa.array(order))


def _list_cut(rows: pa.Table) -> pa.Table:
    """The counts of lists, one less."""
    at = rows.column_names.index("entries")
    return rows.set_column(
        at, "entries", pa.array([each - (each > 1) for each in rows["entries"].to_pylist()])
    )


def _key_in_two_rows(rows: pa.Table) -> pa.Table:
    """A single entry beside the list of its key."""
    at = int(np.flatnonzero(np.asarray(rows["postings"].is_valid()))[0])
    single = rows.slice(_first_single(rows), 1)
    beside = single.set_column(0, "key", rows["key"].slice(at, 1))
    return pa.concat_tables([rows.slice(0, at + 1), beside, rows.slice(at + 1)]).combine_chunks()


ROWS_WITHOUT, TOO_MANY = "rows_without_entry", "entries_too_many"
DISORDERED, OUTSIDE, UNLIKE = "disordered_keys", "keys_out_of_bounds", "unlike_counts"
ROW_FAULTS: list[tuple[str, Callable[[pa.Table], pa.Table], str]] = [
    ("btree", _row_missing, ROWS_WITHOUT),
    ("rtree", _row_missing, ROWS_WITHOUT),
    ("ngram", _row_missing, ROWS_WITHOUT),
    ("btree", _row_doubled, TOO_MANY),
    ("rtree", _row_doubled, TOO_MANY),
    ("ngram", _row_doubled, TOO_MANY),
    ("btree", _addresses_shifted, TOO_MANY),
    ("rtree", _addresses_shifted, TOO_MANY),
    ("ngram", _addresses_shifted, TOO_MANY),
    ("btree", _falling, DISORDERED),
    ("ngram", _falling, DISORDERED),
    ("btree", _list_cut, UNLIKE),
    ("ngram", _list_cut, UNLIKE),
    ("btree", _key_in_two_rows, UNLIKE),
    ("ngram", _key_in_two_rows, UNLIKE),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "change", "fault"), ROW_FAULTS)
@pytest.mark.parametrize("parts", [1, 4])
def test_a_fault_of_rows_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, change: Any, fault: str, parts: int
) -> None:
    written(tmp_path)
    sound = run_files.write_run
    monkeypatch.setattr(
        collect_entries, "write_run", lambda aside, index, rows: sound(aside, index, change(rows))
    )
    monkeypatch.setattr(run_files, "BLOCK_ROWS", 64)
    create_indexes(str(tmp_path), [KINDS[kind]], clock=CLOCK)
    monkeypatch.setattr(merge_cuts, "PART_BYTES", 1 << 40 if parts == 1 else 100)
    monkeypatch.setattr(merge_cuts, "MOST_PARTS", parts)
    assert fault in wrong(tmp_path)[KINDS[kind]]


def _box_too_small(blocks: pa.Table) -> pa.Table:
    at = blocks.column_names.index("high_x")
    return blocks.set_column(at, "high_x", pa.array(blocks["high_x"].to_numpy() - 0.5))


def _key_too_high(blocks: pa.Table) -> pa.Table:
    at = blocks.column_names.index("low")
    return blocks.set_column(at, "low", pa.array([each and each + 1 for each in blocks["low"].to_pylist()]))


def _bitmaps_of_others(blocks: pa.Table) -> pa.Table:
    at = blocks.column_names.index("bitmap")
    return blocks.set_column(at, "bitmap", pa.array(blocks["bitmap"].to_pylist()[::-1], pa.binary()))


def _reach_too_short(blocks: pa.Table) -> pa.Table:
    at = blocks.column_names.index("last_address")
    return blocks.set_column(at, "last_address", blocks["first_address"])


@pytest.mark.parametrize(
    ("kind", "change", "fault"),
    [
        ("rtree", _box_too_small, OUTSIDE),
        ("btree", _key_too_high, OUTSIDE),
        ("btree", _bitmaps_of_others, UNLIKE),
        ("rtree", _bitmaps_of_others, UNLIKE),
        ("btree", _reach_too_short, UNLIKE),
        ("rtree", _reach_too_short, UNLIKE),
    ],
)
def test_a_fault_of_blocks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, change: Any, fault: str
) -> None:
    written(tmp_path)
    sound = run_files.blocks_of
    monkeypatch.setattr(run_files, "BLOCK_ROWS", 64)
    monkeypatch.setattr(
        run_files, "blocks_of", lambda index, rows, starts: change(sound(index, rows, starts))
    )
    create_indexes(str(tmp_path), [KINDS[kind]], clock=CLOCK)
    assert fault in wrong(tmp_path)[KINDS[kind]]


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_without_runs_has_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    written(tmp_path)
    monkeypatch.setattr(collect_entries, "write_run", lambda aside, index, rows: ())
    create_indexes(str(tmp_path), [KINDS[kind]], clock=CLOCK)
    assert wrong(tmp_path)[KINDS[kind]][ROWS_WITHOUT] >= 600


def test_runs_that_were_checked_are_not_read_again(tmp_path: Path) -> None:
    written(tmp_path)
    create_indexes(str(tmp_path), list(KINDS.values()), clock=CLOCK)
    first = checks_of(tmp_path)
    assert set(first.sound) == set(KINDS.values())
    for path in (tmp_path / "_starskip").rglob("*rows.parquet"):
        path.chmod(0o644)
        path.write_bytes(path.read_bytes()[:-9])
    assert checks_of(tmp_path, first.sound).faults == first.faults
    with pytest.raises(StorageError, match="gone or damaged"):
        checks_of(tmp_path)
