"""Optimizing merges runs block by block: the same entries, keys in order, memory that does not grow."""

from __future__ import annotations

import gc
import os
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from weakref import ReferenceType, ref

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from counted_memory import counted_memory
from law_cases import law_cases
from secondary_tables import CLOCK, INDEXES, Random, RandomTable, random_table, small_blocks
from starskip.errors import StorageError
from starskip.predicates.ordered_values import each_below
from starskip.secondary import (
    build_run,
    collect_entries,
    merge_cuts,
    merge_segments,
    open_table,
    run_files,
)
from starskip.secondary.entries import addresses_in, entries_of, file_of, row_of
from starskip.secondary.key_ranges import KeyRange
from starskip.secondary.lifecycle import (
    create_indexes,
    describe_indexes,
    existing_indexes,
    index_storage,
    optimize_indexes,
    refresh_indexes,
)
from starskip.secondary.merge_cuts import RunFiles
from starskip.secondary.merge_segments import MergePart
from starskip.secondary.run_reader import RunReader, paired
from starskip.secondary.secondary_index import Kind, secondary_index
from starskip.storage.storage import Storage

CASES = law_cases("STARSKIP_SECONDARY_MERGES", 6)
SHOWING = (0, 9)
"""Tables that show the faults planted below; the others are drawn anew at each run."""
SEED = int(os.environ["STARSKIP_SECONDARY_SEED"])


def runs_of(folder: Path, specification: str) -> list[tuple[RunReader, list[str], set[int]]]:
    """The runs of an index, each with the paths of its segment's files and the positions that live."""
    metadata = existing_indexes(str(folder))
    paths = metadata.paths.to_pylist()
    found = []
    for name, segment in metadata.segments.items():
        live = metadata.live[name]
        positions = range(segment.rows) if live is None else live.tolist()
        of: dict[int, str] = dict(zip(positions, paths[metadata.row_slices[name]], strict=True))
        for rows, blocks in paired(segment.groups.get(specification, ())):
            reader = RunReader(metadata.storage, rows, blocks)
            found.append((reader, [of.get(each, "") for each in range(segment.rows)], set(of)))
    return found


def entries_by_key(folder: Path, specification: str) -> tuple[Counter[Any], set[Any]]:
    """All live entries of an index as (key, file, row), and the keys that are stopped in some run."""
    found: Counter[Any] = Counter()
    stopped = set()
    for reader, paths, live in runs_of(folder, specification):
        for number in range(reader.row_groups):
            rows = reader.block(number)
            names = [name for name in rows.column_names if name not in ("entries", "address", "postings")]
            # 0.0 and -0.0 are one key.
            keys = [
                tuple(str(each + 0.0 if isinstance(each, float) else each) for each in key)
                for key in zip(*(rows[n].to_pylist() for n in names), strict=True)
            ]
            without = np.asarray(rows["address"].is_null()) & np.asarray(rows["postings"].is_null())
            stopped |= {keys[each] for each in np.flatnonzero(without).tolist()}
            at, addresses = entries_of(rows)
            for row, file, position in zip(at, file_of(addresses), row_of(addresses), strict=True):
                if int(file) in live:
                    found[keys[row.as_py()], paths[int(file)], int(position)] += 1
    return found, stopped


@pytest.mark.law
@pytest.mark.parametrize("number", range(CASES))
def test_merged_runs_hold_the_live_entries_with_keys_in_order(tmp_path: Path, number: int) -> None:
    seed = SHOWING[number] if number < len(SHOWING) else SEED + number
    with small_blocks(Random(seed)):
        table = random_table(tmp_path, seed)
        table.change()
        # A change may have removed what it added: there is a second segment in any case.
        table.write("last.parquet")
        refresh_indexes(str(tmp_path), clock=CLOCK)
        before = {index: entries_by_key(tmp_path, index) for index in INDEXES}
        assert optimize_indexes(str(tmp_path)) is not None
        for index in INDEXES:
            (entries, stopped), (merged, now_stopped) = before[index], entries_by_key(tmp_path, index)
            # A key that one run stopped is stopped altogether, though others had lists.
            assert now_stopped == stopped, index
            of_lists = Counter({entry: n for entry, n in entries.items() if entry[0] not in stopped})
            assert merged == of_lists, (seed, index)
            require_order(tmp_path, index)


def require_order(folder: Path, specification: str) -> None:
    """Within a run and from one run to the next keys do not fall, and no key lies in two runs."""
    readers = [reader for reader, _, _ in runs_of(folder, specification)]
    if secondary_index(specification).kind_of_index is Kind.RTREE:
        return
    for reader in readers:
        lows, highs = reader.key_bounds
        assert not each_below(highs, lows).any(), specification
        assert not each_below(lows[1:], highs[:-1]).any(), specification
    keyed = [reader for reader in readers if reader.keyed_blocks]
    for one, other in pairwise(keyed):
        last = pa.array([one.bounds["high"][one.keyed_blocks - 1]], one.bounds.schema.field("high").type)
        first = pa.array([other.bounds["low"][0]], last.type)
        assert build_run.order_keys(last)[0] is not None
        assert (
            merge_segments.positions(
                build_run.order_keys(pa.concat_arrays([last, first])), build_run.order_keys(last), "right"
            )[0]
            == 1
        ), specification


def _lists_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = merge_segments.positions

    def too_early(ordered: Any, keys: Any, side: Any = "left") -> Any:
        del side
        return sound(ordered, keys, "right")

    # What a stream ends with is taken for complete, though more rows of that key may follow.
    monkeypatch.setattr(merge_segments, "positions", too_early)


def _rows_shifted(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = merge_segments._moved
    monkeypatch.setattr(merge_segments, "_moved", lambda of, places: sound(of + np.uint64(1), places))


def _cuts_in_both_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = merge_cuts._ranges

    def with_ends(samples: Any, parts: int) -> Any:
        return [replace(each, high_included=True) for each in sound(samples, parts)]

    monkeypatch.setattr(merge_cuts, "_ranges", with_ends)


def _first_part_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = merge_cuts._ranges
    monkeypatch.setattr(merge_cuts, "_ranges", lambda *of: sound(*of)[1:] or sound(*of))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "first"),
    [
        (_lists_doubled, SHOWING[1]),
        (_rows_shifted, SHOWING[0]),
        (_cuts_in_both_parts, SHOWING[0]),
        (_first_part_left_out, SHOWING[0]),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, fault: Any, first: int) -> None:
    # The first table shows the fault; where what is drawn has changed, one of the others does.
    for seed in range(first, first + 12):
        folder = tmp_path / str(seed)
        folder.mkdir()
        with small_blocks(Random(seed)):
            random_table(folder, seed).change()
            refresh_indexes(str(folder), clock=CLOCK)
            before = {index: entries_by_key(folder, index) for index in INDEXES}
            with pytest.MonkeyPatch.context() as patch:
                fault(patch)
                optimize_indexes(str(folder))
            try:
                for index in INDEXES:
                    entries, stopped = before[index]
                    assert entries_by_key(folder, index)[0] == Counter(
                        {entry: n for entry, n in entries.items() if entry[0] not in stopped}
                    )
                    require_order(folder, index)
            except AssertionError:
                return
    pytest.fail("no random table showed the fault")


def written(folder: Path, files: int) -> None:
    """Write files whose keys are spread alike, so that every run overlaps all others."""
    folder.mkdir()
    for number in range(files):
        random = np.random.default_rng(number)
        rows = pa.table(
            {
                "n": random.integers(0, 1 << 40, 20_000),
                "lat": random.uniform(-90, 90, 20_000),
                "lng": random.uniform(-90, 90, 20_000),
            }
        )
        pq.write_table(rows, folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (1_700_000_000 + number, 1_700_000_000 + number))
        if number == 0:
            create_indexes(str(folder), ["btree:n", "rtree:lat,lng"], clock=CLOCK)
        else:
            refresh_indexes(str(folder), clock=CLOCK)


def _spied(sizes: list[int]) -> Any:
    sound = merge_segments.write_run

    def write_run(aside: Any, index: Any, rows: pa.Table) -> Any:
        sizes.append(rows.nbytes)
        return sound(aside, index, rows)

    return write_run


@pytest.mark.slow
def test_memory_of_a_merge_is_that_of_a_run_however_many_rows_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_segments, "RUN_BYTES", 1 << 20)
    monkeypatch.setattr(run_files, "BLOCK_ROWS", 512)
    peaks = {}
    for files in (4, 16):
        folder = tmp_path / str(files)
        written(folder, files)
        largest: list[int] = []

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(merge_segments, "write_run", _spied(largest))
            with counted_memory(pa.system_memory_pool()) as pool:
                optimize_indexes(str(folder))
        peaks[files] = pool.max_memory()
        assert max(largest) < 2 << 20
        runs = {each["index"]: each["runs"] for each in describe_indexes(str(folder))["indexes"]}
        assert min(runs["btree:n"], runs["rtree:lat,lng"]) >= files // 4, runs
    assert peaks[16] < 2 * peaks[4], peaks


@pytest.mark.slow
def test_parts_hold_about_as_many_entries_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_files, "BLOCK_ROWS", 256)
    monkeypatch.setattr(merge_cuts, "PART_BYTES", 20_000)
    folder = tmp_path / "t"
    written(folder, 4)
    optimize_indexes(str(folder))
    for index in ("btree:n", "rtree:lat,lng"):
        entries = [reader.entries for reader, _, _ in runs_of(folder, index)]
        assert sum(entries) == 80_000
        assert len(entries) >= 4
        assert max(entries) < 2 * sum(entries) / len(entries), entries


def test_a_part_that_was_merged_keeps_no_run_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "t"
    written(folder, 2)
    opened: list[ReferenceType[RunReader]] = []
    sound = RunFiles.reader

    def spied(run: RunFiles, storage: Storage) -> RunReader:
        reader = sound(run, storage)
        opened.append(ref(reader))
        return reader

    parts = []
    for name in ("btree:n", "rtree:lat,lng"):
        runs = tuple(RunFiles(run.rows, run.blocks) for run, _, _ in runs_of(folder, name))
        parts.append(MergePart(index_storage(str(folder)), secondary_index(name), runs, KeyRange()))
    monkeypatch.setattr(RunFiles, "reader", spied)
    for part in parts:
        assert sum(piece.num_rows for piece in part.merged())
    gc.collect()
    # All parts of an index are there until the last one is merged.
    assert len(opened) >= len(parts)
    assert not any(each() for each in opened)


def test_a_key_that_most_rows_have_lies_in_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_files, "BLOCK_ROWS", 64)
    monkeypatch.setattr(merge_cuts, "PART_BYTES", 500)
    for number in range(3):
        keys = np.where(np.arange(2_000) % 4 == 0, np.arange(2_000), 7)
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"n": keys}), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
        create_indexes(str(tmp_path), ["btree:n"], clock=CLOCK)
    before = entries_by_key(tmp_path, "btree:n")
    optimize_indexes(str(tmp_path))
    assert len(runs_of(tmp_path, "btree:n")) > 1
    assert entries_by_key(tmp_path, "btree:n") == before
    require_order(tmp_path, "btree:n")


def test_keys_of_a_run_in_no_order_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = run_files.write_run
    monkeypatch.setattr(run_files, "BLOCK_ROWS", 64)
    monkeypatch.setattr(merge_segments, "RUN_BYTES", 2_000)
    with pytest.MonkeyPatch.context() as patch:
        falling = pa.array(np.arange(1_999, -1, -1))
        patch.setattr(
            collect_entries, "write_run", lambda aside, index, rows: sound(aside, index, rows.take(falling))
        )
        for number in range(2):
            path = tmp_path / f"{number}.parquet"
            pq.write_table(pa.table({"n": np.arange(2_000) * 2 + number}), path)
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
            create_indexes(str(tmp_path), ["btree:n"], clock=CLOCK)
    before = describe_indexes(str(tmp_path))["version"]
    with pytest.raises(StorageError, match="not in order; refresh the metadata in full"):
        optimize_indexes(str(tmp_path))
    assert describe_indexes(str(tmp_path))["version"] == before


def test_a_damaged_run_is_named_and_the_indexes_stay_as_they_were(tmp_path: Path) -> None:
    table = RandomTable(tmp_path, Random(1))
    for name in ("a.parquet", "b.parquet"):
        table.write(name)
        create_indexes(str(tmp_path), ["btree:id"], clock=CLOCK)
    storage = index_storage(str(tmp_path))
    (reader, _, _), *_ = runs_of(tmp_path, "btree:id")
    path = Path(storage.place.removeprefix("file:"), reader.rows.name)
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-20])
    before = describe_indexes(str(tmp_path))["version"]
    with pytest.raises(StorageError, match="gone or damaged; refresh the metadata in full"):
        optimize_indexes(str(tmp_path))
    assert describe_indexes(str(tmp_path))["version"] == before


def test_an_index_stays_beside_a_segment_without_entries(tmp_path: Path) -> None:
    for number, texts in enumerate((["a long text"] * 3, [], ["ab"])):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"s": pa.array(texts, pa.string())}), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
        create_indexes(str(tmp_path), ["btree:s", "ngram:s"], clock=CLOCK)
    assert optimize_indexes(str(tmp_path)) is not None
    known = {each["index"]: each["files_known"] for each in describe_indexes(str(tmp_path))["indexes"]}
    assert {known["btree:s"], known["ngram:s"]} == {3}


def test_grams_of_one_text_may_lie_in_several_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_segments, "RUN_BYTES", 200)
    for module in (build_run, run_files):
        monkeypatch.setattr(module, "BLOCK_ROWS", 16)
    for number in range(2):
        texts = [f"{first}{second}" for first in ("abcd", "wxyz") for second in ("lmno", "pqrs", str(number))]
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"s": texts, "id": np.arange(len(texts)) + 10 * number}), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
        create_indexes(str(tmp_path), ["ngram:s"], clock=CLOCK)
    optimize_indexes(str(tmp_path))
    assert len(runs_of(tmp_path, "ngram:s")) > 1
    table = open_table(str(tmp_path))
    for where, ids in (("s LIKE '%abcdpqrs%'", [1, 11]), ("levenshtein(s, 'wxyzlmnx') <= 1", [3, 13])):
        found = table.query(where, ["id"], path=["ngram:s"])
        assert sorted(found["id"].to_pylist()) == ids


def test_entries_of_a_list_keep_their_rows() -> None:
    rows = build_run.run_rows(
        [pa.array([7] * 40)], ["key"], np.arange(40, dtype=np.uint64) | np.uint64(1 << 32), long_list=24
    )
    moved = merge_segments.renumbered(rows, np.array([-1, 5]))
    (content,) = moved["postings"].to_pylist()
    addresses = addresses_in(merge_segments.BitMap64.deserialize(content))
    assert set(file_of(addresses).tolist()) == {5}
    assert row_of(addresses).tolist() == list(range(40))
    assert not merge_segments.renumbered(rows, np.array([0, -1])).num_rows
