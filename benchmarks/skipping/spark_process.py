"""One Spark process: questions answered plain and in other ways, in turn, with files, bytes and times.

Started by ``running_peer`` with the Python of an environment that has the peer's Spark; it writes one JSON
document to the file that it is told. Starskip is imported only where it is what is measured.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Run by path: Python has put this file's own folder in front, not the one that it is a package of.
sys.path[0] = str(Path(__file__).parents[1])

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from skipping.functions import register  # noqa: E402

CONFIGURATION = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
    },
    "starskip": {},
}
_FILES = ("numFiles", "resultDataFiles")


def main() -> None:
    """Read the order from the standard input, measure, write the answer."""
    order = json.load(sys.stdin)
    spark = session(order["engine"], order["jars"], order["scratch"])
    register(spark)
    data = order["data"]
    spark.read.parquet(data).createOrReplaceTempView("plain")
    preparing = time.perf_counter()
    ways = WAYS[order["engine"]](spark, order)
    prepared_s = time.perf_counter() - preparing
    # What comes first would be measured while the JVM is still compiling what all questions need.
    for question in order["questions"]:
        for way in ways.values():
            query = way(question)
            if query is not None:
                query.collect()
    found = [measured(spark, ways, each, order["runs"]) for each in order["questions"]]
    answer = {
        "spark": spark.version,
        "prepared_s": prepared_s,
        "questions": found,
    }
    spark.stop()
    Path(order["answer"]).write_text(json.dumps(answer))


def session(engine: str, jars: list[str], scratch: str, driver_memory: str = "3g") -> SparkSession:
    """Return a session of two cores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # The workers unpickle functions of this folder.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    builder = SparkSession.builder.master("local[2]")
    settings = {
        "spark.driver.memory": driver_memory,
        "spark.driver.maxResultSize": "16m",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        **CONFIGURATION[engine],
    }
    if engine == "iceberg":
        settings["spark.sql.catalog.ice.warehouse"] = f"{scratch}/iceberg"
    if jars:
        settings["spark.jars"] = ",".join(jars)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


Way = Callable[[dict[str, Any]], DataFrame | None]
"""Prepares, untimed, and returns the query; None if there is none."""


def starskip_ways(spark: SparkSession, order: dict[str, Any]) -> dict[str, Way]:
    """Return plain, rewritten by hand, and by Starskip."""
    from starskip.spark import skipping

    root = order["metadata_root"]

    def plain(question: dict[str, Any]) -> DataFrame:
        skipping.disable(spark)
        return spark.sql(question["plain"])

    def rewritten(question: dict[str, Any]) -> DataFrame | None:
        skipping.disable(spark)
        return spark.sql(question["rewritten"]) if question["rewritten"] else None

    def ours(question: dict[str, Any]) -> DataFrame:
        skipping.enable(spark, metadata_root=root, modules=order["modules"])
        # enable() forgets which tables have metadata; a session that goes on knows.
        spark.sql(question["plain"])._jdf.queryExecution().optimizedPlan()
        return spark.sql(question["plain"])

    return {"plain": plain, "rewritten": rewritten, "peer": ours}


def delta_ways(spark: SparkSession, order: dict[str, Any]) -> dict[str, Way]:
    """Convert hard links to the files, so that the others see no log, and return both ways."""
    spark.sql(f"CONVERT TO DELTA parquet.`{order['copy']}`")
    spark.read.format("delta").load(order["copy"]).createOrReplaceTempView("peer")
    return _two_ways(spark)


def iceberg_ways(spark: SparkSession, order: dict[str, Any]) -> dict[str, Way]:
    """Add the files to a table as they are, and return both ways."""
    spark.sql("CREATE TABLE ice.db.log USING iceberg AS SELECT * FROM plain LIMIT 0")
    spark.sql(f"CALL ice.system.add_files(table => 'db.log', source_table => '`parquet`.`{order['copy']}`')")
    spark.table("ice.db.log").createOrReplaceTempView("peer")
    return _two_ways(spark)


def _two_ways(spark: SparkSession) -> dict[str, Way]:
    return {
        "plain": lambda question: spark.sql(question["plain"]),
        "rewritten": lambda question: (
            spark.sql(question["peer_rewritten"]) if question["peer_rewritten"] else None
        ),
        "peer": lambda question: spark.sql(question["peer"]),
    }


WAYS = {"starskip": starskip_ways, "delta": delta_ways, "iceberg": iceberg_ways}


def measured(
    spark: SparkSession, ways: dict[str, Way], question: dict[str, Any], runs: int
) -> dict[str, Any]:
    """Answer one question in all ways, in turn, ``runs`` times."""
    found: dict[str, dict[str, Any]] = {}
    for _ in range(runs):
        for name, prepare in ways.items():
            query = prepare(question)
            if query is None:
                continue
            before = read_bytes(spark)
            start = time.perf_counter()
            rows = query.collect()
            seconds = time.perf_counter() - start
            read = read_bytes(spark) - before
            of = found.setdefault(name, {"ms": [], "read_bytes": [], "answers": []})
            answer = [rows[0][0], rows[0][1] or 0]
            if answer not in of["answers"]:
                of["answers"].append(answer)
            of["ms"].append(seconds * 1000)
            of["read_bytes"].append(read)
            of["files"] = files_read(query)
    for of in found.values():
        of["ms"] = statistics.median(of["ms"])
        of["read_bytes"] = statistics.median(of["read_bytes"])
    print(f"  {question['name']}: " + _told(found), file=sys.stderr)
    return {"name": question["name"], "ways": found}


def _told(found: dict[str, dict[str, Any]]) -> str:
    return ", ".join(f"{name} {of['ms']:.0f} ms, {of['files']} files" for name, of in found.items())


def files_read(query: DataFrame) -> int | None:
    """Return how many files Spark says that the scans of a query that ran have read."""
    found = []
    for scan in _leaves(query._jdf.queryExecution().executedPlan()):
        metrics = scan.metrics()
        found += [int(metrics.apply(name).value()) for name in _FILES if metrics.contains(name)]
    return sum(found) if found else None


def _leaves(plan: Any) -> Iterator[Any]:
    kind = plan.getClass().getSimpleName()
    if kind == "AdaptiveSparkPlanExec":
        yield from _leaves(plan.executedPlan())
    elif kind.endswith("QueryStageExec"):
        yield from _leaves(plan.plan())
    elif plan.children().isEmpty():
        yield plan
    else:
        for at in range(plan.children().size()):
            yield from _leaves(plan.children().apply(at))


def read_bytes(spark: SparkSession) -> int:
    """Return what Spark and this process have read so far, by Linux's count; 0 on other systems.

    Other counts miss some: Hadoop's those that Iceberg reads, Spark's those of listings and metadata.
    """
    return sum(read_bytes_of_processes(spark))


def read_bytes_of_processes(spark: SparkSession) -> tuple[int, int]:
    """Return what Spark's JVM has read so far, and what this process has, as ``read_bytes`` counts."""
    jvm = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
    return _rchar(jvm), _rchar(os.getpid())


def _rchar(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("rchar"))


if __name__ == "__main__":
    main()
