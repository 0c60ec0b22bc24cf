"""Queries with skipping and without: rows, files, bytes, and what cannot be asked."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from night_tables import FILES, S, below, call, indexes, literal
from pyspark.sql import SparkSession
from starskip.errors import UnsupportedQuery
from starskip.indexes.skipping.file_metadata import FileMetadata, Mask
from starskip.indexes.skipping.index_types.min_max import MinMaxClause
from starskip.lake.lake_table import LakeTable
from starskip.predicates.expression import Column, Expression
from starskip.spark import skipping
from starskip.spark.skipping.relation_facts import ENABLED
from starskip.spark.skipping.session import last_query_stats
from starskip.spark.skipping.spark_skipping_engine import SparkSkipping

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_query_with_skipping_and_without(
    engine: SparkSkipping, tables: dict[str, LakeTable], root: str, kind: str
) -> None:
    chosen, asked = tables[kind], below(150)
    engine.refresh(chosen, indexes("minmax:id"), root)
    found = engine.replay(chosen, asked, root)
    assert found.files_total == found.plain.files == FILES
    assert found.skipping.files == 2
    assert (found.plain.rows, found.plain.digest) == (found.skipping.rows, found.skipping.digest)
    assert found.plain.rows == 150
    assert found.plain.size_bytes > found.skipping.size_bytes > 0
    assert found.not_skipped_because == ()
    as_many = engine.replay(chosen, call("And", below(300), call("Not", asked)), root).plain
    assert (as_many.rows, as_many.digest != found.plain.digest) == (150, True)


def test_a_query_of_no_row_reads_nothing(engine: SparkSkipping, table: LakeTable, root: str) -> None:
    engine.refresh(table, indexes("minmax:id"), root)
    found = engine.replay(table, below(-3), root)
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
    found = engine.replay(table, below(150), root)
    assert (found.plain.rows, found.skipping.rows) == (150, 0)
    assert found.plain.digest != found.skipping.digest


def test_why_nothing_was_skipped_is_told(engine: SparkSkipping, table: LakeTable, root: str) -> None:
    found = engine.replay(table, below(150), root)
    assert found.skipping.files == FILES
    assert any("no metadata" in reason for reason in found.not_skipped_because)


def test_what_was_enabled_before_is_enabled_after(
    spark: SparkSession, engine: SparkSkipping, table: LakeTable, root: str, tmp_path: Path
) -> None:
    engine.refresh(table, indexes("minmax:id"), root)
    skipping.enable(spark, root)
    spark.conf.set(ENABLED, "false")
    try:
        assert engine.replay(table, below(150), str(tmp_path / "other")).skipping.files == FILES
        assert engine.replay(table, below(150), root).skipping.files == 2
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
        engine.replay(table, predicate, None)
    assert "\n" not in str(told.value)
