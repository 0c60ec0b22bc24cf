"""What Spark's own event log tells of queries on Delta and Iceberg tables: tables, predicates, files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from starskip.indexes.skipping.workload.lake_queries import lake_queries
from starskip.indexes.skipping.workload.table_locations import TableLocations
from starskip.lake.open_table import iceberg_columns
from starskip.lake.spark_events.event_logs import event_logs
from starskip.lake.spark_events.sql_execution import LogSummary, SqlExecution
from starskip.lake.spark_events.sql_executions import read_event_log
from starskip.lake.spark_types import spark_struct

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.table_formats]
SUPPORT = Path(__file__).parents[1] / "support"


def test_forms_of_queries_are_told_from_the_log_of_a_real_spark(tmp_path: Path) -> None:
    folder = tmp_path / "é log"
    folder.mkdir()
    told = subprocess.run(
        [sys.executable, str(SUPPORT / "lake_format_log.py"), str(folder)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))},
    )
    asked = json.loads(told.stdout.splitlines()[-1])
    (log,) = event_logs([str(folder / "events")])
    summary = LogSummary()
    executions = [each for each in read_event_log(log, summary) if each.scans]
    assert not summary.rejected and not summary.unfinished
    places = {
        f"{folder}/by path": "by path",
        f"{folder}/vectors": "vectors",
        f"{folder}/managed/named": "named",
        **{f"ice.db.{name}": f"ice.db.{name}" for name in ("t", "split", "deleted")},
    }
    schemas = {
        f"ice.db.{name}": spark_struct(iceberg_columns(f"{folder}/warehouse/db/{name}"))
        for name in ("t", "split", "deleted")
    }
    by_text: dict[str, list[SqlExecution]] = {}
    for each in executions:
        by_text.setdefault(each.description, []).append(each)
    found = {text: _told(by_text.get(text, []), places, schemas) for text, *_ in asked}
    wanted = {text: (table, skeleton, files) for text, table, skeleton, files in asked}
    assert {text: rows for text, rows in found.items() if wanted[text] not in rows} == {}
    for text, rows in found.items():
        # One scan a table, and none of a table's own log.
        assert len(rows) == (2 if " JOIN " in text else 1), (text, rows)


def _told(
    executions: list[SqlExecution], places: Mapping[str, str], schemas: Mapping[str, str]
) -> list[tuple[str, str, int]]:
    rows = lake_queries(executions, TableLocations(places), schemas).to_pylist()
    return [(row["table"], row["skeleton"], row["files_read"]) for row in rows]
