"""Spark's own event log of queries on Delta and Iceberg tables: tables, predicates, files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from starskip.advisor.workload.lake_queries import TableLocations, lake_queries
from starskip.advisor.workload.spark_events.event_logs import event_logs
from starskip.advisor.workload.spark_events.sql_execution import LogSummary, SqlExecution
from starskip.advisor.workload.spark_events.sql_executions import read_event_log
from starskip.lake.open_lake_table import iceberg_columns
from starskip.lake.spark_types import spark_struct

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.table_formats]

COLUMNS = "id bigint, s string, p string, f double"
ROWS = (
    "SELECT id, concat('k', id % 7) AS s, CAST(id % 2 AS string) AS p, id / 2D AS f "
    "FROM range({0}, {1}, 1, 1)"
)
Asked = tuple[str, str, str, int]
"""A query's text, the table's name, the skeleton of what it asks, and the files that it reads."""


def test_forms_of_queries_are_told_from_the_log_of_a_real_spark(
    spark: SparkSession, warehouse: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "é log"
    (folder / "events").mkdir(parents=True)
    make_tables(spark, folder)
    asked = list(queries(spark, folder))
    try:
        with event_log(spark, folder / "events"):
            for text, *_ in asked:
                spark.sparkContext.setJobDescription(text)
                spark.sql(text).collect()
    finally:
        spark.sparkContext.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
        spark.sql("DROP TABLE named")
    (log,) = event_logs([str(folder / "events")])
    summary = LogSummary()
    executions = [each for each in read_event_log(log, summary) if each.scans]
    assert not summary.rejected and not summary.unfinished
    places = {
        f"{folder}/by path": "by path",
        f"{folder}/vectors": "vectors",
        f"{folder}/named": "named",
        **{f"ice.log.{name}": f"ice.log.{name}" for name in ("t", "split", "deleted")},
    }
    schemas = {
        f"ice.log.{name}": spark_struct(iceberg_columns(f"{warehouse}/log/{name}"))
        for name in ("t", "split", "deleted")
    }
    by_text: dict[str, list[SqlExecution]] = {}
    for each in executions:
        by_text.setdefault(each.description, []).append(each)
    found = {text: _told(by_text.get(text, []), places, schemas) for text, *_ in asked}
    wanted = {text: (table, skeleton, files) for text, table, skeleton, files in asked}
    assert {text: rows for text, rows in found.items() if wanted[text] not in rows} == {}
    for text, rows in found.items():
        # One scan a table, and none of a table's own log.
        assert len(rows) == (2 if " JOIN " in text else 1), (text, rows)


@contextmanager
def event_log(spark: SparkSession, folder: Path) -> Iterator[None]:
    """Have Spark write its event log of what runs inside, as ``spark.eventLog.enabled`` has it do at a start.

    A Spark of its own would take ten times as long as the queries do.
    """
    context = spark.sparkContext._jsc.sc()
    log = spark._jvm.org.apache.spark.scheduler.EventLoggingListener(
        context.applicationId(),
        context.applicationAttemptId(),
        spark._jvm.java.net.URI.create(folder.as_uri()),
        context.conf(),
        context.hadoopConfiguration(),
    )
    log.start()
    context.listenerBus().addToEventLogQueue(log)
    try:
        yield
        context.listenerBus().waitUntilEmpty()
    finally:
        context.listenerBus().removeListener(log)
        log.stop()


def make_tables(spark: SparkSession, folder: Path) -> None:
    deletes = "TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
    merged = "TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'format-version'='3')"
    for name, told in (
        (f"delta.`{folder}/by path`", "USING delta"),
        ("named", f"USING delta PARTITIONED BY (p) LOCATION '{folder}/named'"),
        (f"delta.`{folder}/vectors`", f"USING delta {deletes}"),
        ("ice.log.t", "USING iceberg"),
        ("ice.log.split", "USING iceberg PARTITIONED BY (p)"),
        ("ice.log.deleted", f"USING iceberg {merged}"),
    ):
        spark.sql(f"CREATE TABLE {name} ({COLUMNS}) {told}")
        for start in (0, 100, 200):
            spark.sql(f"INSERT INTO {name} {ROWS.format(start, start + 100)}")
    for name in (f"delta.`{folder}/vectors`", "ice.log.deleted"):
        spark.sql(f"DELETE FROM {name} WHERE id = 5")


def queries(spark: SparkSession, folder: Path) -> Iterator[Asked]:
    by_path, vectors = f"delta.`{folder}/by path`", f"delta.`{folder}/vectors`"
    first = spark.sql("SELECT snapshot_id FROM ice.log.t.snapshots ORDER BY committed_at").first()
    assert first is not None
    yield f"SELECT id FROM {by_path} WHERE id < 50", "by path", "id < ?", 1
    yield f"SELECT count(*) FROM {by_path} WHERE s = 'k3' AND f > 1.5", "by path", "f > ? AND s = ?", 3
    yield f"SELECT id FROM {by_path} VERSION AS OF 1 WHERE s LIKE 'k%'", "by path", "s LIKE '?%'", 1
    # What partitions decide is the format's own, and no filter of the rows of its files.
    yield "SELECT id FROM named WHERE s IN ('k1', 'k2')", "named", "s IN (?)", 6
    yield "SELECT id FROM named WHERE p = '1' AND id >= 250", "named", "id >= ?", 1
    yield "SELECT id FROM named WHERE p = '0'", "named", "?", 3
    yield f"SELECT id FROM {vectors} WHERE s = 'k1' OR id IS NULL", "vectors", "id IS NULL OR s = ?", 3
    yield "SELECT id FROM ice.log.t WHERE id < 50", "ice.log.t", "id < ?", 1
    yield "SELECT count(*) FROM ice.log.t WHERE s = 'k3' AND f > 1.5", "ice.log.t", "f > ? AND s = ?", 3
    yield (
        f"SELECT id FROM ice.log.t VERSION AS OF {first['snapshot_id']} WHERE s = 'k3'",
        "ice.log.t",
        "s = ?",
        1,
    )
    yield "SELECT id FROM ice.log.split WHERE p = '1' AND s = 'k2'", "ice.log.split", "s = ?", 3
    yield "SELECT id FROM ice.log.deleted WHERE s IN ('k1', 'k2')", "ice.log.deleted", "s IN (?)", 3
    yield (
        "SELECT a.id FROM named a JOIN ice.log.t b ON a.id = b.id WHERE a.s = 'k1' AND b.f < 10",
        "named",
        "id IS NOT NULL AND s = ?",
        6,
    )


def _told(
    executions: list[SqlExecution], places: Mapping[str, str], schemas: Mapping[str, str]
) -> list[tuple[str, str, int]]:
    rows = lake_queries(executions, TableLocations(places), schemas).to_pylist()
    return [(row["table"], row["skeleton"], row["files_read"]) for row in rows]
