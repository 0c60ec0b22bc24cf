"""Columns of a user-defined type of Spark: an index type and a function of one's own, and what others say."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType
from skipping_tables import aged
from starskip.errors import ConfigError
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import read_metadata
from starskip.spark import skipping

pytestmark = [pytest.mark.slow, pytest.mark.spark]

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples" / "skipping"
# Workers must import the module by its name.
MODULE = "point_range"


@pytest.fixture
def module(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(EXAMPLES)
    spark.sparkContext.addPyFile(str(EXAMPLES / f"{MODULE}.py"))
    found = importlib.import_module(MODULE)
    found.register_functions(spark)
    return found


def append(spark: SparkSession, module: Any, folder: Path, first: int, files: int) -> None:
    """Write files of ten points each on a line, one of them with a null."""
    schema = StructType(
        [
            StructField("id", LongType()),
            StructField("p", module.PointType()),
            StructField("old.p", module.PointType()),
        ]
    )
    rows = [
        (at, None if at % 7 == 3 else module.Point(float(at), at * 2.0), None)
        for at in range(first * 10, (first + files) * 10)
    ]
    frame = spark.createDataFrame(rows, schema).repartitionByRange(files, "id")
    frame.write.mode("append").parquet(str(folder))
    aged(folder)


def test_points_are_skipped_by_an_index_type_of_ones_own(
    spark: SparkSession, tmp_path: Path, module: Any
) -> None:
    folder = tmp_path / "points"
    append(spark, module, folder, 0, 4)
    done = skipping.create(spark, str(folder), ["pointrange:p", "nulls:p", "pointrange:`old.p`"])
    assert set(done.indexes) == {"pointrange:p", "nulls:p", "pointrange:`old.p`"}
    assert done.failed_indexes == {}
    append(spark, module, folder, 4, 2)
    assert skipping.refresh(spark, str(folder)).collected_files == 2
    metadata = read_metadata(metadata_storage(f"{folder}/_starskip"))
    assert metadata is not None
    most = metadata.column("pointrange:p", "x_most").to_pylist()
    assert sorted(most) == [9, 19, 29, 39, 49, 58]
    wanted = {
        "near(p, 5.0D, 10.0D, 3.0D)": 1,
        "near(p, 50.0D, 100.0D, 3.0D)": 2,
        "near(p, 500.0D, 10.0D, 3.0D)": 0,
        "NOT near(p, 5.0D, 10.0D, 3.0D)": 6,
        "near(p, 5.0D, 10.0D, 3.0D) OR near(p, 45.0D, 90.0D, 1.0D)": 2,
        "near(`old.p`, 0.0D, 0.0D, 1e9D)": 0,
        "p IS NULL": 6,
    }
    skipping.enable(spark, modules=[MODULE])
    try:
        frame = spark.read.parquet(str(folder))
        for where, files in wanted.items():
            found = sorted(row.id for row in frame.where(where).select("id").collect())
            (stats,) = skipping.last_query_stats(spark)
            assert stats["files_read"] == files, (where, stats)
            skipping.disable(spark)
            assert found == sorted(row.id for row in frame.where(where).select("id").collect()), where
            skipping.enable(spark, modules=[MODULE])
    finally:
        skipping.disable(spark)


@pytest.mark.parametrize("index", ["minmax:p", "valuelist:p", "bloom:p", "geometrybox:p", "prefix:p:2"])
def test_a_built_in_type_says_that_it_does_not_know_the_column(
    spark: SparkSession, tmp_path: Path, module: Any, index: str
) -> None:
    folder = tmp_path / "points"
    append(spark, module, folder, 0, 1)
    with pytest.raises(
        ConfigError, match=r": p is udt, a type of a user's own, which \w+ does not know"
    ) as told:
        skipping.create(spark, str(folder), [index])
    assert "\n" not in str(told.value)


def test_a_file_with_a_point_that_is_no_number_is_kept(module: Any) -> None:
    import pyarrow as pa

    whole, part = module.Bounds(), module.Bounds()
    part.add(pa.record_batch({"points": pa.array([[1.0, math.nan], [5.0, 5.0]])}))
    for each in part.parts():
        whole.merge(each)
    assert math.isnan(whole.result()["y_most"][0].as_py())
    assert list(module.Bounds().parts()) == []
