"""Executions from events: plans that change, metrics from driver and stages, and lines that are no events."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.workload.spark_events.event_logs import EventLog
from starskip.advisor.workload.spark_events.sql_execution import LogSummary, SqlExecution
from starskip.advisor.workload.spark_events.sql_executions import read_event_log

SQL = "org.apache.spark.sql.execution.ui.SparkListener"


def scan(
    first: int, filters: str = "isnotnull(id#1L), (id#1L = 5)", location: str = "file:/lake/t"
) -> dict[str, Any]:
    names = (
        "number of output rows",
        "scan time",
        "number of files read",
        "metadata time",
        "size of files read",
    )
    return {
        "nodeName": "Scan parquet ",
        "simpleString": f"FileScan parquet [id#1L] DataFilters: [{filters}]",
        "children": [],
        "metadata": {
            "Format": "Parquet",
            "Location": f"InMemoryFileIndex(1 paths)[{location}]",
            "DataFilters": f"[{filters}]",
            "ReadSchema": "struct<id:bigint>",
        },
        "metrics": [
            {"name": name, "accumulatorId": first + at, "metricType": "sum"} for at, name in enumerate(names)
        ],
    }


def node(name: str, *children: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    return {
        "nodeName": name,
        "simpleString": text or name,
        "children": children,
        "metadata": {},
        "metrics": [],
    }


def start(number: int, plan: dict[str, Any], **more: Any) -> dict[str, Any]:
    event = f"{SQL}SQLExecutionStart"
    return {"Event": event, "executionId": number, "time": 1_000, "sparkPlanInfo": plan, **more}


def change(number: int, plan: dict[str, Any]) -> dict[str, Any]:
    return {"Event": f"{SQL}SQLAdaptiveExecutionUpdate", "executionId": number, "sparkPlanInfo": plan}


def driver(number: int, **values: int) -> dict[str, Any]:
    listed = [[int(key[1:]), value] for key, value in values.items()]
    return {"Event": f"{SQL}DriverAccumUpdates", "executionId": number, "accumUpdates": listed}


def stage(number: int, rows: object) -> dict[str, Any]:
    counters = [
        {"ID": number, "Name": "number of output rows", "Value": rows},
        {"ID": 9, "Name": "x", "Value": "y"},
    ]
    return {"Event": "SparkListenerStageCompleted", "Stage Info": {"Accumulables": counters}}


def end(number: int, error: str | None = "") -> dict[str, Any]:
    return {"Event": f"{SQL}SQLExecutionEnd", "executionId": number, "time": 1_250, "errorMessage": error}


def read(folder: Path, *lines: object, last: bytes = b"\n") -> tuple[list[SqlExecution], LogSummary]:
    texts = [
        line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode()
        for line in lines
    ]
    (folder / "log").write_bytes(b"\n".join(texts) + last)
    summary = LogSummary()
    found = list(read_event_log(EventLog("app", (str(folder / "log"),), False), summary))
    assert summary.lines == summary.events + summary.other + summary.reasons.total()
    return found, summary


def test_a_query_with_what_it_read(tmp_path: Path) -> None:
    events = start(3, scan(10), description="SELECT"), driver(3, _12=8, _14=4_096), stage(10, "77"), end(3)
    (found,), summary = read(tmp_path, *events)
    (one,) = found.scans
    assert (found.application, found.started_ms, found.duration_ms) == (
        "app",
        1_000,
        250,
    )
    assert (found.error, found.description) == ("", "SELECT")
    assert (one.location, one.file_format, one.read_schema) == (
        "file:/lake/t",
        "parquet",
        "struct<id:bigint>",
    )
    assert one.filters == ("isnotnull(id#1L), (id#1L = 5)",)
    assert (one.files_read, one.bytes_read, one.rows_read, one.files_total) == (8, 4_096, 77, None)
    assert (summary.executions, summary.unfinished) == (1, 0)


def test_a_scan_that_never_ran_is_none(tmp_path: Path) -> None:
    """Adaptive execution leaves parts of a plan out, and a cache is read in place of its scan."""
    plan = node("Join", scan(10), scan(20))
    (found,), _ = read(tmp_path, start(1, plan), driver(1, _22=4), end(1))
    assert [one.files_read for one in found.scans] == [4]


def test_a_scan_of_a_later_plan_counts_once(tmp_path: Path) -> None:
    plans = [node("AdaptiveSparkPlan", scan(10)), node("AdaptiveSparkPlan", node("Sort", scan(30)), scan(30))]
    events = start(1, plans[0]), change(1, plans[1]), driver(1, _32=2), change(1, plans[1]), end(1)
    (found,), _ = read(tmp_path, *events)
    assert [one.files_read for one in found.scans] == [2]


def test_rows_of_a_stage_that_ran_again(tmp_path: Path) -> None:
    events = start(1, scan(10)), stage(10, 5), driver(1, _12=1), stage(10, 9), stage(10, 7), end(1)
    (found,), _ = read(tmp_path, *events)
    assert found.scans[0].rows_read == 9


def test_python_functions_above_the_scan(tmp_path: Path) -> None:
    plan = node(
        "Filter",
        node(
            "BatchEvalPython",
            node("WholeStageCodegen (1)", node("Filter", scan(10), text="Filter (id#1L = 5)")),
            text="BatchEvalPython [agent(s#14)#24, near(a#1, b#2)#26], [pythonUDF0#25, pythonUDF1#27]",
        ),
        text="Filter ((pythonUDF0#25 = k00) AND (pythonUDF1#27 < 3.5))",
    )
    (found,), _ = read(tmp_path, start(1, plan), driver(1, _12=1), end(1))
    assert found.scans[0].filters[1:] == ("((agent(s#14) = k00) AND (near(a#1, b#2) < 3.5))",)


def test_a_function_above_a_join_is_not_the_scans(tmp_path: Path) -> None:
    below = node(
        "BatchEvalPython", node("Join", scan(10), scan(20)), text="BatchEvalPython [f(s#1)#2], [pythonUDF0#3]"
    )
    (found,), _ = read(
        tmp_path,
        start(1, node("Filter", below, text="Filter (pythonUDF0#3 = x)")),
        driver(1, _12=1, _22=1),
        end(1),
    )
    assert all(one.filters == ("isnotnull(id#1L), (id#1L = 5)",) for one in found.scans)


def test_a_function_above_a_filter_with_a_subquery(tmp_path: Path) -> None:
    """A subquery stands beside the child of the node that asks for it, and has filters of its own."""
    below = node("Filter", scan(10), node("Subquery", scan(20)), text="Filter (id#1L = Subquery subquery#4)")
    python = node("BatchEvalPython", below, text="BatchEvalPython [f(s#1)#2], [pythonUDF0#3]")
    plan = node("Filter", python, text="Filter (pythonUDF0#3 = x)")
    (found,), _ = read(tmp_path, start(1, plan), driver(1, _12=1, _22=2), end(1))
    filters = {one.files_read: one.filters[1:] for one in found.scans}
    assert filters == {1: ("(f(s#1) = x)",), 2: ()}


def test_of_several_paths_the_first(tmp_path: Path) -> None:
    plan = scan(10)
    plan["metadata"]["Location"] = "CatalogFileIndex(3 paths)[file:/lake/t/a, file:/lake/t/b, ...]"
    (found,), _ = read(tmp_path, start(1, plan), driver(1, _12=1), end(1))
    assert found.scans[0].location == "file:/lake/t/a"


def test_a_failed_query(tmp_path: Path) -> None:
    events = start(1, scan(10)), end(1, "[DIVIDE_BY_ZERO] " + "x" * 9_000)
    (found,), _ = read(tmp_path, *events)
    assert found.error.startswith("[DIVIDE_BY_ZERO]")
    assert len(found.error) == 2_000


def test_a_running_application(tmp_path: Path) -> None:
    found, summary = read(
        tmp_path, start(1, scan(10)), end(1), start(2, scan(20)), b'{"Event":"org.apache.spa', last=b""
    )
    assert len(found) == 1
    assert summary.unfinished == 1
    assert summary.reasons == {"unfinished_line": 1}


def test_an_end_without_its_start(tmp_path: Path) -> None:
    found, summary = read(tmp_path, end(4))
    assert (found, summary.without_start) == ([], 1)


def test_bad_lines_stand_aside_with_their_reasons(tmp_path: Path) -> None:
    deep = b'{"Event":"' + SQL.encode() + b'SQLExecutionStart","sparkPlanInfo":' + b"[" * 200_000
    bad = [
        b"no json",
        b"[1, 2]",
        b'{"Event": 7}',
        b'{"Event":"SparkListenerStageCompleted"}',
        b'{"Event":"SparkListenerStageCompleted","Stage Info":{"Accumulables":[7]}}',
        json.dumps(start(1, {})).encode(),
        json.dumps(start(1, scan(10)) | {"executionId": 1e300}).encode(),
        json.dumps(start(1 << 70, scan(10))).encode(),
        json.dumps(start(1, scan(10)) | {"time": "now"}).encode(),
        b'{"event":"starskip.query","version":2,"started_ms":1,"scans":[]}',
        b'{"event":"starskip.query","version":1,"started_ms":-1,"scans":[]}',
        b'{"event":"starskip.query","version":1,"started_ms":1,"scans":[{"path":7}]}',
        deep,
        b"\xff\xfe" + b"x" * 10_000,
    ]
    good = start(1, scan(10)), driver(1, _12=3), end(1)
    found, summary = read(tmp_path, *bad, *good)
    assert [one.scans[0].files_read for one in found] == [3]
    assert summary.reasons == {"not_json": 2, "bad_event": 11, "too_deep": 1}
    assert [line.line for line in summary.rejected] == list(range(1, 15))
    assert max(len(line.text) for line in summary.rejected) <= 2_000


def test_our_own_events_among_sparks(tmp_path: Path) -> None:
    predicate = {"call": "IsNull", "arguments": [{"column": ["é"], "type": "int"}]}
    scans = [
        {"path": "s3a://b/t", "format": "orc", "predicate": predicate, "files_total": 9, "files_read": 2},
        {"path": "s3a://b/u", "predicate": None, "new_key": [1]},
    ]
    event = {"event": "starskip.query", "version": 1, "started_ms": 5, "duration_ms": 7, "scans": scans}
    (found,), _ = read(tmp_path, start(1, scan(10)), event)
    first, second = found.scans
    assert (found.started_ms, found.duration_ms, found.error) == (5, 7, "")
    assert json.loads(first.predicate or "") == predicate
    assert (first.files_total, first.files_read, first.bytes_read) == (9, 2, None)
    assert second.predicate is None


@settings(max_examples=25, deadline=None)
@given(st.lists(st.recursive(st.none() | st.integers() | st.floats() | st.text(max_size=5), st.lists)))
def test_no_event_of_any_shape_breaks_the_reader(tmp_path_factory: Any, values: list[object]) -> None:
    kinds = [
        f"{SQL}SQLExecutionStart",
        f"{SQL}DriverAccumUpdates",
        f"{SQL}SQLExecutionEnd",
        "SparkListenerStageCompleted",
    ]
    keys = ["executionId", "time", "sparkPlanInfo", "accumUpdates", "errorMessage", "Stage Info"]
    lines = [
        {"Event": kinds[at % len(kinds)], **dict.fromkeys(keys, value)} for at, value in enumerate(values)
    ]
    read(tmp_path_factory.getbasetemp(), *lines)


def test_a_delta_table_is_scanned_once_and_without_its_own_filter(tmp_path: Path) -> None:
    """Reading its log is none of the table's scans, and rows that a vector deletes are no query's wish."""
    deleted = "(__delta_internal_is_row_deleted#568 = 0)"
    log = scan(10, "", "file:/lake/t/_delta_log/00000000000000000000.json")
    for filters, wanted in (
        (f"{deleted}, isnotnull(id#1L), (id#1L = 5)", ("isnotnull(id#1L), (id#1L = 5)",)),
        (f"isnotnull(id#1L), {deleted}, (id#1L = 5)", ("isnotnull(id#1L), (id#1L = 5)",)),
        (f"(id#1L = 5), {deleted}", ("(id#1L = 5)",)),
        (deleted, ()),
    ):
        events = start(1, node("Union", log, scan(20, filters))), driver(1, _12=3, _22=1), end(1)
        (found,), _ = read(tmp_path, *events)
        assert [(one.location, one.filters) for one in found.scans] == [("file:/lake/t", wanted)]


def iceberg_scan(first: int, table: str, text: str = "") -> dict[str, Any]:
    """A node as Spark 4.1 with Iceberg 1.12 writes it."""
    names = ("number of output rows", "number of result data files", "total data file size (bytes)")
    return {
        "nodeName": f"BatchScan {table}",
        "simpleString": f"BatchScan {table}[id#646L, p#651] IcebergScan(table={table}, schemaId=2, "
        f"snapshotId=8743522861664326356, branch=null, filters={text}, runtimeFilters=, groupedBy=) "
        "RuntimeFilters: []",
        "children": [],
        "metadata": {},
        "metrics": [
            {"name": name, "accumulatorId": first + at, "metricType": "v2Custom"}
            for at, name in enumerate(names)
        ],
    }


def named(name: str, text: str, child: dict[str, Any]) -> dict[str, Any]:
    return {"nodeName": name, "simpleString": text, "metadata": {}, "metrics": [], "children": [child]}


def test_an_iceberg_table_with_the_filters_above_it(tmp_path: Path) -> None:
    found = iceberg_scan(20, "ice.db.t", "id IS NOT NULL, id > 3, p = 'o'")
    wanted = "(isnotnull(id#646L) AND (id#646L > 3))"
    plan = named("Filter", f"Filter {wanted}", named("ColumnarToRow", "x", found))
    events = start(1, plan), driver(1, _21=2, _22=4_096), stage(20, 7), end(1)
    ((one,),) = [each.scans for each in read(tmp_path, *events)[0]]
    assert (one.location, one.file_format, one.read_schema) == ("ice.db.t", "iceberg", "")
    assert one.filters == (wanted,)
    assert (one.files_read, one.bytes_read, one.rows_read) == (2, 4_096, 7)
    # What a projection calls id need not be the scan's.
    renamed = named("Filter", "Filter (id#9L > 3)", named("Project", "Project [p AS id#9L]", found))
    ((other,),) = [each.scans for each in read(tmp_path, start(1, renamed), driver(1, _21=2), end(1))[0]]
    assert other.filters == ()


def read_files(folder: Path, *files: Sequence[object]) -> tuple[list[SqlExecution], LogSummary]:
    """Return what the files of one application hold together; an empty one is missing."""
    paths = []
    for number, events in enumerate(files, start=1):
        if events:
            path = folder / f"events_{number}_app"
            path.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in events))
            paths.append(str(path))
    summary = LogSummary()
    return list(read_event_log(EventLog("app", tuple(paths), False), summary)), summary


QUERY = (
    start(3, node("AdaptiveSparkPlan", scan(10))),
    driver(3, _12=8),
    change(3, node("AdaptiveSparkPlan", scan(20))),
    driver(3, _22=4),
    stage(20, 7),
    end(3),
)


@given(st.lists(st.integers(0, len(QUERY)), max_size=3))
def test_a_query_may_lie_over_several_files(cuts: list[int]) -> None:
    bounds = [0, *sorted(cuts), len(QUERY)]
    files = [QUERY[a:b] for a, b in itertools.pairwise(bounds)]
    with TemporaryDirectory() as folder:
        (found,), summary = read_files(Path(folder), *files)
    assert [(one.files_read, one.rows_read) for one in found.scans] == [(8, None), (4, 7)]
    assert (summary.unfinished, summary.without_start) == (0, 0)


def test_a_file_that_lacks_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    later = start(4, scan(30)), driver(4, _32=1), end(4)
    found, summary = read_files(tmp_path, QUERY[:2], (), (), (QUERY[-1], *later))
    assert [[one.files_read for one in each.scans] for each in found] == [[8], [1]]
    assert summary.missing == ["app: 2 to 3"]


def test_files_of_databricks_tell_their_numbers_and_their_context(tmp_path: Path) -> None:
    def begin(context: int, number: int) -> dict[str, object]:
        name = "DBCEventLoggingListenerMetadata"
        return {"Event": name, "Rollover Number": number, "SparkContext Id": context}

    other = begin(2, 0), end(3)
    found, summary = read_files(
        tmp_path, (begin(1, 0), *QUERY[:2]), (begin(1, 2), *QUERY[2:], start(3, scan(1))), other
    )
    assert len(found) == 1
    assert (summary.missing, summary.unfinished, summary.without_start) == (["app: 1"], 1, 1)
