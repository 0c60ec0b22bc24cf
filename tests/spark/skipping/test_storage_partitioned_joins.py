"""Joins of Iceberg tables go by the partitions of both, and of one, where files are left out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from lake_formats import new_table
from pyspark.sql import SparkSession
from skipping_tables import settings_of
from starskip.spark import skipping

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.table_formats]

JOINED_BY_PARTITIONS = {
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.mark.parametrize("evolved", [False, True])
def test_files_are_left_out_and_nothing_is_shuffled(
    skipping_on: SparkSession, tmp_path: Path, warehouse: Path, evolved: bool
) -> None:
    spark = skipping_on
    with settings_of(spark, JOINED_BY_PARTITIONS):
        names = []
        for side in ("left", "right"):
            folder = tmp_path / side
            folder.mkdir()
            name, place = new_table("iceberg", folder, warehouse)
            names.append(name)
            spark.sql(
                f"CREATE TABLE {name} (id bigint, u string) USING iceberg PARTITIONED BY (bucket(4, id))"
            )
            spark.sql(f"INSERT INTO {name} SELECT id, concat('k', id) FROM range(0, 200, 1, 1)")
            if evolved:
                # Files of two specs, of which only bucket(4, id) is in both; those of one are all left out.
                spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD truncate(1, u)")
            spark.sql(f"INSERT INTO {name} SELECT id, concat('k', id) FROM range(200, 260, 1, 1)")
            skipping.create(spark, place, ["valuelist:u"])
        one, other = names
        unshuffled = 0
        for condition in (
            "a.u = 'k21'",
            "a.u = 'k210'",
            "a.u = 'k21' AND b.u = 'k22'",
            "b.u IN ('k3', 'k220')",
        ):
            sql = f"SELECT a.id, a.u, b.u FROM {one} a JOIN {other} b ON a.id = b.id WHERE {condition}"
            query = spark.sql(sql)
            rows = Counter(map(tuple, query.collect()))
            stats = skipping.last_query_stats(spark)
            plan = query._jdf.queryExecution().executedPlan().toString()
            skipping.disable(spark)
            plain = spark.sql(sql)
            assert rows == Counter(map(tuple, plain.collect()))
            if "Exchange" not in plain._jdf.queryExecution().executedPlan().toString():
                unshuffled += 1
                assert "Exchange" not in plan
            skipping.enable(spark)
            assert sum(each["files_read"] for each in stats) < sum(each["files_total"] for each in stats)
            assert any(each["skipped_by"].get("valuelist:u") for each in stats), stats
        assert unshuffled, "Spark shuffles where few partitions are left, but not each time"


def test_partitions_are_pruned_when_the_query_runs(
    skipping_on: SparkSession, tmp_path: Path, warehouse: Path
) -> None:
    """Iceberg evaluates such filters by the partition spec of each file that is left, of all specs."""
    spark = skipping_on
    with settings_of(spark, {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "2"}):
        name, place = new_table("iceberg", tmp_path, warehouse)
        spark.sql(f"CREATE TABLE {name} (id bigint, u string, p bigint) USING iceberg PARTITIONED BY (p)")
        rows = "id, concat('k', id) u, id % 4 p"
        spark.sql(f"INSERT INTO {name} SELECT {rows} FROM range(0, 100, 1, 1)")
        spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD truncate(1, u)")
        spark.sql(f"INSERT INTO {name} SELECT {rows} FROM range(100, 200, 1, 1)")
        skipping.create(spark, place, ["valuelist:u"])
        spark.range(10).selectExpr("id p", "id % 3 AS kind").createOrReplaceTempView("kinds_of_p")
        for values in ("'k5', 'k6', 'k105'", "'k5', 'k9'", "'k105', 'k110'"):
            sql = (
                f"SELECT a.id, a.p FROM {name} a JOIN kinds_of_p b ON a.p = b.p "
                f"WHERE b.kind = 1 AND a.u IN ({values})"
            )
            query = spark.sql(sql)
            found = Counter(map(tuple, query.collect()))
            assert "dynamicpruning" in query._jdf.queryExecution().toString()
            (stats,) = [each for each in skipping.last_query_stats(spark) if each["files_total"]]
            assert stats["skipped_by"]["valuelist:u"], stats
            skipping.disable(spark)
            assert found == Counter(map(tuple, spark.sql(sql).collect()))
            skipping.enable(spark)
