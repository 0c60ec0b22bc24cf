"""The JSON event of a query that our own rule logs: one line a query, with the exact predicates of its scans.

    {"event": "starskip.query", "version": 1, "query_id": "…", "started_ms": 1795305237969,
     "duration_ms": 412, "error": "", "description": "…", "scans": [{"path": "file:/lake/t",
     "format": "parquet", "predicate": {"call": "And", …} or null, "files_total": 96, "files_read": 3,
     "bytes_read": 310512, "rows_read": 4000}]}

All keys except ``event``, ``version``, ``started_ms`` and ``scans`` with their ``path`` may be left out or
null. A predicate has the form of predicates.expression_json, null if a scan has none. Unknown keys are
ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starskip.advisor.workload.spark_events.sql_execution import SqlExecution, TableScan

EVENT_NAME = "starskip.query"
VERSION = 1
_MAX_TEXT = 10_000
_INT64 = 1 << 63


def skipping_event(event: Mapping[str, Any], application: str) -> SqlExecution:
    """Return the execution that an event reports; ValueError, KeyError or TypeError if it is none."""
    if event["version"] != VERSION:
        raise ValueError(f"version {event['version']} is not read")
    return SqlExecution(
        application=application,
        started_ms=_count(event, "started_ms", needed=True) or 0,
        duration_ms=_count(event, "duration_ms") or 0,
        error=_text(event, "error"),
        description=_text(event, "description"),
        scans=tuple(_scan(each) for each in event["scans"]),
    )


def _scan(scan: Mapping[str, Any]) -> TableScan:
    predicate = scan.get("predicate")
    if not isinstance(scan["path"], str):
        raise TypeError("a path is a text")
    return TableScan(
        location=scan["path"],
        file_format=_text(scan, "format"),
        filters=(),
        read_schema="",
        predicate=None
        if predicate is None
        else json.dumps(predicate, separators=(",", ":"), ensure_ascii=False),
        files_total=_count(scan, "files_total"),
        files_read=_count(scan, "files_read"),
        bytes_read=_count(scan, "bytes_read"),
        rows_read=_count(scan, "rows_read"),
    )


def _text(of: Mapping[str, Any], key: str) -> str:
    return str(of.get(key) or "")[:_MAX_TEXT]


def _count(of: Mapping[str, Any], key: str, *, needed: bool = False) -> int | None:
    value = of[key] if needed else of.get(key)
    if value is None and not needed:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _INT64:
        raise ValueError(f"{key} is no count")
    return value
