"""Run a query of a figure in Spark and measure it: time, files and bytes, of data and of metadata."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skipping.questions import GEOSPATIAL
from skipping.spark_process import files_read, read_bytes_of_processes
from starskip.file_metadata.table_metadata import COLUMNS
from starskip.spark import skipping


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: seconds, bytes by Linux's count, files by Spark's, and the answer's only row.

    ``metadata_s`` and ``metadata_bytes`` are for the metadata; ``seconds`` has the former in it, and
    ``data_bytes`` is what Spark's JVM read.
    """

    seconds: float
    metadata_s: float
    data_bytes: int
    metadata_bytes: int
    files: int
    answer: tuple[Any, ...]

    @property
    def all_bytes(self) -> int:
        """Bytes of data and metadata."""
        return self.data_bytes + self.metadata_bytes


def use(spark: Any, metadata_root: str | None) -> None:
    """Skip by the indexes below a root in the queries to come, None for plain Spark."""
    skipping.disable(spark)
    if metadata_root is not None:
        skipping.enable(spark, metadata_root=metadata_root, modules=[GEOSPATIAL])


def measured(spark: Any, sql: str) -> Measured:
    """Run a query once; columns of metadata are read anew, Linux may have files in memory."""
    COLUMNS.clear()
    before = read_bytes_of_processes(spark)
    start = time.perf_counter()
    query = spark.sql(sql)
    (row,) = query.collect()
    seconds = time.perf_counter() - start
    data_bytes, metadata_bytes = (
        after - was for after, was in zip(read_bytes_of_processes(spark), before, strict=True)
    )
    told = skipping.last_query_stats(spark) if skipping.is_enabled(spark) else []
    metadata_s = sum(each["metadata_ms"] for each in told) / 1000
    files = files_read(query)
    assert files is not None, sql
    return Measured(seconds, metadata_s, data_bytes, metadata_bytes, files, tuple(row))


def median_of(runs: Sequence[Measured]) -> Measured:
    """Return the run whose time is in the middle."""
    return sorted(runs, key=lambda each: each.seconds)[len(runs) // 2]
