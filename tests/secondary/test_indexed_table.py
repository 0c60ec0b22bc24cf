"""The sources of a table's answers: files that changed, plans, covering indexes, limits, errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from secondary_tables import ids_where
from starskip.errors import ConfigError, SourceError, StorageError, UnsupportedQuery
from starskip.file_metadata.refresh_metadata import Clock
from starskip.secondary import lifecycle, open_table
from starskip.secondary.lifecycle import (
    create_indexes,
    delete_indexes,
    describe_indexes,
    index_storage,
    optimize_indexes,
    refresh_indexes,
    vacuum_indexes,
)
from starskip.secondary.settings import SecondarySettings

pytestmark = pytest.mark.slow

CLOCK = Clock(lambda: datetime.now(UTC), lambda seconds: None)
ROWS = 40_000


def events(first: int, rows: int = ROWS) -> pa.Table:
    random = np.random.default_rng(first)
    ids = np.arange(first, first + rows)
    return pa.table(
        {
            "id": ids,
            "user": random.permutation(rows) + first,
            "half": (random.permutation(rows) // 2),
            "kind": random.integers(0, 4, rows),
            "message": [f"message {each % 977} of {each % 13}" for each in ids.tolist()],
        }
    )


def put(path: Path, rows: pa.Table, tick: int, row_group_size: int = 500) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, row_group_size=row_group_size)
    os.utime(path, (1_700_000_000 + tick, 1_700_000_000 + tick))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path / "t/a.parquet", events(0), 0)
    put(tmp_path / "t/b.parquet", events(ROWS), 1)
    create_indexes(str(tmp_path / "t"), ["btree:user", "btree:kind", "ngram:message"], clock=CLOCK)
    return tmp_path / "t"


def users_in(folder: Path) -> Mapping[int, int]:
    rows = pa.concat_tables([pq.read_table(each) for each in sorted(folder.glob("*.parquet"))])
    return dict(zip(rows["user"].to_pylist(), rows["id"].to_pylist(), strict=True))


def test_a_point_reads_one_row_group_and_little_of_the_index(folder: Path) -> None:
    answer = open_table(str(folder)).answer("user = 777", ["id"])
    assert answer.rows["id"].to_pylist() == [users_in(folder)[777]]
    assert answer.stats["path"] == ["btree:user"]
    assert answer.stats["row_groups_read"] == 1
    assert answer.stats["candidates_read"] == {"btree:user": 1}
    assert answer.stats["bytes_read"] < answer.stats["bytes_total"] / 10


def test_the_first_query_does_not_read_the_metadata_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    right = lifecycle.existing_metadata
    monkeypatch.setattr(
        lifecycle, "existing_metadata", lambda *given: (read.append("metadata"), right(*given))[1]
    )
    table = open_table(str(folder))
    assert ids_where(table, "user = 777") and ids_where(table, "user = 778")
    assert read == ["metadata"]
    refresh_indexes(str(folder), in_full=True)
    read.clear()
    assert ids_where(table, "user = 777")
    assert read == ["metadata"]


def test_files_that_are_new_changed_or_gone_are_never_answered_from_the_index(folder: Path) -> None:
    table = open_table(str(folder))
    assert len(ids_where(table, "user IN (5, 40005, 90005)")) == 2
    put(folder / "b.parquet", events(90_000), 5)
    put(folder / "c.parquet", events(200_000, 10), 6)
    assert ids_where(table, "user IN (5, 40005, 90005, 200005)") == sorted(
        users_in(folder)[user] for user in (5, 90_005, 200_005)
    )
    (folder / "a.parquet").unlink()
    assert ids_where(table, "user IN (5, 40005, 90005)") == [users_in(folder)[90_005]]
    done = refresh_indexes(str(folder), clock=CLOCK)
    assert (done.collected_files, done.unchanged_files, done.gone_files) == (2, 0, 1)
    answer = table.answer("user IN (5, 40005, 90005)", ["id"])
    assert answer.rows["id"].to_pylist() == [users_in(folder)[90_005]]
    assert answer.stats["row_groups_read"] == 1


def test_a_file_that_was_too_young_when_it_was_indexed_is_scanned(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    pq.write_table(events(0, 100), folder / "a.parquet")
    create_indexes(str(folder), ["btree:user"], clock=CLOCK)
    answer = open_table(str(folder)).answer("user = 7", ["id"])
    assert answer.count == 1
    assert answer.stats["row_groups_read"] == 1
    assert answer.stats["candidates_read"].get("btree:user", 0) == 0


def test_both_paths_are_taken_where_each_alone_reads_more(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    random = np.random.default_rng(1)
    rows = {name: random.integers(0, 1_000, 200_000) for name in ("a", "b")}
    put(folder / "x.parquet", pa.table({"id": np.arange(200_000), **rows}), 0, row_group_size=200)
    create_indexes(str(folder), ["btree:a", "btree:b"], clock=CLOCK)
    table = open_table(str(folder))
    answer = table.answer("a < 10 AND b < 12", ["id"])
    assert answer.stats["path"] == ["btree:a", "btree:b"]
    assert (
        sorted(answer.rows["id"].to_pylist()) == np.flatnonzero((rows["a"] < 10) & (rows["b"] < 12)).tolist()
    )
    plan = table.explain("a < 10 AND b < 12")
    costs = {each.path: each.estimated_ms for each in plan.candidates}
    assert costs[plan.chosen] == min(costs.values())
    assert {("scan",), ("btree:a",), ("btree:b",), ("btree:a", "btree:b")} <= costs.keys()
    assert table.explain("a < 990 AND b < 995").chosen == ("scan",)


def test_a_second_index_that_says_the_same_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    values = np.random.default_rng(1).permutation(200_000)
    rows = pa.table({"id": np.arange(200_000), "a": values, "same": values})
    put(folder / "x.parquet", rows, 0, row_group_size=200)
    create_indexes(str(folder), ["btree:a", "btree:same"], clock=CLOCK)
    answer = open_table(str(folder)).answer(
        "a < 120000 AND same < 130000", ["id"], path=["btree:a", "btree:same"]
    )
    assert answer.count == 120_000
    settings = SecondarySettings(column_mib_ms=400.0, request_ms=5.0, block_ms=200.0)
    plan = open_table(str(folder), settings=settings).explain("a < 120000 AND same < 130000")
    assert ("btree:a", "btree:same") not in {plan.chosen}
    told = {each.path: each.estimated_rows for each in plan.candidates}
    assert told[("btree:a", "btree:same")] > 100_000


def test_the_clustering_key_is_found_and_is_one_candidate(folder: Path) -> None:
    table = open_table(str(folder))
    assert "primary:id" in {each["index"] for each in describe_indexes(str(folder))["indexes"]}
    assert table.explain("id BETWEEN 100 AND 120 AND user < 100").chosen == ("btree:user",) or (
        table.explain("id BETWEEN 100 AND 120 AND user < 100").chosen == ("primary:id",)
    )
    always = open_table(str(folder), settings=SecondarySettings(primary_always=True))
    plan = always.explain("id < 39000 AND user = 3")
    assert plan.chosen == ("primary:id",)
    assert "primary_always" in plan.reason
    assert table.explain("id < 39000 AND user = 3").chosen == ("btree:user",)
    taken = open_table(str(folder), settings=SecondarySettings(primary_share=0.02))
    assert taken.explain("id < 600 AND user = 3").chosen == ("primary:id",)
    assert ids_where(always, "id < 39000 AND user = 3") == ids_where(table, "id < 39000 AND user = 3")


def test_partition_columns_are_a_primary_path_and_come_back_as_columns(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    for day, name in enumerate(["2026-11-01", "2026-11-02", "__HIVE_DEFAULT_PARTITION__"]):
        put(folder / f"day={name}/x.parquet", events(day * ROWS, 1_000), day)
    create_indexes(str(folder), ["btree:user"], clock=CLOCK)
    table = open_table(str(folder), settings=SecondarySettings(primary_always=True))
    answer = table.answer("day = '2026-11-02'")
    assert answer.stats["path"] == ["primary:day"]
    assert answer.count == 1_000
    assert set(answer.rows["day"].cast(pa.string()).to_pylist()) == {"2026-11-02"}
    assert table.answer("day IS NULL", is_count=True).count == 1_000
    assert table.answer("day <> '2026-11-02'", is_count=True).count == 1_000


def test_an_index_that_holds_all_that_is_asked_for_fetches_nothing(folder: Path) -> None:
    answer = open_table(str(folder)).answer("kind = 2 AND user < 20000", is_count=True)
    rows = pa.concat_tables([pq.read_table(each) for each in sorted(folder.glob("*.parquet"))])
    kinds, users = rows["kind"].to_numpy(), rows["user"].to_numpy()
    assert answer.count == np.count_nonzero((kinds == 2) & (users < 20_000))
    assert answer.stats["row_groups_read"] == 0


def test_a_limit_stops_early(folder: Path) -> None:
    answer = open_table(str(folder)).answer(
        "message LIKE '%message 7%'", ["id"], limit=2, path=["ngram:message"]
    )
    assert answer.count == 2
    assert answer.stats["row_groups_read"] < answer.stats["row_groups_total"]


def test_grams_that_most_rows_hold_are_stopped(folder: Path) -> None:
    table = open_table(str(folder))
    assert table.answer("contains(message, 'message')", is_count=True).count == 2 * ROWS
    assert table.answer("contains(message, 'message')", ["id"], path=["ngram:message"]).stats[
        "candidates_read"
    ] == {"ngram:message": 0}
    assert ids_where(table, "contains(message, 'message 976 of 12')") == ids_where(
        table, "contains(message, 'message 976 of 12')", path=["scan"]
    )


def test_optimize_leaves_one_run_without_dead_entries_and_the_same_answers(folder: Path) -> None:
    table = open_table(str(folder))
    for number in range(3):
        put(folder / f"n{number}.parquet", events(300_000 + number * ROWS, 500), 10 + number)
        refresh_indexes(str(folder), clock=CLOCK)
    (folder / "a.parquet").unlink()
    refresh_indexes(str(folder), clock=CLOCK)
    before = ids_where(table, "user < 41000 OR kind = 3")
    assert optimize_indexes(str(folder)) is not None
    assert optimize_indexes(str(folder)) is None
    document = describe_indexes(str(folder))
    assert {each["runs"] for each in document["indexes"]} == {1}
    assert (
        ids_where(open_table(str(folder)), "user < 41000 OR kind = 3")
        == before
        == ids_where(table, "user < 41000 OR kind = 3")
    )
    assert table.answer("user < 10", is_count=True).stats["candidates_read"] == {"btree:user": 0}


def test_a_deleted_index_is_not_used_and_a_vacuum_removes_it(folder: Path) -> None:
    table = open_table(str(folder))
    delete_indexes(str(folder), ["btree:user"])
    assert table.explain("user = 3").chosen == ("scan",)
    report = vacuum_indexes(str(folder), grace=timedelta(0))
    assert report.removed
    assert "btree:user" not in {each["index"] for each in describe_indexes(str(folder))["indexes"]}
    create_indexes(str(folder), ["btree:user"], clock=CLOCK)
    assert table.explain("user = 3").chosen == ("btree:user",)


def test_a_damaged_run_is_an_error_that_names_it(folder: Path) -> None:
    storage = index_storage(str(folder))
    for stored in list(storage.objects_below("")):
        if stored.name.endswith("rows.parquet"):
            path = Path(storage.place) / stored.name
            path.chmod(0o644)
            path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(StorageError, match="refresh the metadata in full"):
        open_table(str(folder)).query("user = 3", path=["btree:user"])
    refresh_indexes(str(folder), in_full=True, clock=CLOCK)
    assert len(ids_where(open_table(str(folder)), "user = 3")) == 1


def test_a_delta_table_is_read_by_its_log(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_deltalake(str(folder), events(0, 2_000))
    create_indexes(str(folder), ["btree:user"], clock=CLOCK)
    table = open_table(str(folder))
    assert len(ids_where(table, "user = 7")) == 1
    write_deltalake(str(folder), events(10_000, 500), mode="append")
    assert len(ids_where(table, "user IN (7, 10007)")) == 2
    refresh_indexes(str(folder), clock=CLOCK)
    write_deltalake(str(folder), events(50_000, 500), mode="overwrite")
    assert ids_where(table, "user IN (7, 10007)") == []


def test_what_is_not_evaluated_as_spark_does_is_refused(folder: Path) -> None:
    table = open_table(str(folder))
    for where in (
        "upper(message) = 'X'",
        "user = kind",
        "message RLIKE 'x'",
        "message = 3",
        "user = 'x'",
        "user =",
    ):
        with pytest.raises(UnsupportedQuery):
            table.query(where)
    with pytest.raises(ConfigError, match="no column nobody"):
        table.query("nobody = 3")
    with pytest.raises(ConfigError, match="serves no predicate"):
        table.query("user = 3", path=["btree:kind"])
    with pytest.raises(UnsupportedQuery, match="nothing else"):
        table.query("user = 3 ORDER BY user")


def test_a_table_without_indexes_and_bad_indexes_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        open_table(str(tmp_path))
    put(tmp_path / "a.parquet", events(0, 10), 0)
    for bad in ("btree:nobody", "rtree:message,user", "ngram:user", "ngram:message:9", "btree:a,b", "hash:a"):
        with pytest.raises(ConfigError):
            create_indexes(str(tmp_path), [bad])


@pytest.mark.parametrize("where", ["contains(message, 'mes')", "NOT contains(message, 'mes')"])
def test_a_gram_that_most_rows_have_leaves_no_row_out_and_lets_none_in(tmp_path: Path, where: str) -> None:
    few = events(ROWS, 1_000).set_column(4, "message", pa.array(["mes", "other"] * 500))
    put(tmp_path / "a.parquet", events(0), 0)
    put(tmp_path / "b.parquet", few, 1)
    create_indexes(str(tmp_path), ["ngram:message"], clock=CLOCK)
    # An index costs nothing here, so that it is taken where it can be.
    table = open_table(
        str(tmp_path),
        settings=SecondarySettings(block_ms=0.0, held_block_ms=0.0, entry_ns=0.0, end_entry_ns=0.0),
    )
    expected = 500 if where.startswith("NOT") else ROWS + 500
    assert table.answer(where, is_count=True).count == expected
    assert table.answer(where, ["id"]).count == expected


def test_a_list_that_follows_the_first_is_weighed_by_the_rows_that_both_really_share(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    random = np.random.default_rng(2008)
    a = random.integers(0, 100_000, 200_000)
    columns = {
        "by": a + random.integers(-500, 500, len(a)),
        "near": a + random.integers(-8_000, 8_000, len(a)),
    }
    payload = pa.array(np.char.mod("%0100d", a))
    put(folder / "x.parquet", pa.table({"payload": payload, **columns}), 0, row_group_size=10_000)
    create_indexes(str(folder), ["btree:by", "btree:near"], clock=CLOCK)
    where = "by BETWEEN 58755 AND 58967 AND near BETWEEN 56599 AND 59308"
    # As if they were independent, one in forty of the rows of ``by`` would stay; it is one in five, and so
    # every row group is read either way: the second index spares reading its column there.
    plan = open_table(str(folder)).explain(where, ["payload"])
    assert plan.chosen == ("btree:by", "btree:near"), plan.reason
    told = {each.path: each for each in plan.candidates}
    # What was learned of both counts for the plan of the first one, too.
    assert told["btree:by", "btree:near"].estimated_ms < told["btree:by",].estimated_ms
    assert told["btree:by", "btree:near"].estimated_rows == 69
