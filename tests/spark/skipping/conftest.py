"""Tables with metadata whose files are old enough to be trusted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from skipping_tables import aged
from starskip.spark import skipping


@pytest.fixture
def table_of(spark: SparkSession, tmp_path: Path) -> Callable[..., str]:
    """Write a frame as a table of ``files`` files in the order of its rows, with indexes."""

    def made(
        frame: DataFrame,
        *indexes: str,
        name: str = "t",
        file_format: str = "parquet",
        by: tuple[str, ...] = (),
    ) -> str:
        folder = tmp_path / name
        frame.write.format(file_format).partitionBy(*by).save(str(folder))
        aged(folder)
        if indexes:
            skipping.create(spark, str(folder), indexes, format=file_format)
        return str(folder)

    return made
