"""The finished SQL executions of an event log, with the scans that really ran in each.

Spark's listener events in their order (Spark 4.2, SparkListenerSQLExecutionStart and the events beside it): a
plan when a query starts, further plans as adaptive execution changes it, values of metrics from the driver
(files and bytes) and of stages (rows), and the end. A scan belongs to an execution if the driver reported how
many files it read: a scan of the plan that was cached or never ran read nothing.

What a query does may lie over several files of its application's log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from starskip.advisor.workload.spark_events.event_lines import KEPT_BYTES, EventLine, event_lines
from starskip.advisor.workload.spark_events.event_logs import EventLog, missing_numbers, rolled_numbers
from starskip.advisor.workload.spark_events.plan_scans import (
    BYTES_READ,
    FILES_READ,
    ROWS_READ,
    PlanScan,
    plan_scans,
)
from starskip.advisor.workload.spark_events.skipping_event import EVENT_NAME, skipping_event
from starskip.advisor.workload.spark_events.sql_execution import (
    LogSummary,
    RejectedLine,
    SqlExecution,
    TableScan,
)

MAX_OPEN = 10_000
MAX_SCANS = 1_000
"""Scans of one execution; the plans of later ones are left out."""
_MAX_VALUES = 100_000
_MAX_DESCRIPTION = 10_000
_INT64 = 1 << 63
_HALF_A_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_EVENT = re.compile(rb'\s*\{\s*"Event"\s*:\s*"([\w.$]{1,200})"')
_SQL = "org.apache.spark.sql.execution.ui.SparkListener"


def read_event_log(log: EventLog, summary: LogSummary) -> Iterator[SqlExecution]:
    """Yield the executions of one application as they end; other lines are counted in the summary.

    Both kinds of lines may be in a file: Spark's events and our own (skipping_event).
    """
    state = _Application(log.name, summary)
    if missing := missing_numbers(rolled_numbers(log.files)):
        summary.missing.append(f"{log.name}: {missing}")
    for file in log.files:
        for line in event_lines(file):
            summary.lines += 1
            flaw = line.flaw
            try:
                ended = [] if flaw else _read(line, state)
            except RecursionError:
                ended, flaw = [], "too_deep"
            except (json.JSONDecodeError, UnicodeDecodeError):
                is_cut = not line.is_ended
                ended, flaw = [], "unfinished_line" if is_cut else "not_json"
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
                ended, flaw = [], "bad_event"
            if flaw is not None:
                text = line.text[:KEPT_BYTES].decode("utf-8", "replace")
                summary.reject(RejectedLine(file, line.number, flaw, text))
            for execution in ended:
                summary.executions += 1
                yield execution
    summary.unfinished += len(state.open)


@dataclass(slots=True)
class _Open:
    description: str
    started_ms: int
    scans: dict[int, PlanScan] = field(default_factory=dict)
    values: dict[int, int] = field(default_factory=dict)

    def add_plan(self, plan: Mapping[str, Any]) -> None:
        for number, scan in plan_scans(plan).items():
            if number in self.scans or len(self.scans) < MAX_SCANS:
                self.scans[number] = scan


@dataclass(slots=True)
class _Application:
    name: str
    summary: LogSummary
    open: dict[int, _Open] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    """Rows by accumulator: the greatest value that a stage reported."""
    context: str = ""
    number: int | None = None
    """Spark context and number of the file, where files tell them."""


_Handler = Callable[[_Application, Mapping[str, Any]], SqlExecution | None]


def _read(line: EventLine, state: _Application) -> list[SqlExecution]:
    named = _EVENT.match(line.text)
    if named is not None and named[1].decode() not in _HANDLERS:
        # Most of a log are events of tasks: their beginning identifies them, and they are not parsed.
        state.summary.other += 1
        return []
    event = _document(line.text.decode())
    name = event.get("Event") or event.get("event")
    if name == EVENT_NAME:
        told = skipping_event(event, state.name)
        state.summary.events += 1
        return [told]
    if not isinstance(name, str):
        raise ValueError("no event")
    handler = _HANDLERS.get(name)
    if handler is None:
        state.summary.other += 1
        return []
    ended = handler(state, event)
    state.summary.events += 1
    return [] if ended is None else [ended]


def _document(text: str) -> Any:
    document = json.loads(text)
    if _HALF_A_CHARACTER.search(text):
        # JSON may escape half a character, which no text in a column can hold.
        whole = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
        document = json.loads(whole)
    return document


def _begin_file(state: _Application, event: Mapping[str, Any]) -> None:
    """Begin a file of Databricks. Queries of another Spark context have the same numbers."""
    context, number = str(event.get("SparkContext Id")), _whole(event["Rollover Number"])
    if context != state.context:
        state.summary.unfinished += len(state.open)
        state.open.clear()
        state.rows.clear()
    elif state.number is not None and (missing := missing_numbers((state.number, number))):
        state.summary.missing.append(f"{state.name}: {missing}")
    state.context, state.number = context, number


def _start(state: _Application, event: Mapping[str, Any]) -> None:
    if len(state.open) >= MAX_OPEN:
        del state.open[next(iter(state.open))]
        state.summary.unfinished += 1
    opened = _Open(str(event.get("description") or "")[:_MAX_DESCRIPTION], _whole(event["time"]))
    opened.add_plan(event["sparkPlanInfo"])
    state.open[_whole(event["executionId"])] = opened


def _change_plan(state: _Application, event: Mapping[str, Any]) -> None:
    opened = state.open.get(_whole(event["executionId"]))
    if opened is not None:
        opened.add_plan(event["sparkPlanInfo"])


def _driver_values(state: _Application, event: Mapping[str, Any]) -> None:
    opened = state.open.get(_whole(event["executionId"]))
    values = {_whole(number): _whole(value) for number, value in event["accumUpdates"]}
    if opened is not None and len(opened.values) < _MAX_VALUES:
        opened.values.update(values)


def _stage_values(state: _Application, event: Mapping[str, Any]) -> None:
    for each in event["Stage Info"].get("Accumulables", ()):
        if each.get("Name") == ROWS_READ:
            number, value = _whole(each["ID"]), _whole(each["Value"])
            state.rows[number] = max(value, state.rows.pop(number, 0))
    while len(state.rows) > _MAX_VALUES:
        del state.rows[next(iter(state.rows))]


def _end(state: _Application, event: Mapping[str, Any]) -> SqlExecution | None:
    number, ended_ms = _whole(event["executionId"]), _whole(event["time"])
    opened = state.open.pop(number, None)
    if opened is None:
        state.summary.without_start += 1
        return None
    scans = [
        _table_scan(scan, opened.values, state.rows)
        for key, scan in opened.scans.items()
        if key in opened.values
    ]
    return SqlExecution(
        application=state.name,
        started_ms=opened.started_ms,
        duration_ms=min(max(ended_ms - opened.started_ms, 0), _INT64 - 1),
        error=str(event.get("errorMessage") or "")[:KEPT_BYTES],
        description=opened.description,
        scans=tuple(scans),
    )


def _table_scan(scan: PlanScan, driver: Mapping[int, int], rows: dict[int, int]) -> TableScan:
    def metric(name: str, values: Mapping[int, int]) -> int | None:
        value = values.get(scan.metrics.get(name, -1))
        return None if value is None else max(value, 0)

    return TableScan(
        location=scan.location,
        file_format=scan.file_format,
        filters=scan.filters,
        read_schema=scan.read_schema,
        predicate=None,
        files_total=None,
        files_read=metric(FILES_READ, driver),
        bytes_read=metric(BYTES_READ, driver),
        rows_read=metric(ROWS_READ, rows),
    )


def _whole(value: Any) -> int:
    number = int(value)
    if isinstance(value, float) or not -_INT64 <= number < _INT64:
        raise ValueError(f"{number} is no whole number of 64 bits")
    return number


_HANDLERS: Mapping[str, _Handler] = {
    f"{_SQL}SQLExecutionStart": _start,
    f"{_SQL}SQLAdaptiveExecutionUpdate": _change_plan,
    f"{_SQL}DriverAccumUpdates": _driver_values,
    f"{_SQL}SQLExecutionEnd": _end,
    "SparkListenerStageCompleted": _stage_values,
    "DBCEventLoggingListenerMetadata": _begin_file,
}
