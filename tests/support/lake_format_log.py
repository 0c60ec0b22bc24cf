"""Runs queries of Delta and Iceberg tables on a Spark of its own, which writes its event log.

``python lake_format_log.py FOLDER``: tables and log lie there afterwards, and stdout has by each query's text
(the description that the log has) what was asked: table, skeleton of the predicate, and files that it read.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from lake_formats import jars_behind_sparks, session_settings
from pyspark.sql import SparkSession

_ROWS = (
    "SELECT id, concat('k', id % 7) AS s, CAST(id % 2 AS string) AS p, id / 2D AS f "
    "FROM range({0}, {1}, 1, 1)"
)
_COLUMNS = "id bigint, s string, p string, f double"
Asked = tuple[str, str, str, int]
"""A query's text, the table's name, the skeleton of what it asks, and the files that it reads."""


def write_log(folder: Path) -> list[Asked]:
    """Make the tables, run the queries, and return what was asked."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ |= jars_behind_sparks()
    events = folder / "events"
    events.mkdir()
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in session_settings(folder / "warehouse").items():
        builder = builder.config(name, value)
    spark = (
        builder.config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(folder / "managed"))
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", events.as_uri())
        .getOrCreate()
    )
    _make_tables(spark, folder)
    asked = list(_queries(spark, folder))
    for text, *_ in asked:
        spark.sparkContext.setJobDescription(text)
        spark.sql(text).collect()
    spark.stop()
    return asked


def _make_tables(spark: SparkSession, folder: Path) -> None:
    deletes = "TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
    merged = "TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'format-version'='3')"
    for name, told in (
        (f"delta.`{folder}/by path`", "USING delta"),
        ("named", "USING delta PARTITIONED BY (p)"),
        (f"delta.`{folder}/vectors`", f"USING delta {deletes}"),
        ("ice.db.t", "USING iceberg"),
        ("ice.db.split", "USING iceberg PARTITIONED BY (p)"),
        ("ice.db.deleted", f"USING iceberg {merged}"),
    ):
        spark.sql(f"CREATE TABLE {name} ({_COLUMNS}) {told}")
        for start in (0, 100, 200):
            spark.sql(f"INSERT INTO {name} {_ROWS.format(start, start + 100)}")
    for name in (f"delta.`{folder}/vectors`", "ice.db.deleted"):
        spark.sql(f"DELETE FROM {name} WHERE id = 5")


def _queries(spark: SparkSession, folder: Path) -> Iterator[Asked]:
    by_path, vectors = f"delta.`{folder}/by path`", f"delta.`{folder}/vectors`"
    first = spark.sql("SELECT snapshot_id FROM ice.db.t.snapshots ORDER BY committed_at").first()
    assert first is not None
    yield f"SELECT id FROM {by_path} WHERE id < 50", "by path", "id < ?", 1
    yield f"SELECT count(*) FROM {by_path} WHERE s = 'k3' AND f > 1.5", "by path", "f > ? AND s = ?", 3
    yield f"SELECT id FROM {by_path} VERSION AS OF 1 WHERE s LIKE 'k%'", "by path", "s LIKE '?%'", 1
    # What partitions decide is the format's own, and no filter of the rows of its files.
    yield "SELECT id FROM named WHERE s IN ('k1', 'k2')", "named", "s IN (?)", 6
    yield "SELECT id FROM named WHERE p = '1' AND id >= 250", "named", "id >= ?", 1
    yield "SELECT id FROM named WHERE p = '0'", "named", "?", 3
    yield f"SELECT id FROM {vectors} WHERE s = 'k1' OR id IS NULL", "vectors", "id IS NULL OR s = ?", 3
    yield "SELECT id FROM ice.db.t WHERE id < 50", "ice.db.t", "id < ?", 1
    yield "SELECT count(*) FROM ice.db.t WHERE s = 'k3' AND f > 1.5", "ice.db.t", "f > ? AND s = ?", 3
    yield (
        f"SELECT id FROM ice.db.t VERSION AS OF {first['snapshot_id']} WHERE s = 'k3'",
        "ice.db.t",
        "s = ?",
        1,
    )
    yield "SELECT id FROM ice.db.split WHERE p = '1' AND s = 'k2'", "ice.db.split", "s = ?", 3
    yield "SELECT id FROM ice.db.deleted WHERE s IN ('k1', 'k2')", "ice.db.deleted", "s IN (?)", 3
    yield (
        "SELECT a.id FROM named a JOIN ice.db.t b ON a.id = b.id WHERE a.s = 'k1' AND b.f < 10",
        "named",
        "id IS NOT NULL AND s = ?",
        6,
    )


if __name__ == "__main__":
    print(json.dumps(write_log(Path(sys.argv[1]))))
