"""Reasons why a query reads all files, in plain words; and files that several indexes skip together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from skipping_tables import settings_of
from starskip.spark import skipping

pytestmark = pytest.mark.spark

Table = Callable[..., str]
EVERY_FILE = "by the metadata every file may hold a matching row"


@pytest.fixture
def t(skipping_on: SparkSession, table_of: Table) -> str:
    """A table of 40 rows in 4 files; in the first two ``a`` is small, in the last two ``b`` is."""
    frame = skipping_on.range(0, 40, 1, 4).selectExpr(
        "id",
        "if(id < 20, id, id + 1000) AS a",
        "if(id < 20, id + 1000, id) AS b",
        "timestamp_seconds(id * 86400) AS ts",
        "cast(id AS string) AS s",
        "id % 2 = 0 AS even",
    )
    path = table_of(frame, "minmax:id", "minmax:a", "minmax:b", "minmax:ts", "minmax:s")
    skipping_on.read.parquet(path).createOrReplaceTempView("t")
    return path


def told(spark: SparkSession, sql: str) -> dict[str, Any]:
    found = skipping.explain(sql, spark)[0]
    assert found["files_read"] == found["files_total"], found
    return found


@pytest.mark.parametrize(
    ("where", "reasons"),
    [
        ("month(ts) = 5", ["no index understands month(ts)"]),
        ("month(ts) = -1 OR id < 0", ["no index understands month(ts)"]),
        (
            "month(ts) = 5 AND id >= 0",
            ["no index understands month(ts)", f"{EVERY_FILE} for the other predicates"],
        ),
        ("id >= 0", [EVERY_FILE]),
        ("ts IS NOT NULL", [EVERY_FILE]),
        ("even", ["no index is on column even"]),
        ("NOT even AND upper(s) = 'X'", ["no index is on column even", "no index understands upper(s)"]),
        ("s LIKE '%7%'", ["no index of s understands LIKE '%x%' with this value"]),
        ("s NOT LIKE '%7%'", ["no index of s understands NOT LIKE '%x%' with this value"]),
        ("a < b", ["a and b are compared with each other, which no index understands"]),
        ("cast(id AS string) = '7'", ["no index understands cast(id)"]),
        ("id % 3 = 7", ["no index understands remainder(id)"]),
        ("id < rand() - 1", ["the value that id is compared with is known only when the query runs"]),
    ],
)
def test_what_no_index_understands(skipping_on: SparkSession, t: str, where: str, reasons: list[str]) -> None:
    assert told(skipping_on, f"SELECT * FROM t WHERE {where}")["not_skipped_because"] == reasons


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM t", "there is no predicate on the files"),
        ("SELECT * FROM (SELECT * FROM t LIMIT 30) WHERE id = -1", "rows go through a LIMIT before"),
        (
            "SELECT * FROM (SELECT s, max(id) m FROM t GROUP BY s) WHERE m = -1",
            "rows go through an aggregate",
        ),
        (
            "SELECT * FROM (SELECT *, row_number() OVER (ORDER BY s) r FROM t) WHERE id = -1",
            "rows go through a window function before",
        ),
        (
            "SELECT l.id FROM t l JOIN t r ON l.id = r.a",
            "there is no predicate on the files but that of a join",
        ),
        (
            "SELECT * FROM t WHERE id IN (SELECT a FROM t)",
            "the value that id is compared with is known only when",
        ),
    ],
)
def test_what_stands_between_a_filter_and_the_files(
    skipping_on: SparkSession, t: str, sql: str, reason: str
) -> None:
    found = skipping.explain(sql, skipping_on)
    assert all(each["files_read"] == each["files_total"] for each in found)
    assert reason in " ".join(each["not_skipped_because"][0] for each in found)


def test_what_two_indexes_skip_together(skipping_on: SparkSession, t: str) -> None:
    (found,) = skipping.explain("SELECT * FROM t WHERE a = 5 OR b = 25", skipping_on)
    assert (found["files_read"], found["files_total"]) == (2, 4)
    assert found["skipped_by"] == {"minmax:a ∪ minmax:b": 2}
    assert found["not_skipped_because"] == []
    (found,) = skipping.explain("SELECT * FROM t WHERE (a = 5 OR b = 25) AND id < 10", skipping_on)
    assert found["files_read"] == 1
    assert found["skipped_by"] == {"minmax:id": 3}
    (found,) = skipping.explain("SELECT * FROM t WHERE (a = 5 OR b = 25) AND id < 20", skipping_on)
    assert found["skipped_by"] == {"minmax:id": 2, "minmax:a ∪ minmax:b": 2}


def test_indexes_that_are_deleted(skipping_on: SparkSession, t: str) -> None:
    skipping.delete(skipping_on, t)
    reasons = told(skipping_on, "SELECT * FROM t WHERE id = 7")["not_skipped_because"]
    assert len(reasons) == 1 and "are deleted: restore them" in reasons[0]


def test_a_table_without_files(skipping_on: SparkSession, t: str) -> None:
    empty = skipping_on.read.option("pathGlobFilter", "no-such-file").schema("id bigint").parquet(t)
    (found,) = skipping.explain(empty.where("id = 7"))
    assert (found["files_total"], found["files_read"]) == (0, 0)
    assert found["not_skipped_because"]


def test_a_source_of_the_second_version(skipping_on: SparkSession, t: str) -> None:
    with settings_of(skipping_on, {"spark.sql.sources.useV1SourceList": "avro"}):
        rows = skipping_on.read.parquet(t).where("id = 7")
        assert rows.count() == 1
        (found,) = skipping.last_query_stats(skipping_on)
        (explained,) = skipping.explain(rows)
    assert found["path"].endswith(t) and (found["files_total"], found["files_read"]) == (4, 4)
    for each in (found, explained):
        assert len(each["not_skipped_because"]) == 1
        assert "DataSource V2" in each["not_skipped_because"][0]
        assert "useV1SourceList" in each["not_skipped_because"][0]


def test_rows_of_a_cache(skipping_on: SparkSession, t: str) -> None:
    cached = skipping_on.read.parquet(t).where("id < 20").cache()
    assert cached.count() == 20
    assert cached.where("id = 7").count() == 1
    (found,) = skipping.last_query_stats(skipping_on)
    cached.unpersist()
    assert found["not_skipped_because"] == ["its rows are read from a cache, which was filled before"]
    assert found["files_total"] is None


def test_a_stream(skipping_on: SparkSession, t: str, tmp_path: Path) -> None:
    stream = skipping_on.readStream.schema("id bigint").parquet(t).where("id = 7")
    (explained,) = skipping.explain(stream)
    assert "read as a stream" in explained["not_skipped_because"][0]
    query = (
        stream.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    query.awaitTermination(120)
    (found,) = skipping.last_query_stats(skipping_on)
    assert f"{t}/" in found["path"]
    assert found["not_skipped_because"] == explained["not_skipped_because"]
    assert skipping_on.read.parquet(str(tmp_path / "out")).count() == 1
    (found, *_) = skipping.last_query_stats(skipping_on)
    assert "its files are listed by MetadataLogFileIndex" in found["not_skipped_because"][0]


def test_a_query_without_relations_has_no_reasons(skipping_on: SparkSession) -> None:
    assert skipping_on.range(3).count() == 3
    assert skipping.last_query_stats(skipping_on) == []
