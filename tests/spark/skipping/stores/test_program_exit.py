"""A program that ends without ``spark.stop()`` ends in silence, by plain Python and by spark-submit."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_program import run_spark_program

pytestmark = [pytest.mark.slow, pytest.mark.spark]

PROGRAM = """
import os, sys
from pyspark.sql import SparkSession
from starskip.spark import skipping

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
skipping.enable(spark)
rows = spark.read.parquet(sys.argv[1]).where("id = 7")
if "raise" in sys.argv:
    rows.count()
    raise SystemExit(9)
print("ROWS", [row["id"] for row in rows.collect()], flush=True)
if "at once" in sys.argv:
    os._exit(0)
"""


@pytest.mark.parametrize("how", ["python", "spark-submit"])
@pytest.mark.parametrize("ends", ["at its end", "raise", "at once"])
def test_nothing_is_told_at_the_end(tmp_path: Path, how: str, ends: str) -> None:
    path = tmp_path / "t"
    path.mkdir()
    pq.write_table(pa.table({"id": range(20)}), path / "part-0.parquet")
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    options = ["--driver-memory", "1g"]
    submit = [Path(sys.executable).with_name("spark-submit"), *options]
    is_python = how == "python"
    own = {"PYSPARK_SUBMIT_ARGS": shlex.join([*options, "pyspark-shell"])} if is_python else {}
    done = run_spark_program([*([sys.executable] if is_python else submit), script, path, ends], **own)
    assert done.returncode == (9 if ends == "raise" else 0), done.stderr[-3000:]
    assert ends == "raise" or "ROWS [7]" in done.stdout
    for sign in ("ERROR", "SEVERE", "Py4J", "py4j", "Traceback"):
        assert sign not in done.stderr, done.stderr[-5000:]
