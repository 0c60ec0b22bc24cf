"""The sample's many files of lineitem, and the event log of what Spark asked of them as a Delta table."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from sample.lake_table import FILES, write_lake_table
from sample.spark_queries import PAIRS, QUERIES, pair_queries, sample_queries
from starskip.advisor.families.skipping.choice.candidate_specifications import candidate_specifications
from starskip.advisor.workload.lake_queries import MAX_INSTANCES, lake_queries, weighted_queries
from starskip.advisor.workload.spark_events.event_logs import event_logs
from starskip.advisor.workload.spark_events.sql_execution import LogSummary, SqlExecution
from starskip.advisor.workload.spark_events.sql_executions import read_event_log
from starskip.advisor.workload.table_locations import TableLocations
from starskip.predicates.expression import nodes
from starskip.predicates.expression_json import UNKNOWN

EVENTS = Path(__file__).parents[2] / "include" / "sample" / "spark_events"
LOCATIONS = TableLocations({"file:/lake/lineitem": "lineitem"})


@pytest.fixture(scope="module")
def executions() -> list[SqlExecution]:
    found = []
    for log in event_logs([str(EVENTS)]):
        summary = LogSummary()
        found += list(read_event_log(log, summary))
        assert summary.rejected == []
        assert (log.is_running, summary.unfinished) == (False, 0)
    return [execution for execution in found if execution.scans]


def test_the_log_is_of_the_samples_queries(executions: list[SqlExecution]) -> None:
    assert [execution.description for execution in executions] == [*sample_queries(), *pair_queries()]
    assert len(executions) == QUERIES + PAIRS
    days = {datetime.fromtimestamp(each.started_ms / 1000, UTC).date().isoformat() for each in executions}
    assert days == {"2026-11-20"}
    assert not any(execution.error for execution in executions)


def test_queries_read_what_deltas_statistics_leave(executions: list[SqlExecution], sample_lake: Path) -> None:
    files = [scan.files_read for each in executions for scan in each.scans]
    assert all(each is not None and 0 < each <= FILES for each in files)
    assert sum(each for each in files if each) < 0.8 * FILES * len(files)
    sizes = [scan.bytes_read for each in executions for scan in each.scans]
    assert max(sizes) == sum(file.stat().st_size for file in sample_lake.iterdir())


def test_every_predicate_is_understood(executions: list[SqlExecution]) -> None:
    rows = lake_queries(executions, LOCATIONS)
    asked = [query for row in rows.to_pylist() for query in weighted_queries(row, MAX_INSTANCES)]
    assert rows.num_rows == 16
    assert not any(node == UNKNOWN for query in asked for node in nodes(query.predicate))
    joins = sum(" JOIN " in each.description for each in executions)
    assert sum(query.weight for query in asked) == QUERIES + PAIRS + joins
    names = {
        each.specification
        for each in candidate_specifications(
            [query.predicate for query in asked], [query.weight for query in asked], {}, file_bytes=1e5
        )
    }
    assert {"minmax:l_shipdate", "minmax:l_receiptdate", "hybrid:l_orderkey"} <= names


def test_the_log_tells_nothing_of_the_machine_that_made_it() -> None:
    logs = list(EVENTS.glob("*/events_1_*.zstd"))
    assert sum(log.stat().st_size for log in logs) < 1_000_000
    packed = [zstandard.decompress(log.read_bytes(), max_output_size=1 << 26) for log in logs]
    text = b"".join(packed).decode()
    paths = set(re.findall(r"(?:/[\w.-]+){2,}", text))
    assert "/lake/lineitem" in paths
    assert [path for path in paths if not path.startswith("/lake/lineitem")] == []
    assert set(re.findall(r'"Host":"([^"]*)"', text)) == {"driver"}
    assert set(re.findall(r'"User":"([^"]*)"', text)) == {""}


def test_the_files_hold_the_same_rows(sample_rows: Path, sample_lake: Path) -> None:
    order = [("l_orderkey", "ascending"), ("l_linenumber", "ascending")]
    ours = pq.read_table(sample_lake).sort_by(order)
    theirs = pq.read_table(sample_rows).cast(ours.schema).sort_by(order)
    assert ours.equals(theirs)


def test_the_files_are_the_same_again(sample_rows: Path, sample_lake: Path, tmp_path: Path) -> None:
    write_lake_table(sample_rows, tmp_path)
    first, second = (
        {file.name: file.read_bytes() for file in each.iterdir()} for each in (sample_lake, tmp_path)
    )
    assert len(first) == FILES
    assert first == second


def test_dates_of_a_file_are_close_together_and_keys_are_not(sample_lake: Path) -> None:
    days, keys = [], []
    for file in sorted(sample_lake.iterdir()):
        rows = pq.read_table(file, columns=["l_shipdate", "l_orderkey"])
        shipped = rows["l_shipdate"].cast(pa.int32()).to_numpy()
        days.append((np.quantile(shipped, 0.9) - np.quantile(shipped, 0.1), np.ptp(shipped)))
        keys.append(np.ptp(rows["l_orderkey"].to_numpy()))
    middle, whole = np.median(days, axis=0)
    assert middle < 40
    # Some rows came late, so that least and greatest are wider apart than most rows are.
    assert 60 < whole < 150
    assert min(keys) > 250_000
