"""Queries of Delta and Iceberg tables that read fewer files than by their formats alone, and reasons."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from lake_formats import ICEBERG_CATALOG
from pyspark.sql import SparkSession
from skipping_tables import settings_of
from starskip.errors import ConfigError, NotPlainFiles
from starskip.secondary.lifecycle import create_indexes
from starskip.spark import skipping

pytestmark = [pytest.mark.spark, pytest.mark.table_formats]
FORMATS = (pytest.param("delta", marks=pytest.mark.slow), "iceberg")
"""Most cases hold for both formats alike: Iceberg each day, Delta in its shard."""


class Lake:
    """Makes tables of four files whose values of ``u`` and ``v`` lie between one another's."""

    def __init__(self, spark: SparkSession, folder: Path, warehouse: Path) -> None:
        self._spark, self._folder, self._warehouse = spark, folder, warehouse

    def table(self, table_format: str, properties: str = "", by: str = "") -> tuple[str, str]:
        """Return the name of a table in SQL and its path."""
        name = f"t{uuid4().hex[:8]}"
        if table_format == "delta":
            path = str(self._folder / f"é {name} 50%")
            sql_name = f"delta.`{path}`"
        else:
            path, sql_name = str(self._warehouse / "db" / name), f"{ICEBERG_CATALOG}.db.{name}"
        told = f" TBLPROPERTIES ({properties})" if properties else ""
        self._spark.sql(
            f"CREATE TABLE {sql_name} (id bigint, u string, v int, p string) USING {table_format}{by}{told}"
        )
        for file in range(4):
            self.append(sql_name, file)
        return sql_name, path

    def append(self, sql_name: str, file: int) -> None:
        self._spark.sql(
            f"INSERT INTO {sql_name} SELECT id, concat('k', id % 10 * 4 + {file}), "
            f"cast(id % 10 * 100 + {file} AS int), 'a b/é' FROM range({file * 10}, {file * 10 + 10}, 1, 1)"
        )


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path, warehouse: Path) -> Lake:
    return Lake(spark, tmp_path, warehouse)


def asked(spark: SparkSession, text: str) -> tuple[list[Any], dict[str, Any]]:
    rows = sorted(tuple(row) for row in spark.sql(text).collect())
    (stats,) = skipping.last_query_stats(spark)
    return rows, stats


@pytest.mark.parametrize("table_format", FORMATS)
def test_fewer_files_are_read_than_by_the_format_alone(
    skipping_on: SparkSession, lake: Lake, table_format: str, caplog: pytest.LogCaptureFixture
) -> None:
    spark = skipping_on
    name, path = lake.table(table_format, by=" PARTITIONED BY (p)")
    with caplog.at_level(logging.WARNING):
        made = skipping.create(spark, path, ["bloom:u:0.0001", "gaplist:v:20", "valuelist:u", "minmax:id"])
    assert made.indexes == ("bloom:u:0.0001", "gaplist:v:20", "valuelist:u")
    assert made.collected_files == 4
    assert "minmax:id: nothing is built" in caplog.text
    for condition, rows in {
        "u = 'k17'": [(14,)],
        "v = 302": [(23,)],
        "u IN ('k17', 'k18') AND v < 999": [(14,), (24,)],
        "u = 'k17' OR v = 302": [(14,), (23,)],
    }.items():
        found, stats = asked(spark, f"SELECT id FROM {name} WHERE {condition}")
        assert found == rows
        assert stats["files_total"] == 4
        assert stats["files_read"] == len(rows)
        assert stats["bytes_read"] < stats["bytes_total"]
        assert stats["rows_skipped"] == 10 * (4 - len(rows))
        assert table_format not in stats["skipped_by"]  # by itself it would read all
        assert stats["not_skipped_because"] == []
        assert skipping.explain(f"SELECT id FROM {name} WHERE {condition}", spark)[0]["files_read"] == len(
            rows
        )
    plan = spark.sql(f"SELECT id FROM {name} WHERE u = 'k17'")._jdf.queryExecution().executedPlan().toString()
    assert ("DataSkippingFileIndex" if table_format == "delta" else "starskip.skipping.files = '1/4:") in plan
    # Beside what the format leaves out itself, and of a file that is new.
    found, stats = asked(spark, f"SELECT id FROM {name} WHERE u = 'k17' AND id < 20")
    assert (found, stats["files_read"], stats["skipped_by"][table_format]) == ([(14,)], 1, 2)
    lake.append(name, 4)
    found, stats = asked(spark, f"SELECT id FROM {name} WHERE u IN ('k17', 'k24')")
    assert (len(found), stats["files_read"]) == (3, 3)
    assert stats["not_skipped_because"] == [
        "1 of 5 files are new, changed, or too young to be trusted: refresh"
    ]
    refreshed = skipping.refresh(spark, path)
    assert (refreshed.collected_files, refreshed.unchanged_files) == (1, 4)
    found, stats = asked(spark, f"SELECT id FROM {name} WHERE u = 'k17'")
    assert (found, stats["files_read"]) == ([(14,)], 1)
    skipping.disable(spark)
    assert len(spark.sql(f"SELECT id FROM {name} WHERE u = 'k17'").collect()) == 1


@pytest.mark.parametrize("table_format", FORMATS)
def test_a_renamed_column_keeps_its_index_and_a_new_one_of_its_name_has_none(
    skipping_on: SparkSession, lake: Lake, table_format: str
) -> None:
    spark = skipping_on
    mapping = "'delta.columnMapping.mode' = 'name'" if table_format == "delta" else ""
    name, path = lake.table(table_format, mapping)
    skipping.create(spark, path, ["bloom:u:0.0001"])
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN u TO w")
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (u string)")
    spark.sql(f"INSERT INTO {name} SELECT 99, 'none', 0, 'p', 'k1'")
    found, stats = asked(spark, f"SELECT id FROM {name} WHERE w = 'k17'")
    assert (found, stats["files_read"]) == ([(14,)], 1 if table_format == "iceberg" else stats["files_read"])
    assert stats["files_read"] <= 2
    assert asked(spark, f"SELECT id FROM {name} WHERE u = 'k1'")[0] == [(99,)]
    assert asked(spark, f"SELECT count(*) FROM {name} WHERE u IS NULL")[0] == [(40,)]
    with pytest.raises(ConfigError, match="another column that had this name"):
        skipping.create(spark, path, ["bloom:u"])
    done = skipping.create(spark, path, ["valuelist:w"])
    assert done.indexes == ("bloom:u:0.0001", "valuelist:u")
    found, stats = asked(spark, f"SELECT id FROM {name} WHERE w = 'k17'")
    assert (found, stats["files_read"]) == ([(14,)], 1)
    assert asked(spark, f"SELECT id FROM {name} WHERE w = 'none'")[0] == [(99,)]


@pytest.mark.slow
def test_scans_that_leave_out_different_files_are_not_shared(
    skipping_on: SparkSession, lake: Lake, spark: SparkSession
) -> None:
    for table_format in ("delta", "iceberg"):
        name, path = lake.table(table_format)
        skipping.create(spark, path, ["suffix:u:2"])
        # No filter of the format itself: but for the files that are left out the scans are equal.
        query = " UNION ALL ".join(
            f"SELECT * FROM (SELECT count(*) n FROM {name} WHERE u LIKE '%{end}')"
            for end in ("16", "17", "16")
        )
        assert [row[0] for row in skipping_on.sql(query).collect()] == [1, 1, 1]
        newest = (f"(SELECT max(id) FROM {name} WHERE u LIKE '%{end}')" for end in ("16", "17"))
        both = f"SELECT {', '.join(newest)}"
        assert [tuple(row) for row in skipping_on.sql(both).collect()] == [(4, 14)]


@pytest.mark.parametrize("table_format", FORMATS)
def test_reasons_and_refusals(
    skipping_on: SparkSession, lake: Lake, table_format: str, tmp_path: Path
) -> None:
    spark = skipping_on
    name, path = lake.table(table_format, by=" PARTITIONED BY (p)")
    _, stats = asked(spark, f"SELECT id FROM {name} WHERE u = 'k17'")
    assert stats["files_read"] == 4
    assert "create an index" in stats["not_skipped_because"][0]
    assert path in stats["not_skipped_because"][0]
    refusals: dict[str, Callable[[], object]] = {
        "name an index that it lacks": lambda: skipping.create(spark, path, ["minmax:id", "nulls:u"]),
        "partitioned by p": lambda: skipping.create(spark, path, ["bloom:p"]),
        "no column nosuch; it has id, u, v": lambda: skipping.create(spark, path, ["bloom:nosuch"]),
        "takes no options": lambda: skipping.create(spark, path, ["bloom:u"], options={"a": "b"}),
    }
    for told, refused in refusals.items():
        with pytest.raises(ConfigError, match=told):
            refused()
    with pytest.raises(NotPlainFiles):
        skipping.create(spark, path, ["bloom:u"], format="parquet")
    # As a DataFrame, and with the metadata elsewhere.
    root = str(tmp_path / "elsewhere")
    skipping.create(spark, spark.table(name), ["bloom:u"], metadata_root=root)
    with settings_of(spark, {"starskip.metadata.root": root}):
        assert asked(spark, f"SELECT id FROM {name} WHERE u = 'k17'")[1]["files_read"] == 1
        assert skipping.list_indexes(spark, path) == ["bloom:u"]
        if table_format == "delta":
            with settings_of(spark, {"spark.databricks.delta.stats.skipping": "false"}):
                _, stats = asked(spark, f"SELECT id FROM {name} WHERE u = 'k17'")
                assert "Delta's own skipping is off" in stats["not_skipped_because"][0]
        else:
            (stats,) = skipping.explain(f"SELECT * FROM {name}.files WHERE file_path = 'x'", spark)
            assert stats["files_read"] is None or stats["skipped_by"] == {}


@pytest.mark.slow
@pytest.mark.parametrize("table_format", FORMATS)
def test_bounds_of_the_format_serve_an_or_beside_an_index_of_ours(
    skipping_on: SparkSession, lake: Lake, table_format: str
) -> None:
    spark = skipping_on
    mapping = "'delta.columnMapping.mode' = 'name'" if table_format == "delta" else ""
    name, path = lake.table(table_format, mapping, " PARTITIONED BY (p)")
    made = skipping.create(spark, path, ["bloom:u:0.0001"])
    assert made.indexes == ("bloom:u:0.0001",)
    assert skipping.list_indexes(spark, path) == ["bloom:u:0.0001"]
    for condition, (rows, by) in {
        "id = 3 OR u = 'k17'": ([(3,), (14,)], "minmax:id"),
        "id > 38 OR u = 'k17'": ([(14,), (39,)], "minmax:id"),
        "NOT (id < 38 AND u <> 'k17')": ([(14,), (38,), (39,)], "minmax:id"),
        "v IS NULL OR u = 'k17'": ([(14,)], "nulls:v"),
        "p < 'a' OR u = 'k17'": ([(14,)], "minmax:p"),
        "(id = 3 AND v < 0) OR u = 'k17'": ([(14,)], "minmax:v"),
    }.items():
        found, stats = asked(spark, f"SELECT id FROM {name} WHERE {condition}")
        files = len({row[0] // 10 for row in rows})
        assert (found, stats["files_read"]) == (rows, files), (condition, stats)
        assert stats["skipped_by"] == {f"bloom:u:0.0001 ∪ {table_format}:{by}": 4 - files}, stats
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN id TO was")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN v TO id")
    found, stats = asked(spark, f"SELECT was FROM {name} WHERE was = 3 OR u = 'k17'")
    assert (found, stats["files_read"]) == ([(3,), (14,)], 2)
    assert f"bloom:u:0.0001 ∪ {table_format}:minmax:was" in stats["skipped_by"]
    # Of a column that is known by an older name of another one.
    assert asked(spark, f"SELECT was FROM {name} WHERE id = 302 OR u = 'k17'")[0] == [(14,), (23,)]


def test_bounds_of_a_column_that_files_are_split_by_twice(skipping_on: SparkSession, lake: Lake) -> None:
    spark = skipping_on
    name, path = lake.table("iceberg", by=" PARTITIONED BY (p)")
    spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD truncate(2, p) AS cut")
    lake.append(name, 4)
    skipping.create(spark, path, ["bloom:u:0.0001"])
    found, stats = asked(spark, f"SELECT count(*) FROM {name} WHERE p = 'a b/é' OR u = 'none'")
    assert (found, stats["files_read"]) == ([(50,)], 5)


@pytest.mark.slow
@pytest.mark.parametrize("table_format", FORMATS)
def test_secondary_indexes_leave_files_out_beside_the_others(
    skipping_on: SparkSession, lake: Lake, table_format: str
) -> None:
    spark = skipping_on
    mapping = "'delta.columnMapping.mode' = 'name'" if table_format == "delta" else ""
    name, path = lake.table(table_format, mapping)
    create_indexes(path, ["btree:v", "ngram:u"])
    with settings_of(spark, {"spark.starskip.secondary.file_mib_ms": "1000"}):
        found, stats = asked(spark, f"SELECT id FROM {name} WHERE v = 302 AND u LIKE '%k14%'")
        assert (found, stats["files_read"]) == ([(23,)], 1)
        assert stats["skipped_by"]["btree:v ∩ ngram:u"] == 3
        assert stats["rows_skipped"] == 30
        skipping.create(spark, path, ["bloom:u:0.0001"])
        found, stats = asked(spark, f"SELECT id FROM {name} WHERE v = 302 AND u = 'k14'")
        assert (found, stats["files_read"]) == ([(23,)], 1)
        assert {"btree:v", "bloom:u:0.0001"} <= {*stats["skipped_by"]}
        lake.append(name, 4)
        found, stats = asked(spark, f"SELECT id FROM {name} WHERE v IN (302, 304)")
        assert (found, stats["files_read"]) == ([(23,), (43,)], 2)
        spark.sql(f"DELETE FROM {name} WHERE id = 23")
        assert asked(spark, f"SELECT id FROM {name} WHERE v IN (302, 304)")[0] == [(43,)]
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN v TO w")
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN u TO v")
        found, stats = asked(spark, f"SELECT id FROM {name} WHERE w = 301 AND v = 'k13'")
        # Two are new: the append, and the file that the delete has rewritten.
        assert (found, stats["files_read"]) == ([(13,)], 3)
        assert stats["skipped_by"]["btree:v"] == 2
