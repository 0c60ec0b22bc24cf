"""Scans of tables by the shape of their predicates, merged in any order."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.workload import lake_queries as module
from starskip.advisor.workload.filter_text import filter_expression
from starskip.advisor.workload.lake_queries import (
    LakeQuery,
    TableLocations,
    lake_queries,
    merged_lake_queries,
    weighted_queries,
)
from starskip.advisor.workload.spark_events.event_logs import EventLog
from starskip.advisor.workload.spark_events.sql_execution import LogSummary, SqlExecution, TableScan
from starskip.advisor.workload.spark_events.sql_executions import read_event_log
from starskip.predicates.data_types import column_types
from starskip.predicates.expression_json import UNKNOWN, expression_json
from starskip.predicates.predicate_shape import predicate_skeleton
from starskip.storage.lake_schemas import LAKE_QUERIES

SCHEMA = "struct<id:bigint,s:string,d:date>"
LOCATIONS = TableLocations({"file:/lake/t": "t", "s3://b/u": "u"})


def execution(
    *filters: str, location: str = "file:///lake/t", error: str = "", at: int = 1_000, text: str = ""
) -> SqlExecution:
    scans = tuple(TableScan(location, "parquet", (each,), SCHEMA, None, None, 9, 100, 40) for each in filters)
    return SqlExecution("app", at, 20, error, text, scans)


def asked_queries(rows: pa.Table) -> list[LakeQuery]:
    return [query for row in rows.to_pylist() for query in weighted_queries(row, module.MAX_INSTANCES)]


def skeleton(text: str) -> str:
    return predicate_skeleton(filter_expression((text,), column_types(SCHEMA)))


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("isnotnull(id#1L), (id#1L = 5)", "id = ?"),
        ("isnotnull(id#1L), isnotnull(s#2)", "id IS NOT NULL AND s IS NOT NULL"),
        ("(d#3 < 1994-01-05), isnotnull(d#3), (d#3 >= 1994-01-01)", "d < ? AND d >= ?"),
        ("(d#3 >= 1994-01-01), (d#3 < 1994-01-05)", "d < ? AND d >= ?"),
        ("((id#1L = 5) OR ((id#1L = 6) OR (s#2 = x)))", "id = ? OR s = ?"),
        ("id#1L IN (1,2), ((s#2 = x) OR (id#1L = 2))", "(id = ? OR s = ?) AND id IN (?)"),
        (
            "(StartsWith(s#2, a) AND EndsWith(s#2, b)), Contains(s#2, c)",
            "s LIKE '%?%' AND s LIKE '%?' AND s LIKE '?%'",
        ),
        ("NOT (s#2 = x)", "NOT (s = ?)"),
        ("(agent(s#2) = x)", "agent(s) = ?"),
        ("s#2 LIKE a_b", "s LIKE ?"),
        ("...", "Unknown()"),
        ("", "?"),
    ],
)
def test_shapes(text: str, shape: str) -> None:
    assert skeleton(text) == shape


def test_queries_of_one_shape_are_one_row() -> None:
    rows = lake_queries(
        [
            execution("(id#1L = 5)", at=3_000, text="b"),
            execution("(id#1L = 5)", at=2_000, text="a"),
            execution("(id#7L = 6)", at=4_000),
            execution("(id#1L = 7)", error="boom", at=9_000),
            execution("(id#1L = 5)", location="file:/lake/other"),
            execution("(s#2 = x)", location="s3a://b/u/day=1/"),
        ],
        LOCATIONS,
    )
    assert rows.schema.equals(LAKE_QUERIES)
    first, second = rows.to_pylist()
    assert (first["table"], first["skeleton"], first["queries"], first["failed"]) == ("t", "id = ?", 3, 1)
    assert (first["files_read"], first["bytes_read"], first["rows_read"], first["duration_ms"]) == (
        27,
        300,
        120,
        60,
    )
    assert (first["first_started_ms"], first["last_started_ms"]) == (2_000, 9_000)
    assert sorted((each["queries"], each["description"]) for each in first["instances"]) == [
        (1, ""),
        (2, "a"),
    ]
    assert (second["table"], second["skeleton"]) == ("u", "s = ?")


def test_a_query_that_scans_a_table_twice_counts_twice() -> None:
    rows = lake_queries([execution("(id#1L = 5)", "(s#2 = x)")], LOCATIONS).to_pylist()
    assert [row["queries"] for row in rows] == [1, 1]


def test_an_exact_predicate_is_taken_as_it_is() -> None:
    exact = filter_expression(("(id#1L = 5)",), column_types(SCHEMA))
    scans = [
        TableScan("/lake/t", "", (), "", text, 9, 1, 1, 1)
        for text in (expression_json(exact), '{"call":7}', None)
    ]
    made = SqlExecution("app", 0, 0, "", "", tuple(scans))
    found = [each.predicate for each in asked_queries(lake_queries([made], LOCATIONS))]
    assert exact in found
    assert UNKNOWN in found


def test_of_many_predicates_an_even_sample_with_the_weight_of_all() -> None:
    asked = [execution(f"(id#1L = {number})") for number in range(1_000)]
    rows = lake_queries([*asked, execution("(s#2 = x)")], LOCATIONS)
    assert [len(row["instances"]) for row in rows.to_pylist()] == [module.MAX_INSTANCES, 1]
    assert sum(query.weight for query in asked_queries(rows)) == pytest.approx(1_001)


PREDICATES = st.sampled_from([f"({column} = {n})" for column in ("id#1L", "s#2") for n in range(4)])
EXECUTIONS = st.builds(
    lambda filters, error, at, text: execution(*filters, error=error, at=at, text=text),
    st.lists(PREDICATES, max_size=3),
    st.sampled_from(["", "", "boom"]),
    st.integers(0, 10),
    st.sampled_from(["", "a", "b"]),
)


@given(st.lists(EXECUTIONS, max_size=12), st.integers(0, 12), st.integers(0, 12), st.randoms())
def test_parts_merge_to_the_whole_in_any_order(
    executions: list[SqlExecution], first: int, second: int, chance: random.Random
) -> None:
    low, high = sorted((first, second))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_INSTANCES", 2)
        whole = lake_queries(executions, LOCATIONS)
        parts = [
            lake_queries(part, LOCATIONS)
            for part in (executions[:low], executions[low:high], executions[high:])
        ]
        chance.shuffle(parts)
        assert merged_lake_queries(parts).equals(whole)
        assert merged_lake_queries([parts[0], merged_lake_queries(parts[1:])]).equals(whole)


def test_shapes_beyond_the_most_are_one() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_SHAPES", 2)
        texts = ["(id#1L = 5)"] * 3 + ["(s#2 = x)"] * 2 + ["(id#1L < 5)", "(id#1L > 5)"]
        rows = lake_queries([execution(each) for each in texts], LOCATIONS)
        again = merged_lake_queries([rows, rows])
    assert [(row["skeleton"], row["queries"]) for row in rows.to_pylist()] == [
        ("id = ?", 3),
        ("s = ?", 2),
        (module.FOLDED, 2),
    ]
    assert again["queries"].to_pylist() == [6, 4, 4]
    assert sum(query.weight for query in asked_queries(again)) == pytest.approx(10)


def test_locations_are_spelled_in_many_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tables = TableLocations(
        {
            "lake/a": "a",
            "file:/lake/b": "b",
            "s3a://bucket/c/": "c",
            "/lake/b/inner": "inner",
            "hdfs://n:8020/d": "d",
        }
    )
    expected = {
        f"file:{tmp_path}/lake/a": "a",
        f"file://{tmp_path}/lake/a/day=1": "a",
        "file:///lake/b": "b",
        "/lake/b/x": "b",
        "file:/lake/b/inner/x": "inner",
        "file:/lake/bb": None,
        "s3://bucket/c": "c",
        "S3N://bucket/c/x": "c",
        "s3://bucket": None,
        "hdfs://n:8020/d/e": "d",
        "": None,
    }
    assert {location: tables.table_at(location) for location in expected} == expected


def test_events_of_no_good_will_become_rows(tmp_path: Path) -> None:
    """Half characters, numbers at the ends of their range, predicates that mean nothing."""
    sql, half, most = "org.apache.spark.sql.execution.ui.SparkListener", "\ud800", (1 << 63) - 1
    values: list[dict[str, object]] = [
        {"literals": [1], "type": "int"},
        {"column": [half], "type": half},
        {"literal": half, "type": "string"},
    ]
    predicates = [
        {"call": "And", "arguments": [{"call": name, "arguments": [value]}, {"call": "In"}]}
        for name in ("IsNotNull", "Not", half, "EqualTo", "")
        for value in values
    ]
    scans = [
        {"path": "/lake/t", "predicate": predicate, "rows_read": most, "bytes_read": most}
        for predicate in predicates
    ]
    plan = {
        "nodeName": "",
        "simpleString": "",
        "children": [],
        "metrics": [{"name": "number of files read", "accumulatorId": 1}],
        "metadata": {
            "Location": "file:/lake/t",
            "DataFilters": f"[(s#1 = {half}), ({half}#2 = 1)]",
            "ReadSchema": f"struct<s:string,{half}:int>",
        },
    }
    events = [
        {"event": "starskip.query", "version": 1, "started_ms": most, "description": half, "scans": scans},
        {"Event": f"{sql}SQLExecutionStart", "executionId": 1, "time": -most, "sparkPlanInfo": plan},
        {"Event": f"{sql}DriverAccumUpdates", "executionId": 1, "accumUpdates": [[1, -most]]},
        {"Event": f"{sql}SQLExecutionEnd", "executionId": 1, "time": most},
    ]
    lines = [json.dumps(event, separators=(",", ":")) for event in events]
    (tmp_path / "log").write_text("\n".join(lines))
    summary = LogSummary()
    found = list(read_event_log(EventLog("app", (str(tmp_path / "log"),), False), summary))
    assert summary.rejected == []
    rows = lake_queries(found, LOCATIONS)
    assert sum(rows["queries"].to_pylist()) == len(predicates) + 1
    merged = merged_lake_queries([rows, rows])
    assert sum(merged["queries"].to_pylist()) == 2 * len(predicates) + 2
    assert asked_queries(merged)
