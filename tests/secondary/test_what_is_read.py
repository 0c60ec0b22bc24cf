"""Parts of indexes and files that a query reads: blocks of even bytes, limits, covering indexes, footers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from secondary_tables import CLOCK
from starskip.execution.engine_tasks import EngineTasks
from starskip.file_metadata import table_source
from starskip.lake.parquet import parquet_footers, parquet_pages
from starskip.secondary import (
    IndexedTable,
    data_file,
    open_table,
    run_files,
    run_reader,
    table_to_index,
)
from starskip.secondary.build_run import build_run
from starskip.secondary.entries import addresses_of
from starskip.secondary.lifecycle import (
    create_indexes,
    describe_indexes,
    existing_indexes,
    optimize_indexes,
    refresh_indexes,
)
from starskip.secondary.run_reader import RunReader, paired
from starskip.secondary.secondary_index import secondary_index
from starskip.secondary.settings import SecondarySettings

pytestmark = pytest.mark.slow

ROWS = 60_000


def put(path: Path, rows: pa.Table, tick: int = 0, row_group_size: int = 1_000) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, row_group_size=row_group_size, write_page_index=True)
    os.utime(path, (1_700_000_000 + tick, 1_700_000_000 + tick))


def runs_of(folder: Path, specification: str) -> list[RunReader]:
    metadata = existing_indexes(str(folder))
    return [
        RunReader(metadata.storage, rows, blocks)
        for segment in metadata.segments.values()
        for rows, blocks in paired(segment.groups[specification])
    ]


def stored(run: RunReader, block: int) -> int:
    group = run._opened.metadata.row_group(block)
    return sum(group.column(at).total_compressed_size for at in range(group.num_columns))


def test_blocks_have_even_bytes_whatever_their_rows_have(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = {
        "few": random.integers(0, 300, ROWS),
        "many": random.integers(0, 1 << 40, ROWS),
        "long": [f"{each:09}" + "y" * 300 for each in random.integers(0, 10**9, ROWS).tolist()],
        "message": [f"request {each} of {each % 977}" for each in range(ROWS)],
    }
    put(tmp_path / "a.parquet", pa.table(rows))
    indexes = [f"btree:{name}" for name in ("few", "many", "long")] + ["ngram:message"]
    create_indexes(str(tmp_path), indexes, clock=CLOCK)
    for index in indexes:
        (run,) = runs_of(tmp_path, index)
        most = run_files.BLOCK_BYTES if index.startswith("btree") else run_files.BLOCK_BYTES // 4
        sizes = [stored(run, each) for each in range(run.row_groups)]
        assert max(sizes) < 1.5 * most, index
        # Neither is cut finer than that, but where rows end it.
        assert np.median(sizes) > most / 4 or run.bounds.num_rows < 3, (index, sizes)
        assert run.row_groups == run.bounds.num_rows


def test_null_is_a_block_of_its_own(tmp_path: Path) -> None:
    keys: list[Any] = [None if each % 5 == 0 else each % 1_000 for each in range(20_000)]
    index = secondary_index("btree:n")
    run = build_run(index, [pa.array(keys)], addresses_of(0, np.arange(len(keys))), stop_share=0.3)
    assert run_files.block_starts(index, run)[-1] == run.num_rows - 1
    put(tmp_path / "a.parquet", pa.table({"n": pa.array(keys, pa.int64())}))
    create_indexes(str(tmp_path), ["btree:n"], clock=CLOCK)
    (reader,) = runs_of(tmp_path, "btree:n")
    assert reader.row_groups == reader.bounds.num_rows == reader.keyed_blocks + 1
    for where, expected in (("n IS NULL", 4_000), ("n >= 999", 20), ("n < 7", 100)):
        assert open_table(str(tmp_path)).answer(where, is_count=True, path=["btree:n"]).count == expected


def test_an_index_that_was_collected_in_an_older_way_is_not_read_until_it_is_refreshed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path / "a.parquet", pa.table({"n": list(range(2_000))}))
    with monkeypatch.context() as before:
        before.setattr(table_source, "_COLLECTED_AS", 1)
        before.setattr(run_files, "fences_of", lambda *_: {})
        create_indexes(str(tmp_path), ["btree:n"], clock=CLOCK)
    assert describe_indexes(str(tmp_path))["outdated"] is not None
    assert open_table(str(tmp_path)).answer("n < 7", is_count=True).count == 7
    assert "collected by an earlier version of Starskip" in caplog.text and "refresh them" in caplog.text
    refresh_indexes(str(tmp_path), clock=CLOCK)
    assert describe_indexes(str(tmp_path))["outdated"] is None
    assert open_table(str(tmp_path)).answer("n < 7", is_count=True, path=["btree:n"]).count == 7


def test_columns_are_compressed_where_that_saves_bytes(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    drawn = {
        "x": random.uniform(-180, 180, ROWS),
        "y": random.uniform(-60, 60, ROWS),
        "u": np.round(random.uniform(-1, 1, ROWS), 1),
        "v": np.round(random.uniform(-1, 1, ROWS), 1),
    }
    put(tmp_path / "a.parquet", pa.table(drawn))
    create_indexes(str(tmp_path), ["rtree:x,y", "rtree:u,v"], clock=CLOCK)
    codecs = {}
    for index in ("rtree:x,y", "rtree:u,v"):
        (run,) = runs_of(tmp_path, index)
        group = run._opened.metadata.row_group(0)
        columns = [group.column(at) for at in range(group.num_columns)]
        codecs[index] = {each.path_in_schema: each.compression for each in columns}
        size = sum(each.total_compressed_size for each in columns)
        assert size <= sum(each.total_uncompressed_size for each in columns), index
    assert codecs["rtree:x,y"]["x"] == codecs["rtree:x,y"]["y"] == "UNCOMPRESSED"
    assert codecs["rtree:u,v"]["x"] == codecs["rtree:u,v"]["y"] == "ZSTD"


def test_a_lookup_reads_a_block_of_a_b_tree_and_little_more_than_the_lists_of_grams(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    words = np.array([f"{each:05x}" for each in random.integers(0, 1 << 20, 400)])
    rows = {
        "few": random.integers(0, 300, 2 * ROWS),
        "message": [" ".join(each) for each in words[random.integers(0, 400, (2 * ROWS, 6))].tolist()],
    }
    put(tmp_path / "a.parquet", pa.table(rows))
    create_indexes(str(tmp_path), ["btree:few", "ngram:message"], clock=CLOCK)
    (few,), (grams,) = (runs_of(tmp_path, each) for each in ("btree:few", "ngram:message"))
    assert few.rows.size_bytes > 2 * run_files.BLOCK_BYTES
    read = index_bytes(tmp_path, "few = 7", "btree:few")
    assert read < 1.5 * run_files.BLOCK_BYTES, read
    read = index_bytes(tmp_path, f"contains(message, '{words[0]}')", "ngram:message")
    # Three grams, each in a block or two.
    assert read < 4 * run_files.BLOCK_BYTES // 4 < grams.rows.size_bytes / 10, read


def index_bytes(folder: Path, where: str, index: str) -> int:
    """The bytes of the blocks that are read for a condition, each once."""
    found: dict[int, int] = {}
    sound = run_reader.RunReader.block

    def spied(self: RunReader, number: int) -> pa.Table:
        found[number] = stored(self, number)
        return sound(self, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_reader.RunReader, "block", spied)
        open_table(str(folder)).answer(where, is_count=True, path=[index])
    return sum(found.values())


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Two files whose rows satisfy everything that is asked for, keys spread over all of each."""
    for number in range(2):
        at = np.arange(number * ROWS, (number + 1) * ROWS)
        rows = {
            "id": at,
            "user": at * 7_919 % (2 * ROWS),
            "other": at * 104_729 % (2 * ROWS),
            "message": [f"request {each}" for each in at.tolist()],
        }
        put(tmp_path / f"{number}.parquet", pa.table(rows), number)
    create_indexes(str(tmp_path), ["btree:user", "btree:other"], clock=CLOCK)
    return tmp_path


@pytest.mark.parametrize("limit", [1, 10])
def test_a_limit_ends_lists_row_groups_and_pages(events: Path, limit: int) -> None:
    table = open_table(str(events))
    answer = table.answer("user >= 0", ["id"], limit=limit, path=["btree:user"])
    assert answer.count == answer.rows.num_rows == limit
    assert answer.stats["candidates_read"]["btree:user"] <= 20_000
    assert answer.stats["row_groups_read"] <= 4
    assert answer.stats["pages_read"] <= limit
    both = table.answer("user >= 0 AND other >= 0", ["id"], limit=limit, path=["btree:user", "btree:other"])
    assert both.count == limit
    assert both.stats["candidates_read"]["btree:user"] <= 20_000
    assert both.stats["row_groups_read"] <= 4
    scanned = table.answer("user >= 0", ["id"], limit=limit, path=["scan"])
    assert (scanned.count, scanned.stats["row_groups_read"]) == (limit, 1)
    residual = table.answer("user >= 0 AND message LIKE '%9'", ["id"], limit=limit, path=["btree:user"])
    assert residual.count == limit
    assert residual.stats["row_groups_read"] <= 63
    assert table.answer("user >= 0", ["id"], limit=0).stats["row_groups_read"] == 0
    # What is chosen unasked ends as early.
    chosen = table.answer("user >= 0 AND other >= 0", ["id"], limit=limit)
    assert chosen.count == limit
    assert chosen.stats["row_groups_read"] <= 4
    assert sum(chosen.stats["candidates_read"].values()) <= 20_000


@pytest.mark.parametrize("limit", [3, 700, 40_000, 1_000_000])
@pytest.mark.parametrize("path", [["btree:user"], ["btree:other", "btree:user"], ["scan"], []])
def test_with_a_limit_each_row_comes_once_and_none_is_missing(
    events: Path, limit: int, path: list[str]
) -> None:
    (events / "1.parquet").touch()
    table = open_table(str(events))
    where = "user < 50000 AND other >= 9 AND (user <> 3 OR user IS NULL)"
    rows = pq.read_table(sorted(events.glob("*.parquet")))
    users, others = rows["user"].to_numpy(), rows["other"].to_numpy()
    expected = set(rows["id"].to_numpy()[(users < 50_000) & (others >= 9) & (users != 3)].tolist())
    answer = table.answer(where, ["id"], limit=limit, path=path)
    found = answer.rows["id"].to_pylist()
    assert len(found) == len(set(found)) == min(limit, len(expected))
    assert set(found) <= expected


@pytest.mark.parametrize("path", [["btree:user"], ["btree:user", "btree:other"], ["scan"], []])
@pytest.mark.parametrize("where", ["user < 500 AND other >= 0", "user < 500 AND other >= 0 AND id >= 0"])
def test_a_count_ends_at_the_limit_in_every_plan(events: Path, path: list[str], where: str) -> None:
    table = open_table(str(events))
    assert table.answer(where, is_count=True, path=path).count == 500
    assert table.answer(where, is_count=True, limit=3, path=path).count == 3
    assert table.answer(where, is_count=True, limit=3_000, path=path).count == 500
    assert table.answer(where, is_count=True, limit=0, path=path).count == 0


KEYS = {
    "n": pa.array([None if each % 11 == 0 else each % 97 for each in range(20_000)], pa.int32()),
    "s": pa.array([f"key {each % 50}" for each in range(20_000)]),
    "x": pa.array([-0.0 if each % 2 else 0.0 for each in range(20_000)]),
}


def test_an_index_answers_rows_of_which_it_has_all_columns(tmp_path: Path) -> None:
    for number in range(2):
        rows = {"id": np.arange(20_000) + number, **KEYS}
        put(tmp_path / f"{number}.parquet", pa.table(rows), number)
    create_indexes(str(tmp_path), ["btree:n", "btree:s", "btree:x"], clock=CLOCK)
    table = open_table(str(tmp_path))

    def asked(where: str, columns: list[str], path: list[str]) -> tuple[list[Any], int]:
        answer = table.answer(where, columns, path=path)
        assert answer.rows.schema.names == columns
        return sorted(map(str, answer.rows[columns[0]].to_pylist())), answer.stats["row_groups_read"]

    for where in ("n < 30", "n IS NULL", "n IN (3, 5)", "n >= 90"):
        expected, read = asked(where, ["n"], ["scan"])
        assert read == 40
        assert asked(where, ["n"], ["btree:n"]) == (expected, 0)
    plan = table.explain("n < 30", ["n"])
    assert (plan.chosen, plan.reason) == (
        ("btree:n",),
        "the index holds all that is asked for; no row is fetched",
    )
    assert table.explain("n < 30", ["n", "s"]).reason != plan.reason
    # 0.0 and -0.0 are one key; a second predicate or column is none of the index's.
    for where, columns, path in (
        ("x >= 0", ["x"], ["btree:x"]),
        ("n < 30 AND s LIKE 'key 1%'", ["n"], ["btree:n"]),
        ("n < 30", ["n", "s"], ["btree:n"]),
        ("n < 30", ["id"], ["btree:n"]),
    ):
        assert asked(where, columns, path)[0] == asked(where, columns, ["scan"])[0]
        assert asked(where, columns, path)[1] > 0, where
    limited = table.answer("s >= 'key 2'", ["s"], limit=5, path=["btree:s"])
    assert (limited.count, limited.stats["row_groups_read"]) == (5, 0)
    # Files that changed or are gone do not count, new ones are scanned; older types are widened.
    rows = pa.table({"id": np.arange(100), "n": pa.array(range(100), pa.int64())})
    put(tmp_path / "2.parquet", rows, 3, row_group_size=50)
    (tmp_path / "0.parquet").unlink()
    expected, _ = asked("n < 30", ["n"], ["scan"])
    assert asked("n < 30", ["n"], ["btree:n"]) == (expected, 2)
    assert table.query("n < 30", ["n"], path=["btree:n"]).schema.field("n").type == pa.int64()
    refresh_indexes(str(tmp_path), clock=CLOCK)
    assert asked("n < 30", ["n"], ["btree:n"]) == (expected, 0)
    optimize_indexes(str(tmp_path))
    assert asked("n < 30", ["n"], ["btree:n"]) == (expected, 0)


def opened_footers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    sound = parquet_footers.open_footer

    def spied(path: str, **options: Any) -> Any:
        found.append(path)
        return sound(path, **options)

    for module in (parquet_footers, data_file):
        monkeypatch.setattr(module, "open_footer", spied)
    data_file._footer.cache_clear()
    data_file._row_group_ends.cache_clear()
    return found


def many(folder: Path, files: int = 20) -> None:
    for number in range(files):
        put(folder / f"{number:03}.parquet", pa.table({"id": [number * 7 % files] * 50}), number, 25)
    create_indexes(str(folder), ["btree:id"], clock=CLOCK)


def test_footers_are_opened_of_new_files_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many(tmp_path)
    put(tmp_path / "new.parquet", pa.table({"id": [7] * 50, "more": ["x"] * 50}), 30, 10)
    opened = opened_footers(monkeypatch)
    assert refresh_indexes(str(tmp_path), clock=CLOCK).collected_files == 1
    assert {Path(each).name for each in opened} == {"new.parquet"}
    for optimized in (False, True):
        if optimized:
            optimize_indexes(str(tmp_path))
        opened.clear()
        data_file._footer.cache_clear()
        answer = open_table(str(tmp_path)).answer("id = 7", ["more"], is_count=True)
        assert (answer.count, answer.stats["row_groups_total"]) == (100, 45)
        # That of the largest file, by which costs are told.
        assert len(opened) <= 1
    assert "more" in open_table(str(tmp_path)).query("id = 7").column_names


def test_row_groups_that_were_not_counted_are_told_by_footers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = table_to_index._with_rows
    with pytest.MonkeyPatch.context() as older:
        older.setattr(table_to_index, "_with_rows", lambda *of: sound(*of).drop_columns("row_groups"))
        many(tmp_path)
    put(tmp_path / "new.parquet", pa.table({"id": [7] * 50}), 30, 10)
    refresh_indexes(str(tmp_path), clock=CLOCK)
    opened = opened_footers(monkeypatch)
    table = open_table(str(tmp_path))
    assert table.answer("id = 7", is_count=True).stats["row_groups_total"] == 45
    # And that of the largest file, by which costs are told.
    assert len({Path(each).name for each in opened} - {"new.parquet"}) == 20
    optimize_indexes(str(tmp_path))
    assert open_table(str(tmp_path)).answer("id = 7", is_count=True).stats["row_groups_total"] == 45


def test_footers_of_many_files_are_read_by_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_footers, "_FEW_FOOTERS", 2)
    labels: list[str] = []
    sound = EngineTasks.run_parts

    def spied(self: EngineTasks, label: str, items: Any, function: Any) -> Any:
        if items:
            labels.append(label)
        return sound(self, label, items, function)

    monkeypatch.setattr(EngineTasks, "run_parts", spied)
    many(tmp_path, 4)
    assert labels == ["reading footers", "indexing"]
    many(tmp_path, 8)
    labels.clear()
    optimize_indexes(str(tmp_path))
    assert labels == ["merging indexes"]


def test_bytes_read_are_those_of_footers_pages_and_indexes_and_of_nothing_that_is_kept(events: Path) -> None:
    data_file._footer.cache_clear()
    parquet_pages.paged_file.cache_clear()
    run_reader.BLOCKS.clear()
    table: IndexedTable = open_table(str(events), settings=SecondarySettings())
    cold = table.answer("user = 77", ["id"], path=["btree:user"]).stats["bytes_read"]
    warm = table.answer("user = 77", ["id"], path=["btree:user"]).stats["bytes_read"]
    (run,) = runs_of(events, "btree:user")
    footers = [pq.read_metadata(each).serialized_size for each in sorted(events.glob("*.parquet"))]
    least = min(footers) + run._opened.metadata.serialized_size + run._opened_blocks.metadata.serialized_size
    assert cold > least + warm
    assert 0 < warm < 64 << 10
