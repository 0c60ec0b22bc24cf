"""Skipping on files, Delta and Iceberg on the version of Spark that runs: each one of make test-matrix."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from lake_formats import ICEBERG_CATALOG, table_formats
from pyspark.sql import SparkSession
from starskip.spark import skipping

pytestmark = [pytest.mark.slow, pytest.mark.spark]


@pytest.mark.parametrize("table_format", table_formats())
def test_files_are_left_out_with_this_version_of_spark(
    skipping_on: SparkSession, tmp_path: Path, warehouse: Path, table_format: str
) -> None:
    spark = skipping_on
    name = f"t{uuid4().hex[:8]}"
    path = str(warehouse / "db" / name if table_format == "iceberg" else tmp_path / name)
    sql_name = {"files": f"parquet.`{path}`", "delta": f"delta.`{path}`"}.get(
        table_format, f"{ICEBERG_CATALOG}.db.{name}"
    )
    if table_format != "files":
        spark.sql(f"CREATE TABLE {sql_name} (id bigint, u string) USING {table_format}")
    for file in range(3):
        rows = f"id, concat('k', id % 10 * 4 + {file}) u FROM range({file * 10}, {file * 10 + 10}, 1, 1)"
        if table_format == "files":
            spark.sql(f"SELECT {rows}").write.mode("append").parquet(path)
        else:
            spark.sql(f"INSERT INTO {sql_name} SELECT {rows}")
    of_bounds = ["minmax:id"] if table_format == "files" else []
    skipping.create(spark, path, ["bloom:u:0.0001", *of_bounds])
    for condition, rows, files in (
        ("u = 'k17'", [(14,)], 1),
        ("id = 3 OR u = 'k17'", [(3,), (14,)], 2),
        ("u = 'k17' AND id < 10", [], 0),
    ):
        found = spark.sql(f"SELECT id FROM {sql_name} WHERE {condition}")
        assert sorted(map(tuple, found.collect())) == rows
        (stats,) = skipping.last_query_stats(spark)
        assert (stats["files_total"], stats["files_read"]) == (3, files)
    if table_format != "files":
        spark.sql(f"DELETE FROM {sql_name} WHERE id = 14")
        assert spark.sql(f"SELECT id FROM {sql_name} WHERE u = 'k17'").collect() == []
