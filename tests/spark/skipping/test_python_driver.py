"""Skipping by configuration alone, in a real spark-submit."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from spark_program import run_spark_program

pytestmark = [pytest.mark.slow, pytest.mark.spark]

APPLICATION = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
chosen = spark.read.parquet(sys.argv[1]).where("id = 7")
print("SEEN " + json.dumps([len(chosen.inputFiles()), chosen.count(), sys.argv[1:], __name__]))
"""


def submit(folder: Path, *arguments: str, **settings: str) -> list[object]:
    script = folder / "application.py"
    script.write_text(APPLICATION)
    driver = folder / "starskip-python"
    # What pip makes of the entry in pyproject, which an environment may not have been given yet.
    driver.write_text(f"#!{sys.executable}\nfrom starskip.spark.skipping.python_driver import main\nmain()\n")
    driver.chmod(0o755)
    settings = {
        "spark.pyspark.driver.python": str(driver),
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        **settings,
    }
    confs = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    spark_submit = Path(sys.executable).with_name("spark-submit")
    done = run_spark_program([spark_submit, "--master", "local[1]", *confs, script, *arguments])
    seen = [line for line in done.stdout.splitlines() if line.startswith("SEEN ")]
    assert seen, done.stderr[-3000:]
    found: list[object] = json.loads(seen[0].removeprefix("SEEN "))
    return found


def test_a_job_skips_without_a_line_about_it(
    spark: SparkSession, table_of: Callable[..., str], tmp_path: Path
) -> None:
    path = table_of(spark.range(0, 100, 1, 5), "minmax:id")
    assert submit(tmp_path, path, "--option") == [1, 1, [path, "--option"], "__main__"]


def test_turned_off_by_a_setting(spark: SparkSession, table_of: Callable[..., str], tmp_path: Path) -> None:
    path = table_of(spark.range(0, 100, 1, 5), "minmax:id")
    settings = {"spark.starskip.skipping.enabled": "false"}
    assert submit(tmp_path, path, **settings) == [5, 1, [path], "__main__"]
