"""A night of a hybrid table: facts, queries, advice and report of each half."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = [pytest.mark.slow, pytest.mark.quality, pytest.mark.filterwarnings("default")]

HYBRID = {
    "OFFLINE": {"tableName": "airlineStats_OFFLINE", "tableIndexConfig": {"loadMode": "MMAP"}},
    "REALTIME": {
        "tableName": "airlineStats_REALTIME",
        "tableIndexConfig": {"invertedIndexColumns": ["Origin"]},
    },
}
HALVES = {"airlineStats_OFFLINE", "airlineStats_REALTIME"}


def test_each_half_has_its_own_report(lab: Any, log_line: Any) -> None:
    path = lab.root / "airlineStats.json"
    path.write_text(json.dumps(HYBRID))
    lab.log(*[log_line("airlineStats_REALTIME", "SELECT COUNT(*) FROM airlineStats WHERE Dest = 'JFK'")] * 9)
    night = lab.night(table_config_paths=[str(path)])
    failed = lab.run_with_gates(night)
    assert failed == {}
    reports = night.store.snapshot("reports", night.date_text)
    assert reports is not None
    assert {table for table in reports.tables if table.startswith("airlineStats")} == HALVES
    offline, realtime = (lab.report(table) for table in sorted(HALVES))
    assert realtime["summary"]["queries"] == offline["summary"]["queries"] + 9
    assert realtime["change"]["config"]["tableName"] == "airlineStats_REALTIME"
    assert realtime["change"]["keys"]["invertedIndexColumns"]["current"] == ["Origin"]
    assert offline["change"]["keys"]["invertedIndexColumns"]["current"] == []


def test_queries_on_the_whole_table_are_of_a_half_whose_other_half_has_no_folder(lab: Any) -> None:
    path = lab.root / "airlineStats.json"
    path.write_text(json.dumps(HYBRID))
    (lab.segments / "airlineStats").rename(lab.segments / "airlineStats_OFFLINE")
    night = lab.night(table_config_paths=[str(path)])
    assert set(lab.run_with_gates(night)) == {"airlineStats_REALTIME"}
    asked = lab.report("airlineStats_OFFLINE")["summary"]["queries"]
    assert asked > 0
    night = lab.night(table_config_paths=[str(path)], tables=frozenset({"airlineStats_OFFLINE"}))
    fresh = replace(night, store=ArtefactStore(storage_for(str(lab.root / "fresh"))))
    lab.run(fresh, ["collect_segment_metadata", "parse_query_logs"])
    parts = fresh.store.snapshot("queries", fresh.date_text).parts()
    assert parts["airlineStats_OFFLINE"].rows == asked
