"""The check of indexes: nothing is wrong with a sound index of any shape, and each planted fault is named."""

from __future__ import annotations

import os
import tracemalloc
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
from starskip.secondary import check_indexes as check_module
from starskip.secondary import collect_entries, entry_hashes, run_files
from starskip.secondary.check_indexes import DISORDERED, OUTSIDE, TORN, UNLIKE, check_indexes
from starskip.secondary.lifecycle import create_indexes, optimize_indexes, refresh_indexes

CASES = law_cases("STARSKIP_SECONDARY_CHECKS", 2)
SEED = int(os.environ["STARSKIP_SECONDARY_SEED"])
MEND = "`starskip secondary refresh --full` makes the indexes anew$"
KINDS = {"btree": "btree:n", "rtree": "rtree:lat,lng", "ngram": "ngram:s"}


@pytest.mark.law
@pytest.mark.parametrize("number", range(CASES))
def test_nothing_is_wrong_with_sound_indexes(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = SEED + number
    monkeypatch.setattr(check_module, "WINDOW_ROWS", 16)
    monkeypatch.setattr(entry_hashes, "ENTRIES_AT_ONCE", 5)
    with small_blocks(Random(seed)):
        table = random_table(tmp_path, seed)
        check_indexes(str(tmp_path))
        table.change()
        # Files that changed since have other rows than their entries.
        check_indexes(str(tmp_path))
        refresh_indexes(str(tmp_path), clock=CLOCK)
        check_indexes(str(tmp_path))
        optimize_indexes(str(tmp_path))
        rows = sum(pq.read_metadata(path).num_rows for path in tmp_path.glob("*.parquet"))
        counts = check_indexes(str(tmp_path)).values()
        assert any(counts) == (rows > 0), seed


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


def _keys_of_others(rows: pa.Table) -> pa.Table:
    """Each single entry under the key of another one, the bounds as they were."""
    single = np.flatnonzero(np.asarray(rows["address"].is_valid()))
    addresses = rows["address"].to_pylist()
    for at, other in zip(single.tolist(), np.roll(single, 1).tolist(), strict=True):
        addresses[at] = rows["address"][other].as_py()
    return rows.set_column(rows.column_names.index("address"), "address", pa.array(addresses, pa.int64()))


LACKS, TWICE, ANOTHER, BEYOND = (
    "lacks an entry",
    "has an entry twice",
    "has an entry under another key",
    "has an entry too many",
)
ROW_FAULTS: list[tuple[str, Callable[[pa.Table], pa.Table], str]] = [
    ("btree", _row_missing, LACKS),
    ("rtree", _row_missing, LACKS),
    ("ngram", _row_missing, LACKS),
    ("btree", _row_doubled, TWICE),
    ("rtree", _row_doubled, TWICE),
    ("ngram", _row_doubled, TWICE),
    ("btree", _addresses_shifted, f"{LACKS}|{ANOTHER}|{BEYOND}"),
    ("rtree", _addresses_shifted, LACKS),
    ("ngram", _addresses_shifted, f"{LACKS}|{ANOTHER}|{BEYOND}"),
    ("btree", _keys_of_others, ANOTHER),
    ("rtree", _keys_of_others, ANOTHER),
    ("ngram", _keys_of_others, f"{LACKS}|{ANOTHER}|{BEYOND}"),
    ("btree", _falling, DISORDERED),
    ("ngram", _falling, DISORDERED),
    ("btree", _list_cut, UNLIKE),
    ("ngram", _list_cut, UNLIKE),
    # The only list of this b-tree is that of null.
    ("btree", _key_in_two_rows, UNLIKE),
    ("ngram", _key_in_two_rows, TORN),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "change", "fault"), ROW_FAULTS)
def test_a_fault_of_rows_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, change: Any, fault: str
) -> None:
    written(tmp_path)
    sound = run_files.write_run
    monkeypatch.setattr(run_files, "BLOCK_ROWS", 64)
    with monkeypatch.context() as patch:
        patch.setattr(
            collect_entries, "write_run", lambda aside, index, rows: sound(aside, index, change(rows))
        )
        create_indexes(str(tmp_path), [KINDS[kind]], clock=CLOCK)
    with pytest.raises(StorageError, match=f"^{KINDS[kind]}: .* ({fault}); {MEND}"):
        check_indexes(str(tmp_path))
    refresh_indexes(str(tmp_path), in_full=True, clock=CLOCK)
    assert list(check_indexes(str(tmp_path))) == [KINDS[kind]]


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
def test_a_fault_of_blocks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, change: Any, fault: str
) -> None:
    written(tmp_path)
    sound = run_files.blocks_of
    monkeypatch.setattr(run_files, "BLOCK_ROWS", 64)
    monkeypatch.setattr(
        run_files, "blocks_of", lambda index, rows, starts: change(sound(index, rows, starts))
    )
    create_indexes(str(tmp_path), [KINDS[kind]], clock=CLOCK)
    with pytest.raises(StorageError, match=f"^{KINDS[kind]}: block [0-9]+ of .*: {fault}; {MEND}"):
        check_indexes(str(tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_without_runs_lacks_each_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    written(tmp_path)
    monkeypatch.setattr(collect_entries, "write_run", lambda aside, index, rows: ())
    create_indexes(str(tmp_path), [KINDS[kind]], clock=CLOCK)
    with pytest.raises(StorageError, match=r"row 0 \(the first is 0\) of .*0.parquet lacks an entry"):
        check_indexes(str(tmp_path))


def test_a_row_that_a_file_does_not_have_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    sound = run_files.write_run

    def far_row(rows: pa.Table) -> pa.Table:
        addresses = rows["address"].to_pylist()
        addresses[_first_single(rows)] = 70_000
        return rows.set_column(rows.column_names.index("address"), "address", pa.array(addresses, pa.int64()))

    def far_file(rows: pa.Table) -> pa.Table:
        addresses = pc.add(rows["address"], 9 << 32)
        return rows.set_column(rows.column_names.index("address"), "address", addresses)

    for change, fault in (
        (far_row, f"row 70,000 .* {BEYOND}|row [0-9]+ .* {LACKS}"),
        (far_file, "an entry is of file number 10, and its segment has 2 files"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(
                collect_entries,
                "write_run",
                lambda aside, index, rows, of=change: sound(aside, index, of(rows)),
            )
            create_indexes(str(tmp_path), ["rtree:lat,lng"], clock=CLOCK)
            refresh_indexes(str(tmp_path), in_full=True, clock=CLOCK)
        with pytest.raises(StorageError, match=fault):
            check_indexes(str(tmp_path))


def test_memory_of_a_check_does_not_grow_with_the_index(tmp_path: Path) -> None:
    peaks = {}
    for files in (2, 8):
        folder = tmp_path / str(files)
        folder.mkdir()
        for number in range(files):
            keys = np.random.default_rng(number).integers(0, 1 << 40, 30_000)
            rows = pa.table({"n": keys, "few": keys % 3, "s": [f"text {key % 5}" for key in keys.tolist()]})
            pq.write_table(rows, folder / f"{number}.parquet", row_group_size=6_000)
            os.utime(folder / f"{number}.parquet", (1_700_000_000 + number, 1_700_000_000 + number))
        create_indexes(str(folder), ["btree:n", "btree:few", "ngram:s"], clock=CLOCK)
        tracemalloc.start()
        check_indexes(str(folder))
        peaks[files] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks[8] < 1.5 * peaks[2], peaks
