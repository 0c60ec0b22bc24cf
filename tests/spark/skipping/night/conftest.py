"""The night's engine on real Spark, and its table as Parquet and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from night_tables import FILES, ROWS
from pyspark.sql import SparkSession
from skipping_tables import aged
from starskip.lake.lake_table import LakeTable
from starskip.spark import skipping
from starskip.spark.skipping.spark_skipping_engine import SparkSkipping
from starskip.spark.spark_engine import SparkEngine


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[SparkSkipping]:
    assert SparkSession.getActiveSession() is spark
    yield SparkEngine(spark).skipping
    assert not skipping.is_enabled(spark)
    assert SparkSession.getActiveSession() is spark


@pytest.fixture(scope="session")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, LakeTable]:
    """One table of six files, as Parquet and as CSV; its metadata lies below a root of each test's own."""
    rows = spark.range(ROWS).selectExpr(
        "id",
        "IF(id % 10 = 0, NULL, concat('v', id div 7)) AS s",
        "date_add(DATE'2024-01-01', int(id)) AS day",
        "CAST(id / 100 AS DECIMAL(10,2)) AS price",
        "named_struct('B c', id % 3, 'ok', id > 300) AS n",
        "map('k', id) AS m",
        "IF(id = 5, double('NaN'), double(id)) AS d",
    )
    frame = rows.repartitionByRange(FILES, "id").sortWithinPartitions("id")
    folder = tmp_path_factory.mktemp("tables")
    frame.write.parquet(str(folder / "t é%20"))
    frame.select("id", "s", "day", "price", "d").write.csv(str(folder / "lines"), header=True)
    aged(folder)
    return {
        "parquet": LakeTable(str(folder / "t é%20")),
        "csv": LakeTable(str(folder / "lines"), {}, "csv", {"header": "true", "inferSchema": "true"}),
    }


@pytest.fixture
def table(tables: dict[str, LakeTable]) -> LakeTable:
    return tables["parquet"]


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "root")
