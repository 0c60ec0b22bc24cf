"""Optimizing on Spark: the runs of one index are merged by several tasks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from secondary_tables import CLOCK
from starskip.secondary import merge_cuts, run_files
from starskip.secondary.check_indexes import check_indexes
from starskip.secondary.lifecycle import create_indexes, describe_indexes, optimize_indexes
from starskip.spark.spark_engine import SparkEngine

pytestmark = [pytest.mark.slow, pytest.mark.spark]
INDEX = "btree:n"


def most_tasks(spark: SparkSession, label: str, run: Callable[[], Any]) -> tuple[Any, int]:
    """Return what a function returns, and the most tasks that one of its stages had."""
    spark.sparkContext.setJobGroup(label, label)
    found = run()
    tracker = spark.sparkContext.statusTracker()
    jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(label))
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return found, max(stage.numTasks for stage in stages if stage)


def test_one_index_is_merged_by_several_tasks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_files, "BLOCK_ROWS", 256)
    for number in range(2):
        rows = pa.table({"n": np.random.default_rng(number).integers(0, 1 << 40, 20_000)})
        pq.write_table(rows, tmp_path / f"{number}.parquet")
        os.utime(tmp_path / f"{number}.parquet", (1_700_000_000 + number, 1_700_000_000 + number))
        create_indexes(str(tmp_path), [INDEX], clock=CLOCK)
    monkeypatch.setattr(merge_cuts, "PART_BYTES", 50_000)
    engine = SparkEngine(spark)
    _, tasks = most_tasks(spark, "merge", lambda: optimize_indexes(str(tmp_path), engine=engine))
    assert tasks > 2
    (described,) = describe_indexes(str(tmp_path))["indexes"]
    assert described["runs"] == tasks
    assert check_indexes(str(tmp_path)) == {INDEX: 40_000}
