"""Event logs that Spark writes today, read: filters of plans, codecs, and the sample's log made anew."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lake_formats import jars_behind_sparks
from pyspark.sql import SparkSession
from starskip.advisor.workload.filter_text import filter_expression
from starskip.advisor.workload.spark_events.event_lines import event_lines
from starskip.advisor.workload.spark_events.event_logs import event_logs
from starskip.advisor.workload.spark_events.sql_execution import LogSummary, SqlExecution
from starskip.advisor.workload.spark_events.sql_executions import read_event_log
from starskip.predicates.data_types import column_types
from starskip.predicates.expression_json import expression_json
from starskip.predicates.predicate_shape import predicate_skeleton

pytestmark = [pytest.mark.slow, pytest.mark.spark]

SAMPLE = Path(__file__).parents[2] / "include" / "sample"

CONDITIONS = {
    "id = 5": "id = ?",
    "id <=> 5 or id is null": "id <=> ? OR id IS NULL",
    "id in (1, 2, null)": "id IN (?)",
    "id not in (1, 2)": "NOT (id IN (?))",
    f"id in ({', '.join(map(str, range(30)))})": "id IN (?)",
    "s in ('a', 'b c')": "s IN (?)",
    "d between '1994-01-01' and '1994-02-01'": "d <= ? AND d >= ?",
    "ts > timestamp'2024-01-01 00:10:00.25'": "ts > ?",
    "n >= timestamp_ntz'2024-01-01 00:10:00'": "n >= ?",
    "p > 12.5 and f < -1e-7": "f < ? AND p > ?",
    "s like 'a%' or s like '%b' or s like '%c%'": "s LIKE '%?%' OR s LIKE '%?' OR s LIKE '?%'",
    "s like 'a%b'": None,
    "s like 'a_b%c'": "s LIKE ?",
    "s like 'a/_b_%' escape '/'": "s LIKE ?",
    "s = 'it\\'s (a, b) AND c'": "s = ?",
    "not (s = 'a' or id > 7)": "NOT (s = ?) AND id <= ?",
    "st.a = 7 and st.b is not null": "st.a = ? AND st.b IS NOT NULL",
    "b and not c": None,
    "id < v": "id < v",
    "upper(s) = 'A'": "upper(s) = ?",
    "v + 1 > 5": "(v + ?) > ?",
    "cast(id as string) = '5'": "Cast(id, ?) = ?",
    "date(ts) = date'2024-01-01'": "ts < ? AND ts >= ?",
}


def test_data_filters_of_this_spark(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(
        "select id, id v, date'1994-01-01' d, 'a' s, cast(1 as decimal(15,2)) p, timestamp'2024-01-01' ts,"
        " timestamp_ntz'2024-01-01' n, struct(id a, 1.5D b) st, true b, true c, 1.5D f from range(1)"
    ).write.parquet(str(tmp_path / "t"))
    table = spark.read.parquet(str(tmp_path / "t"))
    to_info = spark._jvm.org.apache.spark.sql.execution.SparkPlanInfo.fromSparkPlan
    for condition, shape in CONDITIONS.items():
        info = to_info(table.where(condition)._jdf.queryExecution().executedPlan())
        while not info.metadata().contains("DataFilters"):
            info = info.children().head()
        told = {key: info.metadata().apply(key) for key in ("DataFilters", "ReadSchema")}
        found = filter_expression((told["DataFilters"][1:-1],), column_types(told["ReadSchema"]))
        assert "Unknown" not in expression_json(found), condition
        assert shape in (None, predicate_skeleton(found)), condition


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_logs_as_spark_compresses_them(spark: SparkSession, tmp_path: Path, codec: str) -> None:
    jvm = spark._jvm
    text = "".join(f'{{"Event":"E{number}"}}\n' for number in range(20_000)).encode()
    file = jvm.java.io.FileOutputStream(str(tmp_path / f"app.{codec}"))
    packing = jvm.org.apache.spark.io.CompressionCodec.createCodec(spark.sparkContext._jsc.sc().conf(), codec)
    packed = (
        packing.compressedContinuousOutputStream(file)
        if codec == "zstd"
        else packing.compressedOutputStream(file)
    )
    packed.write(bytearray(text))
    packed.close()
    assert (tmp_path / f"app.{codec}").stat().st_size < len(text) / 2
    lines = list(event_lines(str(tmp_path / f"app.{codec}")))
    assert [line.text for line in lines] == text.splitlines()
    assert all(line.flaw is None for line in lines)


@pytest.mark.table_formats
def test_the_samples_log_made_anew(sample_delta: Path, tmp_path: Path) -> None:
    """The same queries and predicates, files, bytes and rows; only times are others."""
    count = 5
    program = [
        sys.executable,
        str(SAMPLE / "spark_log.py"),
        str(sample_delta),
        str(tmp_path / "events"),
    ]
    environment = {**os.environ, **jars_behind_sparks()}
    subprocess.run([*program, str(count)], check=True, stdout=subprocess.DEVNULL, env=environment)
    ours, shipped = _read(tmp_path / "events"), _read(SAMPLE / "spark_events")
    assert len(ours) == count
    assert [_but_times(each) for each in ours] == [_but_times(each) for each in shipped[:count]]


def _read(folder: Path) -> list[SqlExecution]:
    log, *_ = event_logs([str(folder)])
    return [each for each in read_event_log(log, LogSummary()) if each.scans]


def _but_times(execution: SqlExecution) -> tuple[object, ...]:
    scans = [
        (
            expression_json(filter_expression(each.filters, column_types(each.read_schema))),
            (each.location, each.file_format, each.files_read, each.bytes_read, each.rows_read),
        )
        for each in execution.scans
    ]
    return execution.description, execution.error, scans
