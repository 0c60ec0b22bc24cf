"""Files of Iceberg tables that are written again in their place with as many bytes, and registered again."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lake_formats import new_table
from pyspark.sql import SparkSession
from skipping_tables import settings_of
from starskip.secondary import open_table
from starskip.secondary.lifecycle import create_indexes, refresh_indexes
from starskip.spark import skipping

pytestmark = [pytest.mark.spark, pytest.mark.table_formats]


def write(file: Path, value: str) -> int:
    """Write four rows of one value; return the bytes, which are the same for values of one length."""
    rows = pa.table({"id": pa.array(range(4), pa.int64()), "u": [value] * 4})
    pq.write_table(rows, file, compression="none", use_dictionary=False, write_statistics=False)
    return file.stat().st_size


def register(spark: SparkSession, name: str, folder: Path) -> None:
    spark.sql(
        f"CALL ice.system.add_files(table => '{name.removeprefix('ice.')}', "
        f"source_table => '`parquet`.`{folder}`')"
    )


def test_a_table_that_is_made_anew_of_files_that_were_written_again(
    skipping_on: SparkSession, tmp_path: Path, warehouse: Path
) -> None:
    spark, root = skipping_on, str(tmp_path / "metadata")
    name, place = new_table("iceberg", tmp_path, warehouse)
    added = tmp_path / "added"
    added.mkdir()
    settings = {"starskip.metadata.root": root, "spark.starskip.secondary.file_mib_ms": "1000"}
    sizes = []
    for value in ("first", "again"):
        # Sequence numbers of a new table begin with 1, and ids of its columns, too.
        spark.sql(f"CREATE TABLE {name} (id bigint, u string) USING iceberg")
        sizes.append(write(added / "a.parquet", value))
        register(spark, name, added)
        with settings_of(spark, settings):
            if value == "first":
                skipping.create(spark, place, ["valuelist:u"])
                create_indexes(place, ["btree:u"], root=root)
            assert len(spark.sql(f"SELECT id FROM {name} WHERE u = '{value}'").collect()) == 4
        opened = open_table(place, metadata_root=root)
        assert opened.query(f"u = '{value}'", ["id"]).num_rows == 4
        spark.sql(f"DROP TABLE {name}")
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("version", [*(pytest.param(each, marks=pytest.mark.slow) for each in (1, 3)), 2])
def test_no_index_of_the_former_file_is_asked(
    skipping_on: SparkSession, tmp_path: Path, warehouse: Path, version: int
) -> None:
    spark = skipping_on
    name, place = new_table("iceberg", tmp_path, warehouse)
    added = tmp_path / "added"
    added.mkdir()
    spark.sql(
        f"CREATE TABLE {name} (id bigint, u string) USING iceberg "
        f"TBLPROPERTIES ('format-version' = '{version}')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (9, 'other')")

    def found(value: str, read: int) -> None:
        query = f"SELECT id FROM {name} WHERE u = '{value}'"
        # Of secondary indexes, too, the rows do not depend on what they cost.
        with settings_of(spark, {"spark.starskip.secondary.file_mib_ms": "1000"}):
            assert len(spark.sql(query).collect()) == 4
        (stats,) = skipping.last_query_stats(spark)
        assert stats["files_read"] == read, stats
        assert open_table(place).query(f"u = '{value}'", ["id"]).num_rows == 4

    size = write(added / "a.parquet", "first")
    register(spark, name, added)
    skipping.create(spark, place, ["valuelist:u"])
    create_indexes(place, ["btree:u"])
    found("first", 1)
    spark.sql(f"DELETE FROM {name} WHERE u = 'first'")
    assert write(added / "a.parquet", "again") == size
    register(spark, name, added)
    found("again", 1)
    # One family knows the new file, the other one the former.
    skipping.refresh(spark, place)
    found("again", 1)
    refresh_indexes(place)
    found("again", 1)
    skipping.delete(spark, place)
    found("again", 1)
