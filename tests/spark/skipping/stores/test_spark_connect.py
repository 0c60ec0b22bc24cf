"""In a session of Spark Connect every public function warns, and queries run as ever."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_program import run_spark_program

pytestmark = [pytest.mark.slow, pytest.mark.spark]

PROGRAM = """
import json, logging, sys
from datetime import timedelta

warnings = []


class Kept(logging.Handler):
    def emit(self, record):
        warnings.append(record.getMessage())


logging.getLogger("starskip.skipping").addHandler(Kept())
from pyspark.sql import SparkSession
from starskip.spark import skipping

path = sys.argv[1]
spark = SparkSession.builder.remote("local[1]").getOrCreate()
frame = spark.read.parquet(path).where("id = 7")
calls = {
    "enable": lambda: skipping.enable(spark),
    "disable": lambda: skipping.disable(spark),
    "is_enabled": lambda: skipping.is_enabled(spark),
    "create": lambda: skipping.create(spark, path, ["minmax:id"]),
    "refresh": lambda: skipping.refresh(spark, path, full=True),
    "optimize": lambda: skipping.optimize(spark, path),
    "rotate": lambda: skipping.rotate(spark, path, ("k", "old"), ("k", "new")),
    "delete": lambda: skipping.delete(spark, path),
    "restore": lambda: skipping.restore(spark, path),
    "vacuum": lambda: skipping.vacuum(spark, path, grace=timedelta(0)),
    "describe": lambda: skipping.describe(spark, path),
    "list_indexes": lambda: skipping.list_indexes(spark=spark, table=path),
    "skip": lambda: skipping.skip(frame) is frame and skipping.skip(dataframe=frame) is frame,
    "explain": lambda: skipping.explain(frame) or skipping.explain("SELECT 1", spark),
    "last_query_stats": lambda: skipping.last_query_stats(spark),
}
assert sorted(calls) == dir(skipping), dir(skipping)
told = {}
for name, call in calls.items():
    del warnings[:]
    told[name] = [call(), list(warnings)]
rows = [row["id"] for row in frame.collect()]
print("TOLD " + json.dumps({"kind": type(spark).__module__, "rows": rows, "calls": told}))
"""

WITHOUT_JVM = """
import sys
# The client of Spark Connect alone has neither.
sys.modules["py4j"] = sys.modules["pyspark.core"] = None
import pyspark
assert not hasattr(pyspark, "SparkContext")
from starskip.spark import skipping
frame = object()
assert skipping.skip(frame) is frame
assert skipping.is_enabled(object()) is False
print("TOLD []")
"""


def told_by(program: str, folder: Path, *arguments: str) -> Any:
    script = folder / "program.py"
    script.write_text(program)
    done = run_spark_program([sys.executable, script, *arguments])
    found = [line for line in done.stdout.splitlines() if line.startswith("TOLD ")]
    assert found, done.stderr[-3000:]
    return json.loads(found[0].removeprefix("TOLD "))


def test_each_function_warns_and_the_query_runs(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.mkdir()
    pq.write_table(pa.table({"id": range(20)}), path / "part-0.parquet")
    told = told_by(PROGRAM, tmp_path, str(path))
    assert told["kind"] == "pyspark.sql.connect.session"
    assert told["rows"] == [7]
    answers = {name: answer for name, (answer, _) in told["calls"].items()}
    assert answers == {
        **dict.fromkeys(["enable", "disable", "create", "refresh", "optimize", "rotate"]),
        **dict.fromkeys(["delete", "restore", "vacuum"]),
        "is_enabled": False,
        "describe": {},
        "list_indexes": [],
        "skip": True,
        "explain": [],
        "last_query_stats": [],
    }
    for name, (_, warnings) in told["calls"].items():
        assert warnings and all(each.startswith(f"{name}: not skipping, because") for each in warnings)
        assert "Spark Connect" in warnings[0]
    assert not (path / "_starskip").exists()


def test_where_there_is_no_jvm_at_all(tmp_path: Path) -> None:
    assert told_by(WITHOUT_JVM, tmp_path) == []
