"""Queries with skipping and without: rows, files, bytes, and what cannot be asked."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

import pyarrow as pa
import pytest
from night_tables import FILES, S, below, call, indexes, literal
from pyspark.sql import SparkSession
from starskip.errors import StarskipError, UnsupportedQuery
from starskip.file_metadata.skipping_engine import Replay
from starskip.lake.lake_table import LakeTable
from starskip.predicates.expression import Column, Expression
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.skipping.index_types.min_max import MinMaxClause
from starskip.spark import skipping
from starskip.spark.skipping.relation_facts import ENABLED
from starskip.spark.skipping.session import last_query_stats
from starskip.spark.skipping.spark_skipping_engine import SparkSkipping

pytestmark = [pytest.mark.slow, pytest.mark.spark]


def replayed(engine: SparkSkipping, table: LakeTable, asked: Expression, root: str | None) -> Replay:
    """Open a table for one query alone."""
    with engine.replaying(table, root) as replay:
        return replay(asked)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_query_with_skipping_and_without(
    engine: SparkSkipping, tables: dict[str, LakeTable], root: str, kind: str
) -> None:
    chosen, asked = tables[kind], below(150)
    engine.refresh(chosen, indexes("minmax:id"), root)
    with engine.replaying(chosen, root) as replay:
        found = replay(asked)
        as_many = replay(call("And", below(300), call("Not", asked))).plain
    assert found.files_total == found.plain.files == FILES
    assert found.skipping.files == 2
    assert (found.plain.rows, found.plain.digest) == (found.skipping.rows, found.skipping.digest)
    assert found.plain.rows == 150
    assert found.plain.size_bytes > found.skipping.size_bytes > 0
    assert found.not_skipped_because == ()
    assert (as_many.rows, as_many.digest != found.plain.digest) == (150, True)


def test_what_a_query_reads_is_known_before_it_runs_without_the_partitions_that_it_leaves_out(
    spark: SparkSession, engine: SparkSkipping, tmp_path: Path, root: str
) -> None:
    written = LakeTable(str(tmp_path / "t"))
    rows = spark.range(0, 400, 1, 4).selectExpr("id", "id % 4 AS part")
    rows.write.partitionBy("part").parquet(written.path)
    engine.refresh(written, indexes("minmax:id"), root)
    of_part = call("EqualTo", Column(("part",), "bigint"), literal(1, pa.int64()))
    with engine.replaying(written, root) as replay:
        for asked in (below(20), call("And", below(20), of_part)):
            expected = replay.plain_bytes(asked)
            found = replay(asked)
            assert expected == found.plain.size_bytes > 0
            assert found.read_bytes == expected + found.skipping.size_bytes
        assert replay.plain_bytes(of_part) < replay.plain_bytes(below(20))
        with pytest.raises(StarskipError, match="nobody_knows"):
            replay.plain_bytes(call("udf:nobody_knows", S))


def test_a_query_of_no_row_reads_nothing(engine: SparkSkipping, table: LakeTable, root: str) -> None:
    engine.refresh(table, indexes("minmax:id"), root)
    found = replayed(engine, table, below(-3), root)
    assert (found.skipping.files, found.skipping.rows, found.plain.rows) == (0, 0, 0)
    assert found.plain.digest == found.skipping.digest


def test_metadata_that_skips_too_much_is_seen(
    engine: SparkSkipping, table: LakeTable, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.refresh(table, indexes("minmax:id"), root)
    right = MinMaxClause.may_match

    def wrong(clause: MinMaxClause, metadata: FileMetadata) -> Mask:
        # Not on the files of the self-test: then nothing would be skipped at all.
        found = right(clause, metadata)
        return ~found if metadata.files == FILES else found

    monkeypatch.setattr(MinMaxClause, "may_match", wrong)
    found = replayed(engine, table, below(150), root)
    assert (found.plain.rows, found.skipping.rows) == (150, 0)
    assert found.plain.digest != found.skipping.digest


def test_why_nothing_was_skipped_is_told(engine: SparkSkipping, table: LakeTable, root: str) -> None:
    found = replayed(engine, table, below(150), root)
    assert found.skipping.files == FILES
    assert any("no metadata" in reason for reason in found.not_skipped_because)


def test_a_table_that_is_rewritten_between_two_queries_is_opened_anew(
    spark: SparkSession, engine: SparkSkipping, tmp_path: Path, root: str
) -> None:
    written = LakeTable(str(tmp_path / "t"))
    spark.range(0, 400, 1, 4).write.parquet(written.path)
    with engine.replaying(written, root) as replay:
        assert (replay(below(150)).plain.rows, replay(below(250)).files_total) == (150, 4)
        spark.range(0, 100, 1, 2).write.mode("overwrite").parquet(written.path)
        found = replay(below(150))
        assert (found.plain.rows, found.skipping.rows, found.files_total) == (100, 100, 2)
        rmtree(written.path)
        with pytest.raises(StarskipError, match="does not exist"):
            replay(below(150))


def test_indexes_that_are_made_between_two_queries_are_used(
    engine: SparkSkipping, table: LakeTable, root: str
) -> None:
    with engine.replaying(table, root) as replay:
        assert replay(below(150)).skipping.files == FILES
        engine.refresh(table, indexes("minmax:id"), root)
        assert replay(below(150)).skipping.files == 2


def test_what_was_enabled_before_is_enabled_after(
    spark: SparkSession, engine: SparkSkipping, table: LakeTable, root: str, tmp_path: Path
) -> None:
    engine.refresh(table, indexes("minmax:id"), root)
    skipping.enable(spark, root)
    spark.conf.set(ENABLED, "false")
    try:
        assert replayed(engine, table, below(150), str(tmp_path / "other")).skipping.files == FILES
        assert replayed(engine, table, below(150), root).skipping.files == 2
        assert skipping.is_enabled(spark)
        assert spark.conf.get(ENABLED) == "false"
        spark.conf.unset(ENABLED)
        spark.read.parquet(table.path).where("id < 150").collect()
        assert last_query_stats(spark)[0]["files_read"] == 2
    finally:
        spark.conf.unset(ENABLED)
        skipping.disable(spark)


@pytest.mark.parametrize(
    ("predicate", "why"),
    [
        (call("udf:nobody_knows", S), "nobody_knows"),
        (call("EqualTo", call("udf:int", S), literal(1, pa.int32())), "CAST_INVALID_INPUT"),
        (call("Unknown"), "not known"),
        (call("EqualTo", Column(("gone",), "string"), S), "gone"),
        (call("udf:explode", Column(("m",), "map<string,bigint>")), "explode"),
    ],
)
def test_what_cannot_be_asked(
    engine: SparkSkipping, table: LakeTable, predicate: Expression, why: str
) -> None:
    with pytest.raises(UnsupportedQuery, match=why) as told:
        replayed(engine, table, predicate, None)
    assert "\n" not in str(told.value)
