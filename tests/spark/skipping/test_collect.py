"""Metadata that one Spark pass, or the footers, collect of real files: formats, nasty names, all types."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from skipping_tables import aged, settings_of
from starskip.errors import ConfigError, SourceError, StarskipError
from starskip.file_metadata.collect_order import CollectOrder
from starskip.file_metadata.open_metadata import open_metadata
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.skipping.registry import index_from_specification
from starskip.spark import skipping
from starskip.spark.skipping import collect, collect_footers, spark_reader
from starskip.spark.skipping.list_files import list_files
from starskip.spark.skipping.table_relation import table_relation
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = pytest.mark.spark

NASTY = "a b %20 #1 é +&=x"
INDEXES = ["minmax:id", "minmax:s", "nulls:s", "valuelist:g", "minmax:p", "minmax:n.m.`l l`"]


def old(folder: Path) -> None:
    """Make the files of a folder an hour old: young ones are waited for."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - 3600,) * 2)


def opened(location: str) -> TableMetadata:
    found = open_metadata(location)
    assert found is not None
    return found


def by_path(metadata: TableMetadata, index: str, *names: str) -> dict[str, Any]:
    columns = [metadata.column(index, name).to_pylist() for name in names]
    values = list(zip(*columns, strict=True)) if len(names) > 1 else columns[0]
    return dict(zip(metadata.paths.to_pylist(), values, strict=True))


@pytest.mark.parametrize("file_format", ["parquet", "orc", "json", "csv"])
def test_every_format_with_nasty_names_and_files_without_rows(
    spark: SparkSession, tmp_path: Path, file_format: str
) -> None:
    folder = tmp_path / NASTY
    rows = spark.range(60).selectExpr(
        "id",
        "if(id % 7 = 0, null, concat('é', id)) AS s",
        "cast(id % 3 AS string) AS g",
        "concat('x%2F #', id % 2, ' é') AS p",
    )
    nested = "named_struct('m', named_struct('l l', id * 2)) AS n"
    indexes = INDEXES if file_format != "csv" else INDEXES[:-1]
    rows = rows.selectExpr("*", nested) if file_format != "csv" else rows
    rows.repartition(2).write.partitionBy("p").format(file_format).save(str(folder))
    empty = rows.where("false").drop("p")
    empty.coalesce(1).write.format(file_format).save(str(folder / "p=empty"))
    (folder / "p=empty" / f"nothing.{file_format}").touch()
    old(folder)
    schema = rows.schema
    table = spark.read.schema(schema).format(file_format).load(str(folder))
    done = skipping.create(spark, table, indexes)
    metadata = opened(done.location)
    assert done.collected_files == metadata.files >= 5
    assert metadata.trusted.all()
    expected: dict[str, list[Any]] = {path: [] for path in metadata.paths.to_pylist()}
    for row in table.selectExpr("*", "_metadata.file_path AS path").collect():
        expected[unquote(row["path"])].append(row)
    assert sum(not rows for rows in expected.values()) >= 1

    def told(path: str, column: str) -> tuple[Any, Any, int]:
        values = [row[column] for row in expected[path] if row[column] is not None]
        return (min(values), max(values), len(values)) if values else (None, None, 0)

    for column in ("id", "s", "p"):
        found = by_path(metadata, f"minmax:{column}", "min", "max", "values")
        assert found == {path: told(path, column) for path in expected}
    nulls = by_path(metadata, "nulls:s", "nulls", "rows")
    assert nulls == {
        path: (sum(row["s"] is None for row in rows), len(rows)) for path, rows in expected.items()
    }
    values = by_path(metadata, "valuelist:g", "values")
    assert {path: set(each) for path, each in values.items()} == {
        path: {row["g"] for row in rows} for path, rows in expected.items()
    }
    if file_format != "csv":
        found = by_path(metadata, "minmax:n.m.`l l`", "min", "max")
        assert found == {
            path: (2 * min(ids), 2 * max(ids)) if (ids := [row["id"] for row in rows]) else (None, None)
            for path, rows in expected.items()
        }
    assert dict(zip(metadata.paths.to_pylist(), metadata.rows.to_pylist(), strict=True)) == {
        path: len(rows) for path, rows in expected.items()
    }
    status = {path: Path(path.removeprefix("file:")).stat() for path in expected}
    assert metadata.sizes.tolist() == [status[path].st_size for path in metadata.paths.to_pylist()]


def test_footers_tell_what_the_rows_tell(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    types = {
        "b": "tinyint", "i": "int", "l": "bigint", "d": "decimal(7,2)", "e": "decimal(38,5)", "s": "string",
        "bin": "binary", "bo": "boolean", "da": "date", "ts": "timestamp", "nt": "timestamp_ntz",
        "x": "double", "f": "float",
    }  # fmt: skip
    rows = (
        spark.range(400)
        .selectExpr(
            "cast(id % 100 - 50 AS tinyint) AS b",
            "if(id % 5 = 0, null, cast(id * 1000 AS int)) AS i",
            "if(id >= 200, null, id * 10000000000 - 7) AS l",
            "cast(id / 3 AS decimal(7,2)) AS d",
            "cast(-id * 1234567 AS decimal(38,5)) * 10000000000000000 AS e0",
            "concat(char(cast(40 + id % 80 AS int)), 'é😀') AS s",
            "unhex(hex(id)) AS bin",
            "id % 2 = 0 AS bo",
            "date_add(date'1500-01-01', cast(id * 700 AS int)) AS da",
            "timestamp'1600-01-01 00:00:00' + make_interval(id) AS ts",
            "timestamp_ntz'1800-01-01 00:00:00' + make_interval(id) AS nt",
            "if(id % 3 = 0, null, if(id = 4, double('nan'), id)) AS x",
            "if(id < 100, null, float('nan')) AS f",
        )
        .withColumnRenamed("e0", "e0")
        .selectExpr("*", "cast(e0 AS decimal(38,5)) AS e")
        .drop("e0")
    )
    folder = tmp_path / "t"
    rows.repartitionByRange(4, "da").write.parquet(str(folder))
    old(folder)
    assert {field.name: field.dataType.simpleString() for field in rows.schema} == types
    bounded = types.keys() - {"x", "f"}
    indexes = [*(f"minmax:{name}" for name in bounded), *(f"nulls:{name}" for name in types)]
    assert collect_footers.footer_plan(order(spark, folder, indexes), table_relation(spark, str(folder)))
    by_footers = opened(skipping.create(spark, str(folder), indexes).location)
    monkeypatch.setattr(spark_reader, "footer_plan", lambda *_: None)
    by_rows = opened(skipping.create(spark, str(folder), indexes, metadata_root=str(tmp_path / "m")).location)
    for index in indexes:
        parts = ("min", "max", "values") if index.startswith("minmax") else ("nulls", "rows")
        assert by_path(by_footers, index, *parts) == by_path(by_rows, index, *parts)
        assert all(by_footers.column(index, part).type == by_rows.column(index, part).type for part in parts)


def order(spark: SparkSession, folder: Path, indexes: list[str]) -> Any:
    files = pa.table({"path": ["file:/x"]})
    return CollectOrder(tuple(map(index_from_specification, indexes)), files, (1,), with_files=True)


@pytest.mark.parametrize("index", ["minmax:x", "valuelist:id", "minmax:p"])
def test_what_footers_do_not_tell_is_read(spark: SparkSession, tmp_path: Path, index: str) -> None:
    folder = tmp_path / "t"
    spark.range(20).selectExpr("id", "if(id = 3, double('nan'), id) AS x", "1 AS p").coalesce(
        1
    ).write.partitionBy("p").parquet(str(folder))
    old(folder)
    relation = table_relation(spark, str(folder))
    assert collect_footers.footer_plan(order(spark, folder, ["minmax:id", index]), relation) is None
    metadata = opened(skipping.create(spark, str(folder), ["minmax:id", index]).location)
    assert metadata.column("minmax:id", "max").to_pylist() == [19]
    if index == "minmax:x":
        assert np.isnan(metadata.column(index, "max")[0].as_py())


def test_nulls_of_floating_point_columns_are_counted_without_reading_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "t"
    rows = spark.range(20).selectExpr("id", "if(id < 7, null, double('nan')) AS x")
    rows.coalesce(1).write.parquet(str(folder))
    old(folder)
    monkeypatch.setattr(spark_reader, "collect", None)
    metadata = opened(skipping.create(spark, str(folder), ["minmax:id", "nulls:x"]).location)
    assert metadata.column("nulls:x", "nulls").to_pylist() == [7]


def test_rows_are_read_where_most_footers_tell_nothing(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for number in range(3):
        rows = pa.table({"id": [number, number + 10]})
        pq.write_table(rows, folder / f"{number}.parquet", write_statistics=number == 2)
    old(folder)
    metadata = opened(skipping.create(spark, str(folder), ["minmax:id"]).location)
    assert metadata.column("minmax:id", "max").to_pylist() == [10, 11, 12]


def test_text_is_read_as_generously_as_any_query_may(spark: SparkSession, tmp_path: Path) -> None:
    """A row that DROPMALFORMED drops for one column is there for a query of the other one."""
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "a.csv").write_text("1,2\nx,99\n3,y\n")
    (folder / "b.csv").write_text("5,6\n")
    old(folder)
    table = spark.read.schema("a int, b int").option("mode", "DROPMALFORMED").csv(str(folder))
    metadata = opened(skipping.create(spark, table, ["minmax:a", "minmax:b", "nulls:a"]).location)
    assert metadata.column("minmax:b", "max").to_pylist() == [99, 6]
    assert metadata.column("nulls:a", "nulls").to_pylist() == [1, 0]
    assert metadata.source.options["mode"] == "DROPMALFORMED"
    assert json.loads(metadata.source.options["starskip.schema"])["fields"][0]["type"] == "integer"
    again = skipping.refresh(spark, str(folder))
    assert (again.in_full, again.collected_files) == (False, 0)


def test_an_unreadable_file_is_left_out_though_the_session_passes_over_such(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    spark.range(20).coalesce(1).write.orc(str(folder))
    (folder / "bad.orc").write_text("this is no ORC file")
    old(folder)
    with settings_of(spark, {"spark.sql.files.ignoreCorruptFiles": "true"}):
        table = spark.read.schema("id long").orc(str(folder))
        done = skipping.create(spark, table, ["minmax:id"])
    assert [Path(each).name for each in done.damaged_files] == ["bad.orc"]
    assert [Path(each).suffix for each in opened(done.location).paths.to_pylist()] == [".orc"]
    assert opened(done.location).files == 1


def test_more_than_the_driver_may_hold_is_written_by_executors(spark: SparkSession, tmp_path: Path) -> None:
    """The metadata is 40 MB, spark.driver.maxResultSize 16 MB."""
    folder = tmp_path / "t"
    text = "concat(repeat(sha2(cast(id AS string), 512), 4), id)"
    spark.range(80_000).selectExpr(f"{text} AS s").repartition(8).write.parquet(str(folder))
    old(folder)
    metadata = opened(skipping.create(spark, str(folder), ["valuelist:s"]).location)
    assert metadata.files == 8
    told = skipping.describe(spark, str(folder))
    assert told["metadata_bytes"] > 5 << 20
    assert sum(len(each) for each in metadata.column("valuelist:s", "values").to_pylist()) == 80_000


def test_an_index_whose_finish_loses_rows_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.range(20).repartition(3).write.parquet(str(tmp_path / "t"))
    old(tmp_path)
    relation = table_relation(spark, str(tmp_path / "t"))
    listed = list_files(relation, anew=True)

    class Losing(type(index_from_specification("valuelist:id"))):  # type: ignore[misc]
        def finish(self, collected: pa.Table) -> dict[str, Any]:
            return {"values": collected["values"].combine_chunks().slice(1)}

    files = listed.files.at(np.arange(3))
    wanted = CollectOrder((Losing(["id"]),), files, (3,), with_files=True)
    aside = ArtefactStore(storage_for(str(tmp_path / "m"))).staged_write("skipping", "current")
    with pytest.raises(StarskipError, match=r"finish\(\) gave \d rows for \d files"):
        collect.collect(
            wanted, listed.encoded_paths(np.ones(3, np.bool_)), relation.rows(listed.index), aside
        )


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("minmax:nope", "the table has no column nope; it has id"),
        ("minmax:st", r"st is struct<a:int>"),
        ("what:id", "no index type is called what"),
        ("minmax:", "write KIND:COLUMN"),
    ],
)
def test_indexes_that_cannot_be(spark: SparkSession, tmp_path: Path, index: str, message: str) -> None:
    spark.range(2).selectExpr("id", "named_struct('a', 1) AS st").write.parquet(str(tmp_path / "t"))
    with pytest.raises(ConfigError, match=message):
        skipping.create(spark, str(tmp_path / "t"), [index])
    assert not (tmp_path / "t" / "_starskip").exists()


def test_what_is_no_table_of_files(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(2).write.parquet(str(tmp_path / "t"))
    table = spark.read.parquet(str(tmp_path / "t"))
    for frame in (table.where("id > 1"), table.limit(1), spark.range(3), table.join(table, "id")):
        with pytest.raises(SourceError, match="an index is of a table of files"):
            skipping.create(spark, frame, ["minmax:id"])
    with pytest.raises(SourceError, match=r"gone: cannot be read as parquet: .*PATH_NOT_FOUND"):
        skipping.create(spark, str(tmp_path / "gone"), ["minmax:id"])
    with pytest.raises(SourceError, match="2 paths are read"):
        skipping.create(spark, spark.read.parquet(*[str(tmp_path / "t")] * 2), ["minmax:id"])
    with pytest.raises(SourceError, match="there is no metadata; create an index first"):
        skipping.refresh(spark, str(tmp_path / "t"))
    with pytest.raises(ConfigError, match="name the indexes to create in a list"):
        skipping.create(spark, str(tmp_path / "t"), "minmax:id")  # type: ignore[arg-type]


@pytest.mark.slow
def test_files_of_a_task_stay_together_before_spark_4_1(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

    folder = tmp_path / "many"
    spark.range(0, 80, 1, 80).selectExpr("id", "cast(id AS string) AS s").write.parquet(str(folder))
    aged(folder)
    for each in (DataFrame, ClassicFrame):
        monkeypatch.delattr(each, "repartitionById")
    location = skipping.create(spark, str(folder), ["valuelist:s", "minmax:id"]).location
    metadata = open_metadata(location)
    assert metadata is not None
    values = [each[0] for each in metadata.column("valuelist:s", "values").to_pylist()]
    assert values == [str(each) for each in metadata.column("minmax:id", "max").to_pylist()]
    assert sorted(map(int, values)) == list(range(80))


def test_moments_are_collected_as_utc_whatever_the_time_zone_of_the_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    """By indexes whose rows go through Arrow, whose types each version of PySpark is asked for otherwise."""
    moments = "timestamp'2026-11-18 00:00:00Z' + make_interval(0, 0, 0, 0, id % 3)"
    spark.range(30).selectExpr("id", f"{moments} AS ts").coalesce(1).write.parquet(str(tmp_path / "t"))
    old(tmp_path)
    indexes = ["valuelist:ts", "gaplist:ts:1", "bloom:ts"]
    with settings_of(spark, {"spark.sql.session.timeZone": "Asia/Kolkata"}):
        result = skipping.create(spark, str(tmp_path / "t"), indexes)
    (values,) = by_path(opened(result.location), "valuelist:ts", "values").values()
    assert [f"{each:%d %H %z}" for each in sorted(values)] == ["18 00 +0000", "18 01 +0000", "18 02 +0000"]
