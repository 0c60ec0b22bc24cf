"""Snapshots of tables that Spark has written: deletes of all kinds, column mapping, evolved partitions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from skipping_tables import settings_of
from starskip.cli.main import main
from starskip.errors import SourceError
from starskip.lake.file_columns import stored_names, with_names_of_today
from starskip.lake.open_lake_table import open_lake_table
from starskip.lake.table_snapshot import TableSnapshot
from starskip.secondary import open_table as indexed_table
from starskip.secondary.lifecycle import create_indexes, delete_indexes, refresh_indexes

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.table_formats]

COLUMNS = "a INT, s STRING, f DOUBLE, t TIMESTAMP, n STRUCT<x: INT, y: STRING>, p STRING"
ROWS = """SELECT int(id), concat(repeat('z', 40), id), IF(id = 3, double('NaN'), -double(id)),
  timestamp'2026-01-01 00:00:00.123456' + make_interval(0, int(id % 3)),
  named_struct('x', int(id), 'y', 'q'), IF(id % 2 = 0, 'e', 'o') FROM range(0, 12, 1, 1)"""


@pytest.fixture(autouse=True)
def few_tasks(spark: SparkSession) -> Iterator[None]:
    with settings_of(spark, {"spark.sql.shuffle.partitions": "1"}):
        yield


def files_by_kind(snapshot: TableSnapshot) -> dict[str, list[str]]:
    """Return the paths of data files by the kinds of their deletes."""
    kinds = snapshot.delete_files["kind"].to_pylist()
    found: dict[str, list[str]] = {}
    for file in snapshot.files.to_pylist():
        for number in file["deletes"] or [None]:
            found.setdefault("none" if number is None else kinds[number], []).append(file["path"])
    return found


def require_bounds(snapshot: TableSnapshot) -> None:
    """Compare bounds, rows and partition values with what is in the files."""
    assert snapshot.bounds is not None
    for at, file in enumerate(snapshot.files.to_pylist()):
        path = file["path"]
        stored = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
        assert file["rows"] == stored.metadata.num_rows
        names = [each for each in stored_names(stored.schema_arrow, snapshot.columns, path).values() if each]
        table = with_names_of_today(stored.read(names), stored.schema_arrow, snapshot.columns, path)
        # Instants of INT96 do not say that they are such.
        table = table.set_column(table.schema.get_field_index("t"), "t", _instants(table["t"]))
        flat = table.flatten().flatten()
        for name in flat.column_names:
            values = flat[name].to_pylist()
            known = [each for each in values if each is not None]
            least, greatest, nulls = (
                snapshot.bounds[f"{kind}.{name}"][at].as_py()
                if f"{kind}.{name}" in snapshot.bounds.column_names
                else None
                for kind in ("min", "max", "null_count")
            )
            assert nulls in (None, values.count(None))
            numbers = [each for each in known if each == each]
            if least is not None and numbers:
                assert least <= min(numbers), name
            if greatest is not None and greatest == greatest:
                assert max(known) <= greatest and len(numbers) == len(known), name
        for name, value in file["partition"]:
            if name in table.column_names:
                assert set(table[name].cast(pa.string()).to_pylist()) == {value}


def _instants(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.timestamp("us", "UTC"))


def compact_files(spark: SparkSession, table: str) -> None:
    options = "options => map('rewrite-all', 'true')"
    spark.sql(f"CALL ice.system.rewrite_data_files(table => '{table}', {options})")


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (3, "", 1), result.stderr
    return result.stderr


@pytest.mark.parametrize("version", [2, 3])
def test_iceberg_deletes_and_evolved_partitions(spark: SparkSession, warehouse: Path, version: int) -> None:
    name, path = f"ice.lake.v{version}", str(warehouse / "lake" / f"v{version}")
    spark.sql(
        f"CREATE TABLE {name} ({COLUMNS}) USING iceberg PARTITIONED BY (p, bucket(2, a), truncate(1, s)) "
        f"TBLPROPERTIES ('format-version'='{version}', 'write.delete.mode'='merge-on-read')"
    )
    spark.sql(f"INSERT INTO {name} {ROWS}")
    first = open_lake_table(path)
    assert first.partition_columns == ("p",) and not first.has_deletes
    assert [each.transform for each in first.partition_fields] == ["identity", "bucket[2]", "truncate[1]"]
    require_bounds(first)
    assert any(math.isnan(each) for each in first.bounds["max.f"].to_pylist() if each is not None)  # type: ignore[index]
    create_indexes(path, ["btree:a"])
    spark.sql(f"DELETE FROM {name} WHERE a IN (4, 5)")
    after = open_lake_table(path)
    assert set(files_by_kind(after)) == {"none", "position" if version == 2 else "vector"}
    assert after.files.select(["path", "rows", "etag"]).equals(first.files.select(["path", "rows", "etag"]))
    assert set(after.identities()) != set(first.identities())
    require_bounds(after)
    assert set(after.delete_files["rows"].to_pylist()) == {1}
    told = refused("secondary", "query", path, "a = 4")
    assert f"{path}: rows of its file" in told and "ask Spark, or rewrite the files" in told
    older = indexed_table(path, version=first.version).query("a = 4")
    assert older.to_pydict()["a"] == [4]

    spark.sql(f"ALTER TABLE {name} RENAME COLUMN a TO aa")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN aa TYPE BIGINT")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN n.x TO xx")
    spark.sql(f"ALTER TABLE {name} REPLACE PARTITION FIELD truncate(1, s) WITH days(t)")
    spark.sql(f"ALTER TABLE {name} DROP PARTITION FIELD p")
    spark.sql(f"INSERT INTO {name} {ROWS.replace('int(id), concat', '10000000000 + id, concat')}")
    evolved = open_lake_table(path)
    assert evolved.partition_columns == ()
    transforms = {each.name: (each.source, each.transform) for each in evolved.partition_fields}
    assert transforms["t_day"] == (("t",), "day") and transforms["a_bucket"] == (("aa",), "bucket[2]")
    require_bounds(evolved)
    days = evolved.partitions["t_day"].to_pylist()  # type: ignore[index]
    assert {each is None for each in days} == {True, False}

    compact_files(spark, f"lake.v{version}")
    compact = open_lake_table(path)
    assert not compact.has_deletes
    require_bounds(compact)
    assert "refresh with --full, or delete the index" in refused("secondary", "refresh", path)
    delete_indexes(path, ["btree:a"])
    create_indexes(path, ["btree:aa"])
    table = indexed_table(path)
    for condition in ("aa = 7", "aa > 9999999999", "n.xx = 3"):
        found = table.query(condition, ["aa", "s"]).to_pylist()
        wanted = [row.asDict() for row in spark.sql(f"SELECT aa, s FROM {name} WHERE {condition}").collect()]
        assert sorted(map(str, found)) == sorted(map(str, wanted)) and wanted


def test_equality_deletes(spark: SparkSession, warehouse: Path) -> None:
    name, path = "ice.lake.equal", str(warehouse / "lake" / "equal")
    spark.sql(f"CREATE TABLE {name} (a INT, p STRING) USING iceberg PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'x'), (2, 'x')")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'y')")
    field = pa.field("a", pa.int32(), metadata={"PARQUET:field_id": "1"})
    file = warehouse / "lake" / "equal" / "data" / "deletes.parquet"
    pq.write_table(pa.table([pa.array([1], pa.int32())], schema=pa.schema([field])), file)
    jvm: Any = spark.sparkContext._jvm
    iceberg = jvm.org.apache.iceberg
    table = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
    ids = spark.sparkContext._gateway.new_array(jvm.int, 1)  # type: ignore[union-attr]
    ids[0] = 1
    deletes = (
        iceberg.FileMetadata.deleteFileBuilder(table.spec())
        .ofEqualityDeletes(ids)
        .withPath(str(file))
        .withFormat("parquet")
        .withPartitionPath("p=x")
        .withFileSizeInBytes(file.stat().st_size)
        .withRecordCount(1)
        .build()
    )
    table.newRowDelta().addDeletes(deletes).commit()
    spark.sql(f"INSERT INTO {name} VALUES (1, 'x')")
    found = open_lake_table(path)
    kinds = files_by_kind(found)
    (deleted,) = kinds["equality"]
    assert pq.ParquetFile(deleted).read()["a"].to_pylist() == [1, 2] and len(kinds["none"]) == 2
    assert found.delete_files["equality_ids"].to_pylist() == [[1]]
    assert spark.table(name).count() == 3
    config, output = warehouse / "tree.json", str(warehouse / "tree")
    config.write_text('{"dimensionsSplitOrder": ["p"], "functionColumnPairs": ["SUM__a"]}')
    told = refused("star-tree", "build", "--input", path, "--config", str(config), "--output", output)
    assert "were deleted by an equality delete file" in told
    spark.sql(
        "CALL ice.system.rewrite_data_files(table => 'lake.equal', options => map('rewrite-all','true'))"
    )
    assert not open_lake_table(path).has_deletes


@pytest.mark.parametrize("mode", ["name", "id"])
def test_delta_with_vectors_and_column_mapping(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    path = str(tmp_path / "t é%")
    name = f"delta.`{path}`"
    spark.sql(
        f"CREATE TABLE {name} ({COLUMNS}) USING delta PARTITIONED BY (p) TBLPROPERTIES "
        f"('delta.enableDeletionVectors'='true', 'delta.columnMapping.mode'='{mode}')"
    )
    spark.sql(f"INSERT INTO {name} {ROWS}")
    first = open_lake_table(path)
    require_bounds(first)
    create_indexes(path, ["btree:a", "btree:s"])
    assert indexed_table(path).query("a = 7", ["a", "n"]).to_pylist() == [{"a": 7, "n": {"x": 7, "y": "q"}}]
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN a TO b")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN n.x TO xx")
    spark.sql(f"ALTER TABLE {name} DROP COLUMN f")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN a INT")
    spark.sql(
        f"INSERT INTO {name} SELECT 100, 's', timestamp'1960-01-01', named_struct('xx', 5, 'y', 'r'), 'o', 7"
    )
    renamed = open_lake_table(path)
    require_bounds(renamed)
    assert renamed.files.num_rows == 3 and not renamed.has_deletes
    # The index was made of the column that is b now: nobody may find rows by it.
    answer = indexed_table(path).query("a = 7", ["a", "b", "n"])
    assert answer.to_pylist() == [{"a": 7, "b": 100, "n": {"xx": 5, "y": "r"}}]
    assert "btree:a was made of a column that has another name or type now" in refused(
        "secondary", "refresh", path
    )
    refresh_indexes(path, in_full=True)
    assert indexed_table(path).query("a = 7", ["b"]).to_pylist() == [{"b": 100}]

    spark.sql(f"DELETE FROM {name} WHERE b = 4")
    deleted = open_lake_table(path)
    assert {kind: len(paths) for kind, paths in files_by_kind(deleted).items()} == {"none": 2, "vector": 1}
    assert deleted.delete_files["rows"].to_pylist() == [1]
    assert set(deleted.identities()) != set(renamed.identities())
    require_bounds(deleted)
    for command in (("query", path, "b = 1"), ("create", path, "--index", "btree:b"), ("refresh", path)):
        assert "were deleted by a deletion vector, which Spark alone applies" in refused(
            "secondary", *command
        )
    older = indexed_table(path, version=renamed.version)
    assert older.query("b = 4", ["b"]).to_pylist() == [{"b": 4}]
    spark.sql(f"REORG TABLE {name} APPLY (PURGE)")
    purged = open_lake_table(path)
    assert not purged.has_deletes
    require_bounds(purged)
    create_indexes(path, ["btree:b"])
    found = indexed_table(path).query("b < 6", ["b"]).to_pylist()
    assert sorted(row["b"] for row in found) == [0, 1, 2, 3, 5]
    with pytest.raises(SourceError, match="version 99 cannot be read; the newest is"):
        open_lake_table(path, version=99)
