"""Makes the sample's Spark event log: runs the sample's queries on Spark and keeps what Spark logs.

``python spark_log.py TABLE_FOLDER EVENTS_FOLDER [QUERIES|pairs]``. The table is of Parquet files, or a Delta
table, whose jars ``SPARK_DIST_CLASSPATH`` names (``delta_connector.py``). The log is Spark's own, except for
everything that belongs to the machine: the table's path becomes ``file:/lake/lineitem``, the queries run on
2026-11-20, and properties, call stacks and names of hosts are left out.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import zstandard
from pyspark.sql import SparkSession
from spark_queries import QUERIES, pair_queries, sample_queries

TABLE = "file:/lake/lineitem"
FIRST_QUERY = datetime(2026, 11, 20, 6, tzinfo=UTC)
DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}
_TIME = re.compile(r"(?<![\d.])1[6-9]\d{11}(?![\d.])")
_KEPT_PROPERTIES = "spark.sql.execution."


def write_spark_log(table: Path, folder: Path, queries: Iterable[str]) -> Path:
    """Run the queries on the table; return the log's folder, which has the layout of a rolling log."""
    with tempfile.TemporaryDirectory() as raw:
        _run(table, raw, queries)
        (log,) = Path(raw).glob("eventlog_v2_*/events_1_*")
        with zstandard.open(log, "rt", encoding="utf-8") as lines:
            events = [json.loads(line) for line in lines]
    start = next(each["time"] for each in events if each["Event"].endswith("SQLExecutionStart"))
    shift = int(FIRST_QUERY.timestamp() * 1000) - start

    def shifted(found: re.Match[str]) -> str:
        return str(int(found[0]) + shift)

    made = [json.dumps(_without_machine(each), separators=(",", ":"), ensure_ascii=False) for each in events]
    text = _TIME.sub(shifted, "\n".join(made) + "\n")
    text = text.replace(str(table.resolve()), TABLE.removeprefix("file:"))
    text = text.replace(str(Path(__file__).resolve()), "spark_log.py")
    application = re.search(r'"App ID":"([^"]+)"', text)
    if application is None:
        raise SystemExit("Spark wrote no application into its log")
    target = folder / f"eventlog_v2_{application[1]}"
    target.mkdir(parents=True)
    (target / f"appstatus_{application[1]}").touch()
    packed = zstandard.ZstdCompressor(level=19).compress(text.encode())
    (target / f"events_1_{application[1]}.zstd").write_bytes(packed)
    return target


def _run(table: Path, events: str, queries: Iterable[str]) -> None:
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    table_format = "delta" if (table / "_delta_log").is_dir() else "parquet"
    builder = SparkSession.builder
    for name, value in (DELTA_SETTINGS if table_format == "delta" else {}).items():
        builder = builder.config(name, value)
    spark = (
        builder.master("local[2]")
        .appName("lineitem reports")
        .config("spark.driver.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", Path(events).as_uri())
        .getOrCreate()
    )
    spark.read.format(table_format).load(str(table.resolve())).createOrReplaceTempView("lineitem")
    spark.udf.register("carrier", carrier)
    for sql in queries:
        # As spark-sql and JDBC servers do: the query is the description of what it runs.
        spark.sparkContext.setJobDescription(sql)
        spark.sql(sql).collect()
    spark.stop()


def carrier(mode: str) -> str:
    """Return the carrier of a ship mode."""
    return {"TRUCK": "road", "RAIL": "rail", "AIR": "air", "REG AIR": "air"}.get(mode, "sea")


def _without_machine(event: dict[str, Any]) -> dict[str, Any]:
    if event["Event"] == "SparkListenerEnvironmentUpdate":
        return {key: value if key == "Event" else {} for key, value in event.items()}
    for key in ("Properties", "details", "User", "Details", "modifiedConfigs", "Executor Info"):
        if isinstance(event.get(key), dict):
            event[key] = {
                name: value for name, value in event[key].items() if name.startswith(_KEPT_PROPERTIES)
            }
        elif key in event:
            event[key] = ""
    for stage in (*event.get("Stage Infos", ()), event.get("Stage Info") or {}):
        if "Details" in stage:
            stage["Details"] = ""
    for key in ("Block Manager ID", "Task Info"):
        if "Host" in event.get(key, {}):
            event[key]["Host"] = "driver"
    return event


if __name__ == "__main__":
    which = sys.argv[3] if len(sys.argv) > 3 else str(QUERIES)
    asked = list(pair_queries()) if which == "pairs" else list(sample_queries())[: int(which)]
    print(write_spark_log(Path(sys.argv[1]), Path(sys.argv[2]), asked))
