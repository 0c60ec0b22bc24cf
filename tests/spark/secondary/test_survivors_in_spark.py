"""Files that Spark reads of tables with secondary indexes, and its reports of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from skipping_tables import aged, settings_of
from starskip.secondary.lifecycle import create_indexes, delete_indexes, index_storage
from starskip.spark import skipping
from starskip.spark.skipping.leaf_predicates import leaf_predicates
from starskip.spark.skipping.plan_tree import plan_tree
from starskip.spark.skipping.read_ratio import read_ratio
from starskip.spark.skipping.relation_facts import plan_document
from starskip.spark.skipping.table_finder import metadata_changed

pytestmark = pytest.mark.spark
FILES, ROWS = 6, 300


def write(folder: Path, number: int, seed: int | None = None) -> None:
    """Write a file whose columns are spread alike in all files, but for pairs of values."""
    random = np.random.default_rng(number if seed is None else seed)
    users = random.integers(0, 50, ROWS)
    rows = pa.table(
        {
            "id": np.arange(number * ROWS, (number + 1) * ROWS),
            "user": users,
            # Of a user's rows of this file alone the word is that of the file.
            "message": [f"the word is w{(user + number) % 50:02}x" for user in users.tolist()],
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, folder / f"part-{number}.parquet")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for number in range(FILES):
        write(tmp_path / "t", number)
    aged(tmp_path / "t")
    create_indexes(str(tmp_path / "t"), ["btree:user", "ngram:message"])
    metadata_changed()
    return tmp_path / "t"


def asked(spark: SparkSession, table: Path | DataFrame, where: str) -> tuple[list[int], dict[str, Any]]:
    frame = spark.read.parquet(str(table)) if isinstance(table, Path) else table
    rows = frame.where(where).select("id").collect()
    (stats,) = skipping.last_query_stats(spark)
    skipping.disable(spark)
    expected = sorted(row[0] for row in frame.where(where).select("id").collect())
    skipping.enable(spark)
    assert sorted(row[0] for row in rows) == expected
    return expected, stats


PAIR = "user = 7 AND message LIKE '%w09x%'"


def test_the_intersection_leaves_files_alone_that_neither_index_does(
    skipping_on: SparkSession, table: Path
) -> None:
    rows, stats = asked(skipping_on, table, PAIR)
    assert rows and {each // ROWS for each in rows} == {2}
    assert (stats["files_read"], stats["files_total"]) == (1, FILES)
    assert stats["skipped_by"]["btree:user ∩ ngram:message"] == FILES - 1
    assert stats["skipped_by"]["btree:user"] < FILES - 1
    assert stats["rows_skipped"] == (FILES - 1) * ROWS
    assert stats["not_skipped_because"] == []


def test_an_or_of_two_indexes_leaves_alone_what_holds_neither(skipping_on: SparkSession, table: Path) -> None:
    rows, stats = asked(skipping_on, table, "user = 1000 OR message LIKE '%nothing of the kind%'")
    assert rows == []
    assert stats["files_read"] == 0


def test_a_new_and_a_changed_file_are_read(skipping_on: SparkSession, table: Path) -> None:
    write(table, FILES)
    write(table, 0, seed=99)
    aged(table)
    skipping_on.catalog.refreshByPath(str(table))
    _, stats = asked(skipping_on, table, "user = 1000")
    assert stats["files_read"] == 2
    assert (
        "2 of 7 files are new, changed, or too young to be trusted: refresh" in stats["not_skipped_because"]
    )


def test_beside_skipping_indexes_both_leave_files_alone(skipping_on: SparkSession, table: Path) -> None:
    skipping.create(skipping_on, str(table), ["minmax:id"])
    _, stats = asked(skipping_on, table, f"id < {2 * ROWS} AND message LIKE '%w09x%' AND user IN (8, 9)")
    alone = {"minmax:id", "btree:user", "ngram:message", "primary:id"}
    assert set(stats["skipped_by"]) == {*alone, "btree:user ∩ ngram:message ∩ primary:id"}
    assert stats["skipped_by"]["minmax:id"] == FILES - 2
    assert stats["files_read"] <= 2
    assert stats["rows_skipped"] == (FILES - stats["files_read"]) * ROWS


@pytest.mark.parametrize(
    "where",
    [
        # With a third argument levenshtein is -1 beyond it.
        "levenshtein(message, 'no such text at all', 2) <= 3",
        "NOT message LIKE '%w09x%'",
        "user + 1 = 8",
        "CAST(user AS STRING) = '7'",
        "user = 7 OR id % 2 = 0",
    ],
)
def test_what_entries_do_not_answer_is_read_whole(skipping_on: SparkSession, table: Path, where: str) -> None:
    _, stats = asked(skipping_on, table, where)
    assert stats["files_read"] == FILES
    assert stats["not_skipped_because"]


def test_deleted_indexes_are_not_used(skipping_on: SparkSession, table: Path) -> None:
    delete_indexes(str(table), None)
    metadata_changed()
    _, stats = asked(skipping_on, table, PAIR)
    assert stats["files_read"] == FILES


def test_a_damaged_index_costs_what_it_left_alone_and_not_the_query(
    skipping_on: SparkSession, table: Path
) -> None:
    storage = index_storage(str(table))
    (place,) = {Path(storage.place.removeprefix("file:"))}
    damaged = [path for path in place.rglob("*rows.parquet") if "ngram" in str(path)]
    assert damaged
    for path in damaged:
        path.write_bytes(b"no index at all")
    metadata_changed()
    _, stats = asked(skipping_on, table, PAIR)
    assert "every file may hold a row that btree:user leaves" in stats["not_skipped_because"]
    (reason,) = [each for each in stats["not_skipped_because"] if "ngram:message cannot be read" in each]
    assert "refresh" in reason


SETTING = "spark.starskip.secondary"


def test_an_index_of_too_many_entries_is_left_out_with_the_reason(
    skipping_on: SparkSession, table: Path
) -> None:
    with settings_of(skipping_on, {f"{SETTING}.planning_entries": "10"}):
        _, stats = asked(skipping_on, table, "user = 7")
    assert stats["files_read"] == FILES
    (reason,) = stats["not_skipped_because"]
    assert reason.startswith("btree:user has ") and reason.endswith("too many for a plan")
    _, stats = asked(skipping_on, table, "user = 1000")
    assert stats["skipped_by"] == {"btree:user": FILES}


def test_a_setting_that_cannot_be_costs_the_indexes_and_not_the_query(
    skipping_on: SparkSession, table: Path
) -> None:
    with settings_of(skipping_on, {f"{SETTING}.planning_entries": "many"}):
        _, stats = asked(skipping_on, table, PAIR)
    assert stats["files_read"] == FILES
    assert any("secondary.planning_entries" in each for each in stats["not_skipped_because"])


CHEAP_FILES = {f"{SETTING}.file_mib_ms": "1", f"{SETTING}.lookup_ms": "7"}
"""Opening a file, which takes as long as 4 MiB, takes less than a look-up in an index; two take more."""


def test_an_index_is_not_read_where_the_files_take_less(skipping_on: SparkSession, table: Path) -> None:
    with settings_of(skipping_on, {f"{SETTING}.file_mib_ms": "0.00001"}):
        _, stats = asked(skipping_on, table, PAIR)
        (explained,) = skipping.explain(skipping_on.read.parquet(str(table)).where(PAIR))
    assert (stats["files_read"], stats["skipped_by"]) == (FILES, {})
    assert explained["not_skipped_because"] == stats["not_skipped_because"]
    for reason, name in zip(stats["not_skipped_because"], ("btree:user", "ngram:message"), strict=True):
        assert reason.startswith(f"{name} is not used: its ")
        assert reason.endswith(f"and the files left to read 0.00 ms ({FILES} files)")


def test_what_min_max_leaves_alone_is_no_gain_of_another_index(
    skipping_on: SparkSession, table: Path
) -> None:
    skipping.create(skipping_on, str(table), ["minmax:id"])
    with settings_of(skipping_on, CHEAP_FILES):
        _, all_files = asked(skipping_on, table, "user = 1000")
        _, one_file = asked(skipping_on, table, f"user = 1000 AND id < {ROWS}")
    assert (all_files["files_read"], set(all_files["skipped_by"])) == (0, {"btree:user"})
    assert "btree:user" not in one_file["skipped_by"]
    assert one_file["files_read"] == 1
    (reason,) = [each for each in one_file["not_skipped_because"] if "btree:user" in each]
    assert reason.endswith(" ms (1 file)")


def test_what_partition_values_leave_alone_is_no_gain_either(
    skipping_on: SparkSession, tmp_path: Path
) -> None:
    for number in range(FILES):
        write(tmp_path / "t" / f"part={number}", number)
    aged(tmp_path / "t")
    create_indexes(str(tmp_path / "t"), ["btree:user"])
    metadata_changed()
    with settings_of(skipping_on, CHEAP_FILES):
        _, all_files = asked(skipping_on, tmp_path / "t", "user = 1000 AND part >= 0")
        _, one_file = asked(skipping_on, tmp_path / "t", "user = 1000 AND part = 3")
    assert (all_files["files_read"], set(all_files["skipped_by"])) == (0, {"btree:user"})
    assert (one_file["files_read"], one_file["skipped_by"]) == (1, {})
    assert one_file["not_skipped_because"][0].endswith(" ms (1 file)")


def test_only_the_columns_of_a_query_count(skipping_on: SparkSession, table: Path) -> None:
    frame = skipping_on.read.parquet(str(table))

    def ratio(query: DataFrame) -> float:
        plan = query._jdf.queryExecution().optimizedPlan()
        ((leaf, _),) = leaf_predicates(plan_tree(plan_document(plan)))
        return read_ratio(leaf)

    # Spark takes 8 bytes for a row, 8 for a long number and 20 for a text.
    assert ratio(frame.where("user = 7")) == 1.0
    assert ratio(frame.where("user = 7").select("id")) == 24 / 44
    assert ratio(frame.where(PAIR).selectExpr("count(*)")) == 36 / 44


@pytest.mark.slow
def test_old_times_and_times_beyond_2262_are_found(skipping_on: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path / "times")
    texts = ["0001-01-02 00:00:00", "1582-10-10 00:00:00", "1899-12-31 23:00:00", "2026-11-23 10:00:00"]
    texts += ["2262-04-12 00:00:00", "9999-12-31 23:59:59"]
    for mode in ("CORRECTED", "LEGACY"):
        kinds = ("datetime", "int96")
        with settings_of(skipping_on, {f"spark.sql.parquet.{kind}RebaseModeInWrite": mode for kind in kinds}):
            for number, text in enumerate(texts):
                frame = skipping_on.sql(
                    f"SELECT {number} AS id, TIMESTAMP '{text}' AS ts, DATE '{text[:10]}' AS d"
                )
                frame.coalesce(1).write.mode("append").parquet(folder)
    aged(tmp_path / "times")
    create_indexes(folder, ["btree:ts", "btree:d"])
    metadata_changed()
    table, read = skipping_on.read.parquet(folder), []
    for text in texts:
        for name, literal in (("ts", f"TIMESTAMP '{text}'"), ("d", f"DATE '{text[:10]}'")):
            for operator in ("=", "<", ">="):
                _, stats = asked(skipping_on, table, f"{name} {operator} {literal}")
                read.append(stats["files_read"])
    assert min(read) == 2
