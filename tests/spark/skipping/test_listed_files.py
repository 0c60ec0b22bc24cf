"""Files that stay in the JVM: whole columns of them, and listings with some of them alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from starskip.spark import skipping
from starskip.spark.skipping import listed_files as module
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.listed_files import ListedFiles, listed_files
from starskip.spark.skipping.pruned_relation import MARK

pytestmark = [pytest.mark.slow, pytest.mark.spark]


def _relation(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed().collectLeaves().apply(0)


def _listed(spark: SparkSession, frame: DataFrame) -> ListedFiles:
    return listed_files(JvmToolbox(spark), _relation(frame).relation().location())


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Path:
    for number, name in enumerate(["a b", "ä😀", "new\nline", "p=1%2F"]):
        (tmp_path / f"{name}.json").write_text(f'{{"v": {number}}}\n' * (number + 1))
    return tmp_path


def test_columns_are_those_of_the_file_system_whatever_the_names(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = _listed(spark, spark.read.schema("v bigint").json(folder.as_uri()))
    files = {f"file:{file}": file.stat() for file in folder.iterdir()}
    for at_once in (1, 3, 100):
        monkeypatch.setattr(module, "_FILES_AT_ONCE", at_once)
        assert sorted(listed.paths().to_pylist()) == sorted(files)
    sizes, modified_ms = listed.numbers()
    for path, size, modified in zip(listed.paths().to_pylist(), sizes, modified_ms, strict=True):
        assert (size, modified) == (files[path].st_size, files[path].st_mtime_ns // 1_000_000)
    assert any(path.endswith("/a%20b.json") for path in listed.paths(as_uri=True).to_pylist())
    assert listed.chosen(np.zeros(4, np.bool_)).paths().to_pylist() == []


def test_a_listing_of_chosen_files_is_read_and_counted_as_such(spark: SparkSession, folder: Path) -> None:
    whole = spark.read.schema("v bigint").json(folder.as_uri())
    listed = _listed(spark, whole)
    paths = listed.paths().to_pylist()
    mask = np.array(["line" in path or "a b" in path for path in paths])
    logical = listed.chosen(mask).relation(_relation(whole), (MARK, "x"))
    index = logical.relation().location()
    assert index.getClass().getSimpleName() == "DataSkippingFileIndex"
    assert index.sizeInBytes() == listed.numbers()[0][mask].sum()
    assert index.allFiles().size() == index.leafFiles().size() == len(index.inputFiles()) == 2
    datasets = spark.sparkContext._jvm.org.apache.spark.sql.classic.Dataset  # type: ignore[union-attr]
    rows = DataFrame(datasets.ofRows(spark._jsparkSession, logical), spark)
    assert sorted(row.v for row in rows.collect()) == [0, 2, 2, 2]


def test_after_a_refresh_a_listing_of_chosen_files_is_the_whole_one(
    spark: SparkSession, folder: Path
) -> None:
    listed = _listed(spark, spark.read.schema("v bigint").json(folder.as_uri()))
    index = listed.chosen(np.arange(4) == 1).index(spark._jsparkSession)
    (folder / "later.json").write_text('{"v": 9}\n')
    index.refresh()
    assert index.allFiles().size() == index.leafFiles().size() == 5
    assert index.leafDirToChildrenFiles().size() == 1
    empty = JvmToolbox(spark).scala_list(())
    (partition,) = list(JvmToolbox(spark).scala_to_java(index.listFiles(empty, empty)))
    assert partition.files().size() == 5


def test_files_of_partitions_keep_their_folders(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path.as_uri()
    frame = spark.range(60).selectExpr("id", "id % 3 AS a", "id % 2 AS b")
    frame.repartition(3).write.partitionBy("a", "b").parquet(path, mode="overwrite")
    whole = spark.read.parquet(path)
    listed = _listed(spark, whole)
    mask = np.array(["a=1" in each for each in listed.paths().to_pylist()])
    mask[np.flatnonzero(~mask)[0]] = True
    logical = listed.chosen(mask).relation(_relation(whole), (MARK, "x"))
    assert logical.relation().location().leafDirToChildrenFiles().size() == 3
    datasets = spark.sparkContext._jvm.org.apache.spark.sql.classic.Dataset  # type: ignore[union-attr]
    rows = DataFrame(datasets.ofRows(spark._jsparkSession, logical), spark)
    ones = rows.where("a = 1").collect()
    assert sorted(row.id for row in ones) == list(range(1, 60, 3))
    assert all(row.id % 2 == row.b for row in rows.collect())
    assert set(rows.inputFiles()) < set(whole.inputFiles())


def test_a_file_with_a_line_in_its_name_is_indexed_and_left_out(
    spark: SparkSession, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("metadata").as_uri()
    whole = spark.read.schema("v bigint").json(folder.as_uri())
    skipping.create(spark, whole, ["minmax:v"], metadata_root=root)
    skipping.enable(spark, metadata_root=root)
    try:
        query = spark.read.schema("v bigint").json(folder.as_uri()).where("v = 2")
        assert query.count() == 3
        (file,) = query.inputFiles()
        assert "new" in file
    finally:
        skipping.disable(spark)
