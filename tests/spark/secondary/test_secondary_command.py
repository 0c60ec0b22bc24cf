"""``starskip secondary … --spark``: the same indexes, made and merged by tasks of Spark."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from starskip.cli.main import main
from starskip.execution.local_engine import LocalEngine

pytestmark = pytest.mark.spark


def command(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["secondary", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def put(folder: Path, number: int) -> None:
    rows = {"id": range(number * 1_000, number * 1_000 + 1_000), "user": [at % 50 for at in range(1_000)]}
    pq.write_table(pa.table(rows), folder / f"{number}.parquet")
    os.utime(folder / f"{number}.parquet", (1_700_000_000 + number, 1_700_000_000 + number))


def test_indexes_are_made_refreshed_and_merged_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("this process was asked")

    monkeypatch.setattr(LocalEngine, "rows_of_items", refused)
    put(tmp_path, 0)
    path = str(tmp_path)
    command("create", path, "--index", "btree:user", "--index", "btree:id", "--spark")
    put(tmp_path, 1)
    assert "1 files read, 1 unchanged" in command("refresh", path, "--spark")
    assert "version 3" in command("optimize", path, "--spark")
    answer = json.loads(command("query", path, "user = 7 AND id >= 500", "--columns", "id"))
    assert len(answer["rows"]) == 30
    assert spark.range(1).count() == 1
