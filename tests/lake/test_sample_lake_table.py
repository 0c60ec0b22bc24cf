"""The sample's lineitem in the lake against its Pinot segments: the same rows, once read with the casts.

The sample's many files of lineitem, and the event log of what Spark asked of them as a Delta table.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import zstandard
from sample.lake_table import FILES, write_lake_table
from sample.spark_queries import PAIRS, QUERIES, pair_queries, sample_queries
from starskip.advisor.families.skipping.choice.candidate_specifications import candidate_specifications
from starskip.advisor.workload.lake_queries import (
    MAX_INSTANCES,
    TableLocations,
    lake_queries,
    weighted_queries,
)
from starskip.advisor.workload.spark_events.event_logs import event_logs
from starskip.advisor.workload.spark_events.sql_execution import LogSummary, SqlExecution
from starskip.advisor.workload.spark_events.sql_executions import read_event_log
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window
from starskip.predicates.expression import nodes
from starskip.predicates.expression_json import UNKNOWN

SEGMENTS = Path(__file__).parents[2] / "include" / "sample" / "segments"
CENTS = ("l_extendedprice", "l_discount", "l_tax")
"""Decimals in the lake, where sums are exact; in Pinot the doubles nearest to them."""


EVENTS = Path(__file__).parents[2] / "include" / "sample" / "spark_events"
LOCATIONS = TableLocations({"file:/lake/lineitem": "lineitem"})


@pytest.fixture(scope="module")
def lake(sample_lake: Path, sample_casts: dict[str, str]) -> pa.Table:
    rows = pq.read_table(sample_lake)
    # In the segments they lie in the order of their keys, in the lake in that of their arrival.
    rows = rows.sort_by([("l_orderkey", "ascending"), ("l_linenumber", "ascending")])
    for column, name in sample_casts.items():
        place = rows.schema.get_field_index(column)
        rows = rows.set_column(place, column, rows[column].cast(pa.type_for_alias(name)))
    return rows


@pytest.fixture(scope="module")
def segments(lake: pa.Table) -> pa.Table:
    parts = []
    for file in list_segments(SEGMENTS, ["lineitem"]):
        window = read_row_window(file, lake.column_names, max_rows=1_000_000)
        assert not window.unreadable
        columns = {}
        for name, column in window.columns.items():
            values = column.dictionary if column.dictionary is not None else column.values
            assert values is not None
            columns[name] = values.take(pa.array(column.codes))
        parts.append(pa.table(columns))
    return pa.concat_tables(parts).select(lake.column_names)


def test_both_have_as_many_rows(lake: pa.Table, segments: pa.Table) -> None:
    assert lake.num_rows == segments.num_rows == 299_814


def test_every_value_of_every_row_is_the_same_in_the_same_order(lake: pa.Table, segments: pa.Table) -> None:
    for name in lake.column_names:
        ours, theirs = lake[name].combine_chunks(), segments[name].combine_chunks()
        if name in CENTS:
            cents = np.array([int(value.scaleb(2)) for value in ours.to_pylist()])
            assert (cents == np.rint(theirs.to_numpy() * 100)).all(), name
            # Divided, an integer of cents gives the double that is nearest to the decimal.
            assert (cents / 100 == theirs.to_numpy()).all(), name
        else:
            assert ours.cast(theirs.type).equals(theirs), name


def test_only_the_columns_that_are_cast_would_else_read_otherwise(
    sample_lake: Path, sample_casts: dict[str, str], segments: pa.Table
) -> None:
    """Text against dates, and decimals for whole numbers; wider integers make no other answer."""
    raw = pq.read_schema(sample_lake / "part-00000.parquet")

    def kind(of: pa.DataType) -> str:
        if pa.types.is_integer(of):
            return "integer"
        return (
            "number" if pa.types.is_decimal(of) or pa.types.is_floating(of) else str(of).removesuffix("_view")
        )

    unlike = {f.name for f in segments.schema if kind(raw.field(f.name).type) != kind(f.type)}
    assert unlike == sample_casts.keys()


def test_counts_sums_and_distinct_values_agree(lake: pa.Table, segments: pa.Table) -> None:
    seen = {
        name: (pc.count_distinct(lake[name]).as_py(), pc.count_distinct(segments[name]).as_py())
        for name in lake.column_names
    }
    assert all(ours == theirs for ours, theirs in seen.values()), seen
    assert seen["l_orderkey"] == (75_000, 75_000)
    assert seen["l_shipdate"] == (2_524, 2_524)
    assert pc.sum(lake["l_quantity"]).as_py() == pc.sum(segments["l_quantity"]).as_py() == 7_653_796


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
