"""Spark's event logs, and our own JSON events, to ``lake_queries``: a part of stage parse_query_logs.

A query belongs to the night in whose day it began, in the log's time zone. Each task writes the queries of
its logs; the reader of a table's part merges them (lake_queries).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pyarrow as pa

from starskip.advisor.run.night import NO_TABLE, Night
from starskip.advisor.workload.lake_queries import TableLocations, lake_queries, merged_lake_queries
from starskip.advisor.workload.spark_events.event_logs import EventLog, event_log_files, event_logs
from starskip.advisor.workload.spark_events.sql_execution import LogSummary, RejectedLine, SqlExecution
from starskip.advisor.workload.spark_events.sql_executions import read_event_log
from starskip.errors import SourceError, SourceOutage, printable
from starskip.execution.engine import Engine
from starskip.execution.gather_aside import gather_messages
from starskip.lake.lake_table import LakeTable
from starskip.lake.open_lake_table import format_at, iceberg_columns
from starskip.lake.spark_types import spark_struct
from starskip.night.night_logs import night_paths
from starskip.storage.commit_messages import (
    COMMIT_MESSAGES,
    TableWriter,
    note_message,
    notes_of,
    parts_of,
)
from starskip.storage.manifest import Part
from starskip.storage.schemas import REJECTED_RECORDS
from starskip.storage.staged_write import StagedWrite

LAKE_QUERIES = "lake_queries"
_REJECTED = "rejected_records"
_NAMED_GAPS = 5


@dataclass(frozen=True, slots=True)
class LakeLogs:
    """Contents of a night's event logs; ``rejected``: the parts of ``rejected_records`` to publish.

    ``failure``: why the logs could not be found, empty if they were.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    rejected: Mapping[str, Part] = field(default_factory=dict)
    failure: str = ""


def event_log_bytes(night: Night) -> int:
    """Return the bytes of the event logs that may hold queries of the night. Raises SourceError as below."""
    paths, _ = _paths(night)
    start_ms, _ = _bounds_ms(night.run_date, night.settings.log.time_zone)
    files = event_log_files(paths)
    return sum(file.size_bytes for file in files if not file.is_older_than(start_ms * 1_000_000))


def publish_lake_queries(engine: Engine, night: Night, staged_rejected: StagedWrite) -> LakeLogs:
    """Publish ``lake_queries`` of the night's tables of the lake; nothing if no event log is configured.

    Raises SourceError for a path that names no log.
    """
    tables = {name: table for name, table in night.lake_tables.items() if night.wants(name)}
    if not night.event_log_paths or not tables:
        return LakeLogs()
    paths, warnings = _paths(night)
    start, end = _bounds_ms(night.run_date, night.settings.log.time_zone)
    logs = event_logs(paths, start * 1_000_000)
    locations = {place: name for name, table in tables.items() for place in (table.path, *table.logged_as)}
    schemas, unknown = _schemas(tables)
    warnings = (*warnings, *unknown)
    staged = night.store.staged_write(LAKE_QUERIES, night.date_text)
    read = partial(_write_queries, (staged, staged_rejected), (locations, schemas), start, end)
    rows = engine.rows_of_items(logs, read, COMMIT_MESSAGES)
    messages = gather_messages(engine, rows, [staged, staged_rejected], "event log")
    tally: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    missing: list[str] = []
    for note in map(json.loads, notes_of(messages, LAKE_QUERIES)):
        reasons.update(note.pop("reasons"))
        missing += note.pop("missing")
        tally.update(note)
    parts = parts_of(messages, LAKE_QUERIES)
    log = {"logs": len(logs), **tally, "rejected": dict(sorted(reasons.items()))}
    night.publish(
        LAKE_QUERIES,
        {name: Part(parts[name].files if name in parts else (), {"log": log}) for name in tables},
    )
    problems = [
        f"{count} lines of event logs rejected: {reason}" for reason, count in sorted(reasons.items())
    ]
    problems += [
        f"files missing in the event log {each}: what queries did in them is not known"
        for each in sorted(missing)[:_NAMED_GAPS]
    ]
    if not tally["lake_queries"]:
        problems.append(
            f"no query of {night.date_text} on {', '.join(sorted(tables))} in {len(logs)} event logs: "
            "their skipping indexes stay as they are"
        )
    counts = {"event_logs": len(logs), **{name: tally[name] for name in ("spark_queries", "lake_queries")}}
    return LakeLogs(counts, (*warnings, *map(printable, problems)), parts_of(messages, _REJECTED))


def _paths(night: Night) -> tuple[tuple[str, ...], tuple[str, ...]]:
    neighbours = night.settings.log.read_neighbouring_days
    return night_paths(night.event_log_paths, night.run_date, event_log_files, neighbours=neighbours)


def _schemas(tables: Mapping[str, LakeTable]) -> tuple[Mapping[str, str], Sequence[str]]:
    """Return the columns of Iceberg tables, whose scans have no types in the log, and which tables failed."""
    found, failed = {}, []
    for name, table in tables.items():
        try:
            is_iceberg = format_at(table.path, table.listed_format) == "iceberg"
        except SourceOutage:
            raise
        except SourceError:
            is_iceberg = False  # the reader of the table reports why
        try:
            if is_iceberg:
                found[name] = spark_struct(iceberg_columns(table.path))
        except SourceOutage:
            raise
        except SourceError as error:
            failed.append(printable(f"table {name}: the predicates of its queries are not known: {error}"))
    return found, failed


def _bounds_ms(day: date, time_zone: str) -> tuple[int, int]:
    zone = ZoneInfo(time_zone)
    midnights = [datetime.combine(each, time(), zone) for each in (day, day + timedelta(days=1))]
    start, end = (int(each.timestamp() * 1000) for each in midnights)
    return start, end


def _write_queries(
    staged: tuple[StagedWrite, StagedWrite],
    tables: tuple[Mapping[str, str], Mapping[str, str]],
    start_ms: int,
    end_ms: int,
    logs: Iterable[EventLog],
) -> Iterator[pa.RecordBatch]:
    queries, rejected = TableWriter(staged[0]), TableWriter(staged[1])
    table_locations, schemas = TableLocations(tables[0]), tables[1]
    merged = merged_lake_queries(())
    tally: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    missing: list[str] = []
    for log in logs:
        summary = LogSummary()
        run_day = _RunDay(start_ms, end_ms, tally)
        of_log = lake_queries(run_day.within(read_event_log(log, summary)), table_locations, schemas)
        tally["lake_queries"] += sum(of_log["queries"].to_pylist()) + sum(of_log["failed"].to_pylist())
        merged = merged_lake_queries((merged, of_log))
        for name in ("lines", "events", "other", "unfinished", "without_start"):
            tally[name] += getattr(summary, name)
        reasons.update(summary.reasons)
        missing += summary.missing[:_NAMED_GAPS]
        if summary.rejected:
            yield from rejected.add(_rejected_rows(summary.rejected))
    for batch in merged.to_batches():
        yield from queries.add(batch)
    note = {**tally, "reasons": reasons, "missing": missing[:_NAMED_GAPS]}
    yield note_message(LAKE_QUERIES, NO_TABLE, json.dumps(note))
    yield from queries.finish()
    yield from rejected.finish()


@dataclass(frozen=True, slots=True)
class _RunDay:
    start_ms: int
    end_ms: int
    tally: Counter[str]

    def within(self, executions: Iterable[SqlExecution]) -> Iterator[SqlExecution]:
        for execution in executions:
            if self.start_ms <= execution.started_ms < self.end_ms:
                self.tally["spark_queries"] += 1
                yield execution
            else:
                self.tally["outside_run_date"] += 1


def _rejected_rows(lines: Iterable[RejectedLine]) -> pa.RecordBatch:
    rows = [
        {
            "kind": "rejected",
            "reason": each.reason,
            "table": NO_TABLE,
            "query_text": each.text,
            "line_format": "spark_event",
            "source_file": each.file,
            "source_position": each.line,
            "source_lines": 1,
        }
        for each in lines
    ]
    return pa.RecordBatch.from_pylist(rows, schema=REJECTED_RECORDS)
