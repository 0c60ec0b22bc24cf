"""Spark's queries of a night, out of event logs: which count, to which table, and what is put aside."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from settings_with import settings_with
from starskip.advisor.families.lake_workload import lake_workload
from starskip.advisor.run.night import NO_TABLE, Night
from starskip.advisor.workload.lake_queries import MAX_INSTANCES, weighted_queries
from starskip.errors import MissingSource
from starskip.execution.local_engine import LocalEngine
from starskip.lake.lake_table import LakeTable
from starskip.night.lake_logs import LakeLogs, publish_lake_queries
from starskip.predicates.expression_json import expression_json
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

DAY = date(2026, 11, 20)
NOON = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp() * 1000)
HOUR = 3_600_000
SALES, VISITS = "file:/lake/sales", "file:/lake/visits"


def equal_to(value: int, column: str = "id") -> Mapping[str, Any]:
    return {
        "call": "EqualTo",
        "arguments": [{"column": [column], "type": "bigint"}, {"literal": value, "type": "bigint"}],
    }


def event(value: int, *, started_ms: int = NOON, path: str = SALES) -> str:
    scan = {"path": path, "format": "parquet", "predicate": equal_to(value), "bytes_read": 100}
    return json.dumps(
        {"event": "starskip.query", "version": 1, "started_ms": started_ms, "duration_ms": 5, "scans": [scan]}
    )


def night_of(folder: Path, **changes: Any) -> Night:
    night = Night(
        run_date=DAY,
        store=ArtefactStore(storage_for(str(folder / "artefacts"))),
        settings=Settings(),
        started_at=datetime(2026, 11, 21, 2, tzinfo=UTC),
        run_id="test",
        lake_tables={
            "sales": LakeTable("/lake/sales"),
            "visits": LakeTable("/new/visits", logged_as=(VISITS,)),
        },
        event_log_paths=[str(folder / "events")],
    )
    return replace(night, **changes)


def write_log(folder: Path, lines: Sequence[str], name: str = "app-1") -> Path:
    path = folder / "events" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def read(night: Night) -> tuple[LakeLogs, dict[str, float]]:
    """Return what the stage says, and the queries that it published by table."""
    made = publish_lake_queries(LocalEngine(), night, night.store.staged_write("rejected_records", "x"))
    snapshot = night.store.snapshot("lake_queries", night.date_text)
    assert snapshot is not None
    found = {
        table: sum(
            query.weight
            for row in snapshot.read_table([table]).to_pylist()
            for query in weighted_queries(row, MAX_INSTANCES)
        )
        for table in snapshot.tables
    }
    return made, found


def test_queries_of_each_table_by_all_the_places_it_is_known_by(tmp_path: Path) -> None:
    write_log(tmp_path, [event(1), event(2), event(3, path=f"{VISITS}/day=1"), event(4, path="file:/other")])
    made, found = read(night_of(tmp_path))
    assert found == {"sales": 2, "visits": 1}
    assert made.counts == {"event_logs": 1, "spark_queries": 4, "lake_queries": 3}
    assert made.warnings == ()


def test_only_queries_that_began_in_the_nights_day_count(tmp_path: Path) -> None:
    times = [NOON - 12 * HOUR - 1, NOON - 12 * HOUR, NOON + 12 * HOUR - 1, NOON + 12 * HOUR]
    write_log(tmp_path, [event(n, started_ms=at) for n, at in enumerate(times)])
    assert read(night_of(tmp_path))[1]["sales"] == 2


def test_the_day_is_that_of_the_logs_time_zone(tmp_path: Path) -> None:
    write_log(tmp_path, [event(1, started_ms=NOON - 13 * HOUR), event(2, started_ms=NOON + 11 * HOUR + 1)])
    berlin = night_of(tmp_path, settings=settings_with(time_zone="Europe/Berlin"))
    assert read(berlin)[1]["sales"] == 1


def test_logs_of_several_applications_count_together(tmp_path: Path) -> None:
    write_log(tmp_path, [event(1), event(1)], "app-1")
    write_log(tmp_path, [event(1), event(2)], "app-2")
    night = night_of(tmp_path)
    assert read(night)[1]["sales"] == 4
    workload = lake_workload(night, "sales")
    assert sorted(query.times for query in workload.queries) == [1, 3]
    assert [shape.queries for shape in workload.shapes.values()] == [4]


def test_a_bad_line_is_put_aside_with_its_place_and_its_reason(tmp_path: Path) -> None:
    path = write_log(tmp_path, [event(1), "{no json", event(2)])
    made, found = read(night_of(tmp_path))
    assert found["sales"] == 2
    assert made.warnings == ("1 lines of event logs rejected: not_json",)
    (file,) = made.rejected[NO_TABLE].files
    assert file.rows == 1
    import pyarrow.parquet as pq

    (row,) = pq.read_table(tmp_path / "artefacts" / file.name).to_pylist()
    told = (row["source_file"], row["source_position"], row["reason"], row["query_text"])
    assert told == (str(path), 2, "not_json", "{no json")


def test_a_log_last_changed_before_the_day_is_not_opened(tmp_path: Path) -> None:
    old = write_log(tmp_path, ["{damaged"], "old")
    write_log(tmp_path, [event(1)], "new")
    os.utime(old, (0, NOON / 1000 - 36 * 3600))
    made, found = read(night_of(tmp_path))
    assert made.counts["event_logs"] == 1
    assert made.warnings == ()
    assert found["sales"] == 1


def spark_query(number: int) -> tuple[str, str]:
    """Return the lines of a query that reads ``sales``: its start, and the rest."""
    name = "org.apache.spark.sql.execution.ui.SparkListener"
    scan = {
        "nodeName": "Scan parquet",
        "simpleString": "",
        "children": [],
        "metadata": {
            "Format": "Parquet",
            "Location": f"InMemoryFileIndex(1 paths)[{SALES}]",
            "DataFilters": f"[(id#1L = {number})]",
            "ReadSchema": "struct<id:bigint>",
        },
        "metrics": [{"name": "number of files read", "accumulatorId": number}],
    }
    start = {"Event": f"{name}SQLExecutionStart", "executionId": number, "time": NOON, "sparkPlanInfo": scan}
    read_files = {
        "Event": f"{name}DriverAccumUpdates",
        "executionId": number,
        "accumUpdates": [[number, 3]],
    }
    end = {"Event": f"{name}SQLExecutionEnd", "executionId": number, "time": NOON + 5}
    return json.dumps(start), f"{json.dumps(read_files)}\n{json.dumps(end)}"


def test_a_query_over_two_files_of_one_application_counts(tmp_path: Path) -> None:
    """Files from before the night are not opened, and what lacks among those of the night is told."""
    start, rest = spark_query(7)
    old = write_log(tmp_path, ["{damaged"], "eventlog-2026-11-18--10-00")
    os.utime(old, (0, NOON / 1000 - 36 * 3600))
    write_log(tmp_path, [start], "eventlog-2026-11-20--12-00")
    write_log(tmp_path, [rest], "eventlog")
    rolled = tmp_path / "events" / "eventlog_v2_app"
    rolled.mkdir()
    for number, text in zip((1, 3), spark_query(8), strict=True):
        (rolled / f"events_{number}_app").write_text(text)
    made, found = read(night_of(tmp_path))
    assert found["sales"] == 2
    assert made.counts["event_logs"] == 2
    told = "files missing in the event log eventlog_v2_app: 2: what queries did in them is not known"
    assert made.warnings == (told,)


def test_a_day_without_a_query_is_told_of(tmp_path: Path) -> None:
    write_log(tmp_path, [event(1, started_ms=NOON - 48 * HOUR)])
    made, found = read(night_of(tmp_path))
    assert found == {"sales": 0, "visits": 0}
    assert made.warnings == (
        "no query of 2026-11-20 on sales, visits in 1 event logs: their skipping indexes stay as they are",
    )


def test_a_path_that_names_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MissingSource, match="events"):
        read(night_of(tmp_path))


def test_a_run_of_one_table_publishes_that_one(tmp_path: Path) -> None:
    write_log(tmp_path, [event(1), event(2, path=VISITS)])
    assert read(night_of(tmp_path, tables=frozenset(["visits"])))[1] == {"visits": 1}


def test_nothing_is_published_without_event_logs(tmp_path: Path) -> None:
    night = night_of(tmp_path, event_log_paths=[])
    assert (
        publish_lake_queries(LocalEngine(), night, night.store.staged_write("rejected_records", "x"))
        == LakeLogs()
    )
    assert night.store.snapshot("lake_queries", night.date_text) is None


def test_a_former_night_counts_less(tmp_path: Path) -> None:
    write_log(
        tmp_path, [event(1), event(1, started_ms=NOON - 24 * HOUR), event(2, started_ms=NOON - 24 * HOUR)]
    )
    night = night_of(tmp_path)
    for day in (date(2026, 11, 19), DAY):
        read(replace(night, run_date=day))
    decay = night.settings.workload.look_back_decay_ratio
    workload = lake_workload(night, "sales")
    assert sorted(query.weight for query in workload.queries) == pytest.approx(sorted([1 + decay, decay]))


def test_no_query_judges_what_was_fitted_to_it_unless_it_is_asked_again(tmp_path: Path) -> None:
    write_log(tmp_path, [event(7), event(7), *(event(100 + n) for n in range(40))])
    night = night_of(tmp_path)
    read(night)
    workload = lake_workload(night, "sales")
    fitted, judged = workload.fitted_and_judged()

    def asked(of: Any) -> set[Any]:
        return {query.predicate.right.python for query in of.queries}

    assert asked(fitted) & asked(judged) == {7}
    assert asked(fitted) | asked(judged) == asked(workload)
    assert min(len(fitted.queries), len(judged.queries)) > 10
    # The judging half stands for both.
    assert sum(query.weight for query in judged.queries) == pytest.approx(42)


def test_a_shape_that_was_asked_once_is_judged(tmp_path: Path) -> None:
    write_log(tmp_path, [event(7)])
    night = night_of(tmp_path)
    read(night)
    fitted, judged = lake_workload(night, "sales").fitted_and_judged()
    assert (len(fitted.queries), len(judged.queries)) == (0, 1)


def test_queries_of_an_iceberg_table_have_the_types_of_its_columns(tmp_path: Path) -> None:
    """The log tells a catalog's name of it, and no types."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("n")
    made = catalog.create_table("n.sales", pa.schema([("id", pa.int64()), ("name", pa.string())]))
    lake = LakeTable(made.location().removeprefix("file://"), logged_as=("ice.n.sales",))
    metrics = [
        {"name": name, "accumulatorId": number, "metricType": "sum"}
        for number, name in enumerate(("number of result data files", "total data file size (bytes)"), 7)
    ]
    scan = {
        "nodeName": "BatchScan ice.n.sales",
        "simpleString": "BatchScan ice.n.sales[id#1L] IcebergScan(table=ice.n.sales, branch=null, filters=)",
        "metadata": {},
        "metrics": metrics,
        "children": [],
    }
    plan = {"nodeName": "Filter", "simpleString": "Filter (id#1L = 5)", "metadata": {}, "metrics": []}
    sql = "org.apache.spark.sql.execution.ui.SparkListener"
    events = [
        {"Event": f"{sql}SQLExecutionStart", "executionId": 1, "time": NOON, "description": ""}
        | {"sparkPlanInfo": {**plan, "children": [scan]}},
        {"Event": f"{sql}DriverAccumUpdates", "executionId": 1, "accumUpdates": [[7, 3], [8, 100]]},
        {"Event": f"{sql}SQLExecutionEnd", "executionId": 1, "time": NOON + 5, "errorMessage": ""},
    ]
    write_log(tmp_path, list(map(json.dumps, events)))
    night = night_of(tmp_path, lake_tables={"sales": lake})
    made_of, found = read(night)
    assert found == {"sales": 1} and made_of.warnings == ()
    snapshot = night.store.snapshot("lake_queries", night.date_text)
    assert snapshot is not None
    (row,) = snapshot.read_table(["sales"]).to_pylist()
    (query,) = weighted_queries(row, MAX_INSTANCES)
    assert expression_json(query.predicate) == json.dumps(equal_to(5), separators=(",", ":"))
    assert (row["files_read"], row["bytes_read"]) == (3, 100)
    Path(lake.path, "metadata").joinpath("v99.metadata.json").write_text("{")
    assert "sales: the predicates of its queries are not known: " in " ".join(read(night)[0].warnings)
    catalog.close()
