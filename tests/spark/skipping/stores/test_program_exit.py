"""A program that ends without ``spark.stop()`` ends in silence, by plain Python and by spark-submit."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import starskip

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
    done = subprocess.run(
        [*([sys.executable] if how == "python" else submit), script, path, ends],
        env={
            **{name: value for name, value in os.environ.items() if name != "SPARK_HOME"},
            "PYTHONPATH": str(Path(starskip.__file__).parents[1]),
            "PYSPARK_PYTHON": sys.executable,
            **({"PYSPARK_SUBMIT_ARGS": shlex.join([*options, "pyspark-shell"])} if how == "python" else {}),
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == (9 if ends == "raise" else 0), done.stderr[-3000:]
    assert ends == "raise" or "ROWS [7]" in done.stdout
    for sign in ("ERROR", "SEVERE", "Py4J", "py4j", "Traceback"):
        assert sign not in done.stderr, done.stderr[-5000:]
