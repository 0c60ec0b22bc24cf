"""Files of Iceberg tables without field ids, added by reference, are indexed by the name mapping."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lake_formats import new_table
from pyspark.sql import SparkSession
from skipping_tables import settings_of
from starskip.spark import skipping
from starskip.spark.skipping import lake_relation

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.table_formats]

ASKED = (
    *("u = 'k7'", "u = 'k17'", "u IN ('k1', 'k25')", "u IS NULL", "NOT (u = 'k7')", "late = 3"),
    *("late IS NULL AND u = 'k12'", "n.x = 14", "n.x IS NULL", "n.y = 'y5' OR u = 'k28'"),
)


@pytest.fixture
def table(skipping_on: SparkSession, tmp_path: Path, warehouse: Path) -> Iterator[tuple[str, str]]:
    """Three files that were added, the last without one column, then two that Iceberg wrote."""
    spark = skipping_on
    with settings_of(spark, {"spark.sql.shuffle.partitions": "1"}):
        name, place = new_table("iceberg", tmp_path, warehouse)
        spark.sql(f"CREATE TABLE {name} (id bigint, u string, n struct<x: int, y: string>) USING iceberg")
        row = "id, concat('k', id) u, named_struct('x', int(id), 'y', concat('y', id)) n"
        for number, columns in enumerate((row, f"{row}, id AS other", "id, concat('k', id) u")):
            added = tmp_path / f"added {number}"
            start = number * 10
            spark.sql(f"SELECT {columns} FROM range({start}, {start + 10}, 1, 1)").write.parquet(str(added))
            spark.sql(
                f"CALL ice.system.add_files(table => '{name.removeprefix('ice.')}', "
                f"source_table => '`parquet`.`{added}`')"
            )
        spark.sql(f"INSERT INTO {name} SELECT {row} FROM range(30, 40, 1, 1)")
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN u TO w")
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN w TO u")
        spark.sql(f"ALTER TABLE {name} ADD COLUMN late int")
        spark.sql(f"INSERT INTO {name} SELECT {row}, int(id % 5) FROM range(40, 50, 1, 1)")
        yield name, place


def test_they_are_left_out_like_others(skipping_on: SparkSession, table: tuple[str, str]) -> None:
    name, place = table
    skipping.create(skipping_on, place, ["valuelist:u", "valuelist:n.x", "bloom:n.y", "valuelist:late"])
    left_out = 0
    for condition in ASKED:
        query = f"SELECT id FROM {name} WHERE {condition}"
        with settings_of(skipping_on, {"spark.starskip.skipping.enabled": "false"}):
            wanted = sorted(skipping_on.sql(query).collect())
        assert sorted(skipping_on.sql(query).collect()) == wanted, condition
        (stats,) = skipping.last_query_stats(skipping_on)
        left_out += sum(count for by, count in stats["skipped_by"].items() if by != "iceberg")
    assert left_out >= 6
    (found,) = skipping_on.sql(f"SELECT id FROM {name} WHERE u = 'k17'").collect()
    assert found.id == 17
    (stats,) = skipping.last_query_stats(skipping_on)
    assert stats["files_read"] == 1


def test_by_ids_alone_they_cannot_be_read(
    skipping_on: SparkSession,
    table: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(lake_relation, "files_without_ids", lambda *_: {})
    skipping.create(skipping_on, table[1], ["valuelist:u"])
    assert caplog.text.count("left out, cannot be read") == 3
