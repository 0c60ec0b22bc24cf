"""Values of a file may change their meaning though the file does not; then its metadata is not trusted."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from skipping_tables import aged, files_read, lines_of, settings_of
from starskip.errors import ConfigError
from starskip.spark import skipping

pytestmark = pytest.mark.spark

Table = Callable[..., str]
PARTIAL_RESULTS = "spark.sql.json.enablePartialResults"
FALLBACK = "spark.sql.legacy.json.enableDateTimeParsingFallback"


@pytest.fixture
def moved(skipping_on: SparkSession, table_of: Table) -> Iterator[str]:
    """A table of a catalog with four files in four partitions, ten rows in each."""
    frame = skipping_on.range(0, 40, 1, 4).selectExpr("id", "cast(id div 10 AS INT) AS p")
    path = table_of(frame, name="moved", by=("p",))
    skipping_on.sql(
        f"CREATE TABLE moved (id BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{path}'"
    )
    skipping_on.sql("MSCK REPAIR TABLE moved")
    yield path
    skipping_on.sql("DROP TABLE moved")


def swap(spark: SparkSession, path: str, first: int, second: int) -> None:
    for value, place in ((first, second), (second, first)):
        spark.sql(f"ALTER TABLE moved PARTITION (p = {value}) SET LOCATION '{path}/p={place}'")


def ids(spark: SparkSession, table: str) -> list[int]:
    return sorted(row["id"] for row in spark.sql(f"SELECT id FROM {table} WHERE p = 1 OR id = 35").collect())


def test_partitions_that_the_catalog_has_moved(skipping_on: SparkSession, moved: str) -> None:
    skipping.create(skipping_on, skipping_on.table("moved"), ["minmax:id", "minmax:p"])
    assert ids(skipping_on, "moved") == [*range(10, 20), 35]
    assert files_read(skipping_on) == 2
    swap(skipping_on, moved, 1, 2)
    assert ids(skipping_on, "moved") == [*range(20, 30), 35]
    assert files_read(skipping_on) == 4
    # By its path it is what it was.
    assert ids(skipping_on, f"parquet.`{moved}`") == [*range(10, 20), 35]
    assert files_read(skipping_on) == 2


def test_what_was_collected_of_moved_partitions_is_not_trusted_by_path(
    skipping_on: SparkSession, moved: str
) -> None:
    swap(skipping_on, moved, 1, 2)
    skipping.create(skipping_on, skipping_on.table("moved"), ["minmax:id", "minmax:p"])
    assert ids(skipping_on, f"parquet.`{moved}`") == [*range(10, 20), 35]
    swap(skipping_on, moved, 1, 1)
    swap(skipping_on, moved, 2, 2)
    assert ids(skipping_on, "moved") == [*range(10, 20), 35]
    skipping.refresh(skipping_on, skipping_on.table("moved"))
    assert ids(skipping_on, "moved") == [*range(10, 20), 35]
    assert files_read(skipping_on) == 2


def test_json_whose_rows_depend_on_the_columns_that_are_read(
    skipping_on: SparkSession, tmp_path: Path
) -> None:
    files = {"a.json": '{"s": {"x": "bad", "y": 5}}', "b.json": '{"s": {"x": 1, "y": 6}}'}
    path = lines_of(tmp_path / "partial", files)
    reader = skipping_on.read.schema("s struct<x: int, y: int>")
    with settings_of(skipping_on, {PARTIAL_RESULTS: "false"}):
        skipping.create(skipping_on, reader.json(path), ["nulls:s.y"])
        assert len(reader.json(path).where("s.x IS NULL AND s.y IS NULL").collect()) == 1
    assert reader.json(path).where("s.y IS NULL").collect() == []
    # The line that is not as the schema says is read, the other one is not.
    assert files_read(skipping_on) == 1


def test_json_whose_dates_are_read_in_another_way(skipping_on: SparkSession, tmp_path: Path) -> None:
    path = lines_of(tmp_path / "dates", {"a.json": '{"d": "2026-11-20"}', "b.json": '{"d": "21/11/2026"}'})
    reader = skipping_on.read.schema("d date").option("dateFormat", "dd/MM/yyyy")

    def found() -> int:
        return reader.json(path).where("d = DATE'2026-11-20'").count()

    with settings_of(skipping_on, {FALLBACK: "false"}):
        skipping.create(skipping_on, reader.json(path), ["minmax:d"])
        assert found() == 0
        assert files_read(skipping_on) == 1
    with settings_of(skipping_on, {FALLBACK: "true"}):
        assert found() == 1


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            "s struct<f: string collate UTF8_LCASE>",
            "minmax:s.f: s.f is .*another order than that of its bytes",
        ),
        ("s struct<g: string>", "minmax:s.f: the table has no column s.f"),
    ],
)
def test_an_index_that_another_schema_does_not_allow_is_named_by_refresh(
    spark: SparkSession, table_of: Table, schema: str, message: str
) -> None:
    path = table_of(spark.range(4).selectExpr("named_struct('f', cast(id AS string)) AS s"), "minmax:s.f")
    with pytest.raises(ConfigError, match=message):
        skipping.refresh(spark, spark.read.schema(schema).parquet(path))
    with pytest.raises(ConfigError, match=message):
        skipping.create(spark, spark.read.schema(f"{schema}, t int").parquet(path), ["minmax:t"])


def test_a_field_with_a_collation_is_no_column_of_an_index(
    skipping_on: SparkSession, table_of: Table
) -> None:
    frame = skipping_on.range(0, 26, 1, 2).selectExpr("named_struct('f', char(97 + id), 'n', id) AS s")
    path = table_of(frame, name="nested")
    collated = skipping_on.read.schema("s struct<f: string collate UTF8_LCASE, n: bigint>").parquet(path)
    skipping.create(skipping_on, collated, ["minmax:s.n", "nulls:s.f"])
    assert [row["n"] for row in collated.where("s.f = 'Z'").select("s.n").collect()] == [25]
    assert [row["f"] for row in collated.where("s.f = 'Z' AND s.n > 20").select("s.f").collect()] == ["z"]
    assert files_read(skipping_on) == 1
    assert collated.where("s.f IS NULL").count() == 0
    assert files_read(skipping_on) == 0


def test_a_table_that_is_written_anew_has_other_metadata_of_the_same_version(
    skipping_on: SparkSession, table_of: Table
) -> None:
    path = table_of(skipping_on.range(0, 40, 1, 4), "minmax:id", name="anew")
    assert skipping_on.read.parquet(path).where("id = 5").count() == 1
    skipping_on.range(100, 140, 1, 4).write.mode("overwrite").parquet(path)
    aged(Path(path))
    # The listener has written the names of the indexes again by then.
    skipping.last_query_stats(skipping_on)
    shutil.rmtree(f"{path}/_starskip")
    assert skipping.create(skipping_on, path, ["minmax:id"]).version == 1
    assert skipping_on.read.parquet(path).where("id = 105").count() == 1
    assert files_read(skipping_on) == 1


def test_a_date_that_python_does_not_have_beside_one_that_skips(
    skipping_on: SparkSession, table_of: Table
) -> None:
    frame = skipping_on.range(0, 40, 1, 4).selectExpr("id", "date_from_unix_date(id) AS d")
    path = table_of(frame, "minmax:id", "minmax:d", name="dated")
    read = skipping_on.read.parquet(path)
    assert read.where("d > DATE'0000-01-01' AND id = 5").count() == 1
    assert files_read(skipping_on) == 1
    assert read.where("d < DATE'0000-01-01'").count() == 0
    assert files_read(skipping_on) == 0


def test_a_session_that_reads_what_another_one_made(skipping_on: SparkSession, tmp_path: Path) -> None:
    path = lines_of(tmp_path / "made", {"a.csv": "2020-1-1", "b.csv": "2020-01-02"})
    frame = skipping_on.read.schema("d date").option("dateFormat", "yyyy-MM-dd").csv(path)
    skipping.create(skipping_on, frame, ["minmax:d"])
    frame.createOrReplaceGlobalTempView("made")
    query = "SELECT * FROM global_temp.made WHERE d = DATE'2020-01-01'"
    assert skipping_on.sql(query).count() == 0
    assert files_read(skipping_on) == 0
    other = skipping_on.newSession()
    other.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    assert other.sql(query).count() == 1
    (stats,) = skipping.last_query_stats(other)
    assert "timeParserPolicy of the session that asks" in stats["not_skipped_because"][0]
    other.conf.unset("spark.sql.legacy.timeParserPolicy")
    assert other.sql(query).count() == 0
    (stats,) = skipping.last_query_stats(other)
    assert stats["files_read"] == 0


def test_orc_whose_columns_are_told_by_their_position(skipping_on: SparkSession, table_of: Table) -> None:
    path = table_of(skipping_on.sql("SELECT 1 AS x, 100 AS y"), name="placed", file_format="orc")
    reader = skipping_on.read.schema("y int, x int")
    skipping.create(skipping_on, reader.orc(path), ["minmax:y"])
    assert reader.orc(path).where("y = 1").count() == 0
    assert files_read(skipping_on) == 0
    hadoop = skipping_on._jsc.hadoopConfiguration()
    hadoop.set("orc.force.positional.evolution", "true")
    try:
        assert reader.orc(path).where("y = 1").count() == 1
    finally:
        hadoop.unset("orc.force.positional.evolution")
