"""Files that stay in the JVM: whole columns of them, and listings with some of them alone.

Long answers of the JVM come whole, and files of metadata are sent to it once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from starskip.file_metadata.metadata_location import metadata_location
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import existing_metadata
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.spark import skipping
from starskip.spark.skipping import known_files
from starskip.spark.skipping import listed_files as module
from starskip.spark.skipping.compile_java import new_java
from starskip.spark.skipping.jvm_toolbox import JvmToolbox, answered_bytes
from starskip.spark.skipping.known_files import KnownFiles, packed_mask, unpacked_mask
from starskip.spark.skipping.listed_files import ListedFiles, listed_files
from starskip.spark.skipping.pruned_relation import MARK
from starskip.spark.skipping.relation_facts import joined_texts

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


@pytest.mark.parametrize("size", [0, 1, 5_998, 6_000, 6_001, 12_000, 40_003, 599_999, 600_001])
def test_bytes_and_texts_of_all_lengths(spark: SparkSession, size: int) -> None:
    toolbox = JvmToolbox(spark)
    # Of random letters little is saved by packing them.
    text = "".join(np.random.default_rng(size).choice(list("äb€dz019"), size))
    assert joined_texts(toolbox.scala_list([text, "z"]), ",") == f"{text},z"
    bits = np.random.default_rng(size).random(8 * size) < 0.5
    loader = new_java(toolbox.gateway, "RelationFacts").getClass().getClassLoader()
    answers = toolbox.jvm.java.lang.Class.forName("starskip.Answers", True, loader)
    packed = _static(toolbox, answers, "packed", toolbox.jvm.java.util.BitSet.valueOf(packed_mask(bits)))
    assert isinstance(packed, str) != (5_990 < size < 590_000)
    assert (unpacked_mask(packed, len(bits)) == bits).all()
    # A BitSet of zeros alone has no bytes.
    none = _static(toolbox, answers, "packed", toolbox.jvm.java.util.BitSet())
    assert not unpacked_mask(none, size).any()


def _static(toolbox: JvmToolbox, of: object, name: str, argument: object) -> object:
    """Call a static method by reflection; py4j finds classes of its own loader only."""
    kinds = toolbox.gateway.new_array(toolbox.jvm.java.lang.Class, 1)
    kinds[0] = argument.getClass()  # type: ignore[attr-defined]
    given = toolbox.gateway.new_array(toolbox.jvm.java.lang.Object, 1)
    given[0] = argument
    return of.getMethod(name, kinds).invoke(None, given)  # type: ignore[attr-defined]


def test_paths_of_a_listing_come_in_pieces(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "many files"
    folder.mkdir()
    for number in range(150):
        (folder / f"{number:03}-ü.csv").write_text(f"{number}\n")
    index = spark.read.csv(str(folder))._jdf.queryExecution().optimizedPlan().collectLeaves().apply(0)
    listed = listed_files(JvmToolbox(spark), index.relation().location())
    assert not isinstance(listed.java.paths(0, 150, False), str)
    assert len(answered_bytes(listed.java.numbers())) == 150 * 16
    assert [path.rpartition("/")[2] for path in sorted(listed.paths().to_pylist())] == [
        f"{number:03}-ü.csv" for number in range(150)
    ]
    sizes, _ = listed.numbers()
    assert sorted(sizes.tolist()) == sorted(len(f"{number}\n") for number in range(150))


def _opened(path: str) -> TableMetadata:
    return existing_metadata(metadata_storage(metadata_location(path)))


def test_files_of_metadata_are_sent_once(
    spark: SparkSession, table_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table_of(spark.range(30), "minmax:id")
    other = table_of(spark.range(20), "minmax:id", name="other")
    known = KnownFiles(JvmToolbox(spark))
    sent = []

    def counted(*arguments: object) -> object:
        sent.append(arguments[1])
        return new_java(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(known_files, "new_java", counted)
    first = known.of(_opened(path))
    # Opened again, as it is each minute, it is the same metadata.
    assert known.of(_opened(path)).equals(first) and known.of(_opened(path)) is first and len(sent) == 1
    known.of(_opened(other))
    for number in range(1, 4):
        spark.range(10).write.mode("append").parquet(path)
        skipping.refresh(spark, path)
        known.of(_opened(path))
        assert len(sent) == 2 + number
    # Of a table the versions of before are let go.
    assert len(known._made) == 3
    monkeypatch.setattr(known_files, "_HEAP_SHARE", 0.0)
    skipping.create(spark, path, ["nulls:id"])
    known.of(_opened(path))
    assert len(known._made) == 1
