"""``last_query_stats`` tells of the last query of the calling thread, whoever plans it, and of no other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark import InheritableThread
from pyspark.sql import SparkSession
from skipping_tables import pruned_by_skip_alone, settings_of
from starskip.spark import skipping

pytestmark = pytest.mark.spark

Table = Callable[..., str]
FILES = 5
ARROW = {"spark.sql.execution.arrow.pyspark.enabled": "true"}


@pytest.fixture
def path(spark: SparkSession, table_of: Table) -> str:
    """A table of 100 rows in 5 files, 20 consecutive ones in each."""
    return table_of(spark.range(0, 100, 1, FILES).selectExpr("id", "id % 2 AS odd"), "minmax:id")


def files(spark: SparkSession) -> list[tuple[int, int]]:
    """Read and there are of each relation."""
    stats = skipping.last_query_stats(spark)
    return sorted((each["files_read"], each["files_total"]) for each in stats)


@pytest.mark.parametrize("ask", ["toPandas", "toArrow"])
def test_queries_that_spark_serves_from_a_thread_of_its_own(
    skipping_on: SparkSession, path: str, ask: str
) -> None:
    whole = skipping_on.read.parquet(path)

    def asked(low: int, most: int) -> tuple[int, list[tuple[int, int]]]:
        rows = getattr(whole.where(f"id BETWEEN {low} AND {most}"), ask)()
        return len(rows), files(skipping_on)

    with settings_of(skipping_on, ARROW):
        assert whole.count() == 100
        assert asked(0, 19) == (20, [(1, FILES)])
        assert asked(0, 39) == (40, [(2, FILES)])

        def other(number: int) -> list[Any]:
            skipping.last_query_stats(skipping_on)
            return [asked(0, 20 * number + 19) for _ in range(2)]

        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(other, range(3)))
        assert found == [[(20 * number + 20, [(number + 1, FILES)])] * 2 for number in range(3)]
        assert files(skipping_on) == [(2, FILES)]


def test_a_thread_that_inherits_properties_is_another_one(skipping_on: SparkSession, path: str) -> None:
    whole = skipping_on.read.parquet(path)
    with settings_of(skipping_on, ARROW):
        assert len(whole.where("id < 40").toArrow()) == 40
        thread = InheritableThread(target=lambda: whole.where("id = 7").toArrow())
        thread.start()
        thread.join()
        assert files(skipping_on) == [(2, FILES)]


def test_nothing_is_told_of_before_it_was_disabled(skipping_on: SparkSession, path: str) -> None:
    chosen = skipping_on.read.parquet(path).where("id = 7")
    assert len(chosen.collect()) == 1
    assert files(skipping_on) == [(1, FILES)]
    planned = skipping_on.read.parquet(path).where("id < 40")
    assert len(planned.inputFiles()) == 2
    skipping.disable(skipping_on)
    assert skipping.last_query_stats(skipping_on) == []
    assert (len(chosen.collect()), len(planned.collect())) == (1, 40)
    assert skipping_on.read.parquet(path).where("id > 7").count() == 92
    assert skipping.last_query_stats(skipping_on) == []
    skipping.enable(skipping_on)
    assert skipping.last_query_stats(skipping_on) == []
    # Both are run for the second time, of which Spark's metrics count no files.
    assert len(chosen.collect()) == 1
    assert files(skipping_on) == [(1, FILES)]
    assert len(planned.collect()) == 40
    assert files(skipping_on) == [(2, FILES)]


def test_what_skip_decided(spark: SparkSession, path: str) -> None:
    skipping.disable(spark)
    whole = spark.read.parquet(path)
    odd = spark.read.parquet(path).where("odd = 1")
    chosen = skipping.skip(whole.where("id = 8").union(odd))
    assert files(spark) == [(1, FILES), (FILES, FILES)]
    for _ in range(2):
        assert len(chosen.collect()) == 51
        assert files(spark) == [(1, FILES), (FILES, FILES)]
    stats = skipping.last_query_stats(spark)
    assert sorted((each["files_read"], each["rows_skipped"]) for each in stats) == [(1, 80), (FILES, 0)]
    assert stats[0]["skipped_by"] == {"minmax:id": 4}

    several = skipping.skip(whole.where("id < 40"))
    assert files(spark) == [(2, FILES)]
    assert several.where("odd = 1").count() == 20
    assert files(spark) == [(2, FILES)]
    assert chosen.count() == 51
    assert files(spark) == [(1, FILES), (FILES, FILES)]

    skipping.skip(odd)
    (whole_read,) = skipping.last_query_stats(spark)
    assert whole_read["files_read"] == FILES
    assert whole_read["not_skipped_because"] == ["no index is on column odd"]
    skipping.disable(spark)
    assert skipping.last_query_stats(spark) == []


def test_skip_where_the_rule_is_on(skipping_on: SparkSession, path: str) -> None:
    whole = skipping_on.read.parquet(path)
    chosen = skipping.skip(whole.where("id = 7"))
    assert files(skipping_on) == [(1, FILES)]
    assert whole.count() == 100
    assert files(skipping_on) == [(FILES, FILES)]
    assert len(chosen.collect()) == 1
    assert files(skipping_on) == [(1, FILES)]
    both = chosen.select("id").union(whole.where("id > 85").select("id"))
    assert both.count() == 15
    assert files(skipping_on) == [(1, FILES), (1, FILES)]
    (stats,) = skipping.explain(chosen)
    assert (stats["files_read"], stats["rows_skipped"]) == (1, 80)


def test_the_active_session_of_the_thread_may_be_another_one(
    spark: SparkSession, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.caseSensitive", "true")
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    found: list[Any] = []

    def enable_and_skip() -> None:
        jvm: Any = spark._jvm
        sessions = jvm.org.apache.spark.sql.classic.SparkSession
        sessions.setActiveSession(other._jsparkSession)
        skipping.enable(spark)
        found.append(skipping.is_enabled(spark))
        skipping.disable(spark)
        chosen = skipping.skip(spark.read.parquet(path).where("id = 7"))
        found.append(len(chosen.inputFiles()))
        found.append(str(sessions.getActiveSession().get().sessionUUID()))

    thread = threading.Thread(target=enable_and_skip)
    thread.start()
    thread.join()
    assert found == [True, 1, str(other._jsparkSession.sessionUUID())]
    assert not caplog.records


def test_the_self_test_is_no_query(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pruned_by_skip_alone(monkeypatch)
    session = spark.newSession()
    skipping.enable(session)
    assert "skip(dataframe)" in caplog.text
    assert skipping.last_query_stats(session) == []
