"""Joins of Iceberg tables by their partitions stay without a shuffle where files are left out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from lake_formats import new_table
from pyspark.sql import SparkSession
from skipping_tables import settings_of
from starskip.spark import skipping

pytestmark = [pytest.mark.spark, pytest.mark.table_formats]

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
                # Files of two specs, of which only bucket(4, id) is in both.
                spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD truncate(1, u)")
            spark.sql(f"INSERT INTO {name} SELECT id, concat('z', id) FROM range(200, 260, 1, 1)")
            skipping.create(spark, place, ["valuelist:u"])
        one, other = names
        unshuffled = 0
        for condition in (
            "a.u = 'k7'",
            "a.u = 'z210'",
            "a.u = 'k7' AND b.u = 'k8'",
            "b.u IN ('k3', 'z220')",
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
