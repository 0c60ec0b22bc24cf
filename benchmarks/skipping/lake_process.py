"""One Spark process over a Delta or Iceberg table: its own skipping alone, and with ours, in turn.

Started by ``running_peer``; it writes one JSON document to the file that it is told.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

# Run by path: Python has put this file's own folder in front, not the one that it is a package of.
sys.path[0] = str(Path(__file__).parents[1])

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from skipping.functions import register  # noqa: E402
from skipping.made_up_lake import MadeUpLake  # noqa: E402
from skipping.questions import GEOSPATIAL, INDEXES  # noqa: E402
from skipping.spark_process import WAYS, files_read, read_bytes, session  # noqa: E402
from starskip.spark import skipping  # noqa: E402

_OF_FORMATS = ("minmax", "nulls", "partition")
DRIVER_MEMORY = "1g"
_WARMING = 1
_PLANNING_DELTA = "2g"
"""Of the made-up table of 100,000 files Delta alone runs out of 1 GiB after some queries."""


def main() -> None:
    """Read the order from the standard input, measure, write the answer."""
    order = json.load(sys.stdin)
    of_delta = order["part"] == "planning" and order["engine"] == "delta"
    memory = _PLANNING_DELTA if of_delta else DRIVER_MEMORY
    spark = session(order["engine"], order["jars"], order["scratch"], memory)
    answer = {"queries": _queries, "planning": _planning}[order["part"]](spark, order)
    spark.stop()
    Path(order["answer"]).write_text(json.dumps(answer))


def _queries(spark: SparkSession, order: dict[str, Any]) -> dict[str, Any]:
    register(spark)
    spark.read.parquet(order["data"]).createOrReplaceTempView("plain")
    start = time.perf_counter()
    WAYS[order["engine"]](spark, order)
    prepared_s = time.perf_counter() - start
    path = order["copy"] if order["engine"] == "delta" else f"{order['scratch']}/iceberg/db/log"
    indexes = [each for each in INDEXES if each.partition(":")[0] not in _OF_FORMATS]
    start = time.perf_counter()
    skipping.create(spark, path, indexes)
    indexed_s = time.perf_counter() - start
    for question in order["questions"]:
        for ours in (False, True):
            _prepared(spark, question["peer"], ours=ours).collect()
    return {
        "spark": spark.version,
        "prepared_s": prepared_s,
        "indexed_s": indexed_s,
        "indexes": indexes,
        "metadata_bytes": skipping.describe(spark, path)["metadata_bytes"],
        "questions": [_measured(spark, each, order["runs"]) for each in order["questions"]],
    }


def _prepared(spark: SparkSession, sql: str, *, ours: bool) -> DataFrame:
    if not ours:
        skipping.disable(spark)
        return spark.sql(sql)
    skipping.enable(spark, modules=[GEOSPATIAL])
    # enable() forgets which tables have metadata; a session that goes on knows.
    spark.sql(sql)._jdf.queryExecution().optimizedPlan()
    return spark.sql(sql)


def _measured(spark: SparkSession, question: dict[str, Any], runs: int) -> dict[str, Any]:
    """Answer one question both ways, in turn, ``runs`` times."""
    ways: dict[str, dict[str, Any]] = {}
    for _ in range(runs):
        for name in ("format", "ours"):
            query = _prepared(spark, question["peer"], ours=name == "ours")
            before = read_bytes(spark)
            start = time.perf_counter()
            ((rows, total),) = query.collect()
            seconds = time.perf_counter() - start
            read = read_bytes(spark) - before
            of = ways.setdefault(
                name, {"ms": [], "read_bytes": [], "metadata_ms": [], "answers": [], "files": None}
            )
            if [rows, total or 0] not in of["answers"]:
                of["answers"].append([rows, total or 0])
            of["ms"].append(seconds * 1000)
            of["read_bytes"].append(read)
            of["files"] = files_read(query)
            if name == "ours":
                # Iceberg's own metric is of the scan before files were left out of it.
                (stats,) = skipping.last_query_stats(spark)
                of["files"] = stats["files_read"]
                of["metadata_ms"].append(stats["metadata_ms"])
    for of in ways.values():
        for key in ("ms", "read_bytes", "metadata_ms"):
            of[key] = statistics.median(of[key] or [0.0])
    told = ", ".join(f"{name} {of['ms']:.0f} ms, {of['files']} files" for name, of in ways.items())
    print(f"  {question['name']}: {told}", file=sys.stderr)
    return {"name": question["name"], "ways": ways}


def _planning(spark: SparkSession, order: dict[str, Any]) -> dict[str, Any]:
    table = MadeUpLake(order["engine"], Path(order["scratch"]) / "made-up", order["files"])
    table.write()
    spark.read.format(order["engine"]).load(table.path).createOrReplaceTempView("made_up")
    start = time.perf_counter()
    skipping_bytes = table.index(spark)
    indexed_s = time.perf_counter() - start
    for question in table.questions():
        _planned(spark, *question, _WARMING)  # the JVM compiles what planning needs for some 20 queries
    found = [_planned(spark, *each, order["runs"]) for each in table.questions()]
    return {
        "indexed_s": indexed_s,
        "metadata_bytes": skipping_bytes,
        "python_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "questions": found,
    }


def _planned(spark: SparkSession, name: str, where: str, expected: int, runs: int) -> dict[str, Any]:
    """Plan a query both ways, in turn; ``expected``: how many files are left by both together."""
    sql = f"SELECT c0 FROM made_up WHERE {where}"
    times: dict[bool, list[float]] = {False: [], True: []}
    files = {}
    for run in range(1 + runs):
        for ours in (False, True):
            if ours and not run:
                skipping.enable(spark)
            else:
                _prepared(spark, sql, ours=ours)
            spark.sparkContext._jvm.System.gc()
            start = time.perf_counter()
            # From the text to the splits of the scan.
            query: DataFrame = spark.sql(sql)
            query._jdf.queryExecution().toRdd().getNumPartitions()
            times[ours].append((time.perf_counter() - start) * 1000)
            files[ours] = table_files(query)
    told = {
        "name": name,
        "format_ms": statistics.median(times[False][1:]),
        "ours_ms": statistics.median(times[True][1:]),
        "first_ms": times[True][0],
        "format_files": files[False],
        "ours_files": files[True],
        "expected_files": expected,
    }
    print(f"  {told}", file=sys.stderr)
    return told


def table_files(query: DataFrame) -> int:
    """Return how many files the only scan of a query's plan has."""
    plan = query._jdf.queryExecution().executedPlan()
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        plan = plan.executedPlan()
    (leaf,) = (plan.collectLeaves().apply(at) for at in range(plan.collectLeaves().size()))
    if leaf.getClass().getSimpleName() == "FileSourceScanExec":
        return int(leaf.selectedPartitions().totalNumberOfFiles())
    return sum(int(each.taskGroup().tasks().size()) for each in leaf.scan().toBatch().planInputPartitions())


if __name__ == "__main__":
    main()
