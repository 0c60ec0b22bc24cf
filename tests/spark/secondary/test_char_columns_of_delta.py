"""Secondary indexes and star-trees of Delta tables with CHAR(n): Spark's rows and values, by any writer."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from skipping_tables import aged, settings_of
from starskip.errors import SourceError, StaleTree, UnsupportedQuery
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.local_engine import LocalEngine
from starskip.secondary import open_table
from starskip.secondary.lifecycle import create_indexes, refresh_indexes
from starskip.spark import skipping
from starskip.spark.skipping.table_finder import metadata_changed
from starskip.spark.star_trees import StarTrees
from starskip.star_tree.build.publish_trees import publish_trees
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.serving.answer_sql import answer_sql
from starskip.star_tree.serving.tree_set import open_trees
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = [pytest.mark.spark, pytest.mark.table_formats, pytest.mark.timeout(900)]

PADDING = "spark.sql.readSideCharPadding"


@pytest.mark.slow
@pytest.mark.parametrize("is_plain", [False, True])
def test_fields_of_structs_within_lists_and_maps(spark: SparkSession, tmp_path: Path, is_plain: bool) -> None:
    path = str(tmp_path / "t")
    inner = "struct<c: char(3), v: varchar(3)>"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id bigint, l array<{inner}>, m map<char(2), {inner}>, "
        f"s struct<l: array<array<{inner}>>, c: char(4)>) USING delta"
    )
    made = "named_struct('c', 'a', 'v', 'b')"
    spark.sql(
        f"SELECT 1L id, array({made}, NULL) l, map('k', {made}) m, "
        f"named_struct('l', array(array({made})), 'c', 'x') s"
    ).write.format("delta").mode("append").save(path)
    name = f"delta.`{path}`"
    if is_plain:
        shutil.rmtree(f"{path}/_delta_log")
        name = f"parquet.`{path}`"
    (wanted,) = (each.asDict(recursive=True) for each in spark.sql(f"SELECT * FROM {name}").collect())
    assert is_plain or wanted["l"][0]["c"] == "a  "
    create_indexes(path, ["btree:id"])
    for by in ((), ("scan",)):
        (found,) = open_table(path).query("id = 1", path=by).to_pylist()
        assert {**found, "m": dict(found["m"])} == wanted, by


def small_table(spark: SparkSession, path: str) -> str:
    """A table of six files, the first of them with a value in CHAR(5) that is shorter."""
    name = f"delta.`{path}`"
    spark.sql(f"CREATE TABLE {name} (id bigint, c char(5), m bigint) USING delta")
    for number, each in enumerate(("'a'", "'abcde'", "''", "NULL", "' a'", "'b'")):
        spark.sql(f"INSERT INTO {name} VALUES ({number}, {each}, 1)")
    return name


CONDITIONS = (
    "c = 'a'",
    "c = 'a    '",
    "c = 'a      '",
    "c IN ('a', 'b')",
    "c IN ('a', NULL)",
    "c LIKE 'a'",
    "c LIKE 'a%'",
    "c LIKE '% '",
    "c < 'a!'",
    "c BETWEEN 'a' AND 'a  '",
    "contains(c, 'a ')",
    "endswith(c, 'b')",
    "levenshtein(c, 'a') <= 1",
    "c IS NULL",
    "c = 'b' OR c = 'a'",
)


@pytest.mark.slow
@pytest.mark.parametrize("is_padded", [True, False])
def test_spark_loses_no_row_by_indexes_of_padded_values(
    skipping_on: SparkSession, tmp_path: Path, is_padded: bool
) -> None:
    spark, path = skipping_on, str(tmp_path / "t")
    with settings_of(spark, {PADDING: str(is_padded).lower(), "spark.starskip.secondary.file_mib_ms": "1e9"}):
        name = small_table(spark, path)
        wanted = {each: spark.sql(f"SELECT id FROM {name} WHERE {each}").collect() for each in CONDITIONS}
        create_indexes(path, ["btree:c", "ngram:c"])
        metadata_changed()
        left_out = 0
        for each in CONDITIONS:
            found = spark.sql(f"SELECT id FROM {name} WHERE {each}").collect()
            assert sorted(found) == sorted(wanted[each]), each
            by = skipping.last_query_stats(spark)[0]["skipped_by"]
            left_out += sum(count for index, count in by.items() if "btree" in index or "ngram" in index)
            # How a value is padded says nothing of which are null.
            assert is_padded or each == "c IS NULL" or not any("c" in index for index in by), (each, by)
        assert left_out > 0 or not is_padded


@pytest.mark.slow
def test_a_column_that_is_char_no_longer_has_other_values_than_its_index(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    name = small_table(spark, path)
    create_indexes(path, ["btree:c"])
    table = open_table(path)
    assert table.query("c = 'a'", ["c"]).to_pylist() == [{"c": "a    "}]
    spark.sql(f"ALTER TABLE {name} CHANGE COLUMN c c STRING")
    for where in ("c = 'a'", "c = 'a    '", "c LIKE 'a'"):
        wanted = [each.asDict() for each in spark.sql(f"SELECT c FROM {name} WHERE {where}").collect()]
        assert table.query(where, ["c"]).to_pylist() == wanted, where
    with pytest.raises(SourceError, match=r"btree:c was made of a column that has another name or type now"):
        refresh_indexes(path)
    refresh_indexes(path, in_full=True)
    assert table.query("c = 'a'", ["c"]).to_pylist() == [{"c": "a"}]
    assert table.explain("c = 'a'", ["c"]).chosen == ("btree:c",)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["FIRST", ""])
def test_a_struct_whose_type_is_told_otherwise_is_refused(
    skipping_on: SparkSession, tmp_path: Path, place: str
) -> None:
    # Spark gives its fields the values of others, or leaves the new one out.
    spark = skipping_on
    path = str(tmp_path / "t")
    name = f"delta.`{path}`"
    spark.sql(f"CREATE TABLE {name} (id bigint, s struct<c: char(3)>) USING delta")
    for number in (1, 2):
        spark.sql(f"INSERT INTO {name} SELECT {number}, named_struct('c', 'x{number}')")
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (s.z int {place})")
    with pytest.raises(SourceError, match=r"column s is no longer struct<c:char\(3\)>, the type in its"):
        create_indexes(path, ["btree:id"])
    # Spark itself collects for skipping.
    skipping.create(spark, path, ["bloom:id"])
    assert [row.id for row in spark.sql(f"SELECT id FROM {name} WHERE id = 2").collect()] == [2]


@pytest.mark.slow
def test_star_trees_group_and_compare_padded_values(spark: SparkSession, tmp_path: Path) -> None:
    path, store = str(tmp_path / "t"), ArtefactStore(storage_for(str(tmp_path / "trees")))
    name = small_table(spark, path)

    def publish() -> None:
        config = StarTreeConfig.from_document(
            {"dimensionsSplitOrder": ["c"], "functionColumnPairs": ["COUNT__*", "SUM__m"]}
        )
        publish_trees(
            EngineTasks(LocalEngine()).run_tasks,
            store,
            TreeOrder("t", path, (config,), {}),
            now=datetime.now(UTC),
            created_by="test",
        )

    publish()
    for sql in (
        "SELECT c, COUNT(*) AS n, SUM(m) AS s FROM t GROUP BY c",
        "SELECT SUM(m) AS s FROM t WHERE c = 'a'",
        "SELECT SUM(m) AS s FROM t WHERE c IN ('a', 'b ') OR c > 'a'",
        "SELECT COUNT(*) AS n FROM t WHERE c IN ('a', NULL)",
        "SELECT COUNT(*) AS n FROM t WHERE c BETWEEN 'a' AND 'a   '",
        "SELECT COUNT(*) AS n FROM t WHERE c LIKE 'a'",
        "SELECT c, COUNT(*) AS n FROM t GROUP BY c HAVING c = 'a' OR c = 'b '",
        "SELECT c = 'a' AS is_a, COUNT(*) AS n FROM t GROUP BY c = 'a'",
        "SELECT c, COUNT(DISTINCT id) AS n FROM t WHERE c <> 'a' GROUP BY c",
    ):
        wanted = [each.asDict() for each in spark.sql(sql.replace("FROM t", f"FROM {name}")).collect()]
        answer = answer_sql(open_trees(store), sql, "spark")
        assert answer.star_tree == ("id" not in sql)
        assert sorted(answer.table.to_pylist(), key=str) == sorted(wanted, key=str), sql
        # Of more documents than that Spark reads the files, by its own reader.
        trees = StarTrees(spark, str(tmp_path / "trees"))
        by_spark = [each.asDict() for each in trees.sql(sql, most_documents=0).collect()]
        assert trees.last_answer is not None and not trees.last_answer.star_tree
        assert sorted(by_spark, key=str) == sorted(wanted, key=str), sql
    with pytest.raises(
        UnsupportedQuery, match=r"c is of type char\(5\): compare it with a text of 5 characters"
    ):
        answer_sql(open_trees(store), "SELECT SUM(m) AS s FROM t WHERE c = 'abcdef'", "spark")
    spark.sql(f"ALTER TABLE {name} CHANGE COLUMN c c STRING")
    with pytest.raises(StaleTree):
        answer_sql(open_trees(store), "SELECT c, SUM(m) AS s FROM t GROUP BY c", "spark")
    publish()
    found = answer_sql(open_trees(store), "SELECT c, SUM(m) AS s FROM t GROUP BY c", "spark").table
    assert {"a", "b"} < {*found["c"].to_pylist()}


@pytest.mark.slow
@pytest.mark.parametrize("is_padded", [True, False])
def test_files_of_a_delta_table_that_are_read_as_plain_ones_have_the_values_of_spark(
    spark: SparkSession, tmp_path: Path, is_padded: bool
) -> None:
    # Their footers tell the types, and Spark heeds them, but for partition columns.
    path, plain = tmp_path / "t", str(tmp_path / "plain")
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id bigint, c char(5), s struct<c: char(3)>, p char(3)) USING delta "
        "PARTITIONED BY (p)"
    )
    for number, each in enumerate(("a", "abcde", "b")):
        spark.sql(
            f"INSERT INTO delta.`{path}` SELECT {number}, '{each}', named_struct('c', 'x'), 'p{number % 2}'"
        )
    shutil.copytree(path, plain, ignore=shutil.ignore_patterns("_delta_log"))
    aged(Path(plain))
    create_indexes(plain, ["btree:c", "ngram:s.c"])
    table = open_table(plain)
    frame = spark.read.parquet(plain)
    wheres = ("c = 'a'", "c LIKE 'a'", "c >= 'a '", "s.c = 'x'", "s.c = 'x  '", "p = 'p0'", "c IN ('b', 'a')")
    settings = {PADDING: str(is_padded).lower(), "spark.starskip.secondary.file_mib_ms": "1e9"}
    for where in wheres:
        wanted = [each.asDict(recursive=True) for each in frame.where(where).orderBy("id").collect()]
        for by in ((), ("scan",)):
            found = table.query(where, ["id", "c", "s", "p"], path=by).to_pylist()
            assert sorted(found, key=lambda each: each["id"]) == wanted, (where, by)

    def ids(where: str) -> list[Any]:
        return sorted(spark.read.parquet(plain).where(where).select("id").collect())

    with settings_of(spark, settings):
        wanted_ids = {each: ids(each) for each in wheres}
        skipping.enable(spark)
        try:
            metadata_changed()
            assert {each: ids(each) for each in wheres} == wanted_ids
        finally:
            skipping.disable(spark)
    store = ArtefactStore(storage_for(str(tmp_path / "trees")))
    config = StarTreeConfig.from_document({"dimensionsSplitOrder": ["c"], "functionColumnPairs": ["SUM__id"]})
    publish_trees(
        EngineTasks(LocalEngine()).run_tasks,
        store,
        TreeOrder("t", plain, (config,), {}),
        now=datetime.now(UTC),
        created_by="test",
    )
    answer = answer_sql(open_trees(store), "SELECT c, SUM(id) AS n FROM t WHERE c <> 'b' GROUP BY c", "spark")
    assert answer.star_tree
    assert sorted(answer.table["c"].to_pylist()) == ["a    ", "abcde"]
