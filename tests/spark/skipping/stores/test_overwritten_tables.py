"""A table that is overwritten keeps its indexes by their names, and a warning says how they are made anew."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from skipping_tables import aged
from spark_program import run_spark_program
from starskip.spark import skipping

pytestmark = [pytest.mark.slow, pytest.mark.spark]

Table = Callable[..., str]

PROGRAM = """
import sys
from pyspark.sql import SparkSession
from starskip.spark import skipping

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
skipping.enable(spark)
spark.range(5).write.mode("overwrite").parquet(sys.argv[1])
"""


def wait_until_told(caplog: pytest.LogCaptureFixture) -> None:
    """Wait for Spark's listener, which hears of the end of a query some time after its caller."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and not any("was overwritten" in each for each in caplog.messages):
        time.sleep(0.05)


def overwrite(spark: SparkSession, path: str, how: str) -> None:
    rows = spark.range(100, 200, 1, 4).selectExpr("id")
    if how == "a frame":
        rows.write.mode("overwrite").parquet(path)
        return
    if how == "saveAsTable":
        rows.write.mode("overwrite").option("path", path).saveAsTable("overwritten")
    elif how == "insertInto":
        rows.write.insertInto("overwritten", overwrite=True)
    else:
        rows.createOrReplaceTempView("new_rows")
        spark.sql("INSERT OVERWRITE TABLE overwritten SELECT * FROM new_rows")


@pytest.mark.parametrize("how", ["a frame", "INSERT OVERWRITE", "insertInto", "saveAsTable"])
def test_indexes_are_made_anew_by_a_refresh(
    skipping_on: SparkSession, table_of: Table, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = table_of(skipping_on.range(0, 100, 1, 4), "minmax:id", "nulls:id")
    skipping.delete(skipping_on, path, ["nulls:id"])
    skipping_on.sql(f"CREATE TABLE overwritten (id BIGINT) USING parquet LOCATION '{path}'")
    try:
        overwrite(skipping_on, path, how)
        wait_until_told(caplog)
        assert skipping_on.read.parquet(path).where("id = 107").count() == 1
        (stats,) = skipping.last_query_stats(skipping_on)
        assert stats["not_skipped_because"] == ["the metadata knows no file yet: refresh"]
        (told,) = [each for each in caplog.messages if "was overwritten" in each]
        assert path in told and "minmax:id" in told and "skipping.refresh" in told
        aged(Path(path))
        done = skipping.refresh(skipping_on, path)
        assert (done.files, done.indexes) == (4, ("minmax:id",))
        assert len(skipping_on.read.parquet(path).where("id = 107").inputFiles()) == 1
        states = {each["index"]: each["state"] for each in skipping.describe(skipping_on, path)["indexes"]}
        assert states == {"minmax:id": "active", "nulls:id": "deleted"}
    finally:
        skipping_on.sql("DROP TABLE overwritten")


def test_a_table_that_is_truncated(
    skipping_on: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    skipping_on.sql("CREATE TABLE truncated (id BIGINT) USING parquet")
    try:
        skipping_on.range(0, 40, 1, 4).write.insertInto("truncated")
        path = skipping_on.table("truncated").inputFiles()[0].rpartition("/")[0]
        skipping.create(skipping_on, path, ["minmax:id"])
        skipping_on.sql("TRUNCATE TABLE truncated")
        assert skipping_on.table("truncated").count() == 0
        wait_until_told(caplog)
        assert "was overwritten" in caplog.text
        assert skipping.list_indexes(skipping_on, path) == ["minmax:id"]
    finally:
        skipping_on.sql("DROP TABLE truncated")


def test_a_refresh_at_once(skipping_on: SparkSession, table_of: Table) -> None:
    path = table_of(skipping_on.range(0, 100, 1, 4), "minmax:id")
    for _ in range(3):
        skipping_on.range(0, 60, 1, 3).write.mode("overwrite").parquet(path)
        assert skipping.list_indexes(skipping_on, path) == ["minmax:id"]
        aged(Path(path))
        assert skipping.refresh(skipping_on, path).files == 3


def test_metadata_elsewhere_and_partitions_stay_as_they_are(
    skipping_on: SparkSession, table_of: Table, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    frame = skipping_on.range(0, 40, 1, 2).selectExpr("id", "id div 20 AS p")
    path = table_of(frame, "minmax:id", by=("p",))
    before = skipping.describe(skipping_on, path)
    one = frame.where("p = 1")
    one.write.option("partitionOverwriteMode", "dynamic").mode("overwrite").partitionBy("p").parquet(path)
    assert skipping.describe(skipping_on, path) == before
    other = table_of(frame, name="other")
    root = str(tmp_path / "meta")
    skipping.create(skipping_on, other, ["minmax:id"], metadata_root=root)
    skipping.enable(skipping_on, metadata_root=root)
    frame.write.mode("overwrite").parquet(other)
    assert skipping.list_indexes(skipping_on, other, metadata_root=root) == ["minmax:id"]
    assert skipping.describe(skipping_on, other, metadata_root=root)["files"] == 2
    assert "overwritten" not in caplog.text


def test_a_program_that_ends_behind_its_write(spark: SparkSession, table_of: Table, tmp_path: Path) -> None:
    path = table_of(spark.range(0, 40, 1, 2), "minmax:id")
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = run_spark_program([sys.executable, script, path])
    assert done.returncode == 0 and "was overwritten" in done.stderr, done.stderr[-3000:]
    assert skipping.list_indexes(spark, path) == ["minmax:id"]
