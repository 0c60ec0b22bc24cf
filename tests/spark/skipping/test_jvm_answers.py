"""Long answers of the JVM come whole, and files of metadata are sent to it once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession
from starskip.file_metadata.metadata_location import metadata_location
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import existing_metadata
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.spark import skipping
from starskip.spark.skipping import known_files
from starskip.spark.skipping.compile_java import new_java
from starskip.spark.skipping.jvm_toolbox import JvmToolbox, answered_bytes
from starskip.spark.skipping.known_files import KnownFiles, packed_mask, unpacked_mask
from starskip.spark.skipping.listed_files import listed_files
from starskip.spark.skipping.relation_facts import joined_texts

pytestmark = [pytest.mark.slow, pytest.mark.spark]


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
