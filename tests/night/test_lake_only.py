"""Tables that lie in the lake alone go through every stage and have a report, beside Pinot's or without."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.errors import ConfigError, SourceError
from starskip.lake.lake_table import LakeTable
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.quality.check_stage import check_stage

pytestmark = [pytest.mark.slow, pytest.mark.quality]


@pytest.fixture
def lake(tmp_path: Path) -> Mapping[str, LakeTable]:
    folder = tmp_path / "lake" / "events"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2]}), folder / "part.parquet")
    return {"events": LakeTable(str(folder))}


def run_with_gates(lab: Any, night: Night) -> None:
    for stage in STAGE_NAMES:
        lab.run(night, [stage])
        for verdict in check_stage(night, stage):
            assert verdict.passed, verdict


def test_it_has_a_report_beside_those_of_pinots_tables(
    lab: Any, lake: Mapping[str, LakeTable], tmp_path: Path
) -> None:
    (tmp_path / "spark").mkdir()
    asked = frozenset({"events", "airlineStats"})
    night = lab.night(lake_tables=lake, event_log_paths=[str(tmp_path / "spark")], tables=asked)
    run_with_gates(lab, night)
    reports = night.store.snapshot("reports", night.date_text)
    assert reports is not None and reports.tables == ("airlineStats", "events")
    told = lab.report("events")
    assert told["lake_only"] and told["data_quality"]["lines"] == 0
    assert told["skipping"]["note"] == "skipping indexes are measured on Spark alone"
    assert not lab.report("airlineStats")["lake_only"]


def test_a_night_without_segments_and_broker_logs(lab: Any, lake: Mapping[str, LakeTable]) -> None:
    night = lab.run(lab.night(lake_tables=lake, segments_root="", log_paths=[]))
    run_with_gates(lab, night)
    reports = night.store.snapshot("reports", night.date_text)
    assert reports is not None
    files = {file.file_name: reports.read_file(file).decode() for file in reports.parts()["events"].files}
    for written in (files["report.html"], files["report.md"]):
        assert "No skipping index or secondary index for" in written
        assert "no Spark event logs are configured (sources.spark_event_logs)" in written
    for words in ("<dt>segments", "<dt>entries scanned", "latency?", "Star-trees"):
        assert words not in files["report.html"]


def test_a_night_of_such_a_table_alone_reads_no_log_and_leaves_the_others(
    lab: Any, lake: Mapping[str, LakeTable]
) -> None:
    night = lab.run(lab.night(lake_tables=lake))
    before = lab.published("recommendations")
    shutil.rmtree(lab.logs)
    run_with_gates(lab, lab.night(lake_tables=lake, tables=frozenset({"events"})))
    assert lab.published("recommendations") == before
    assert lab.results["collect_segment_metadata"].counts["tables"] == 1
    assert night.store.run_dates("reports") == (night.date_text,)


def test_a_folder_of_segments_without_any_leaves_the_tables_of_the_lake(
    lab: Any, lake: Mapping[str, LakeTable]
) -> None:
    shutil.rmtree(lab.segments)
    lab.segments.mkdir()
    run_with_gates(lab, lab.night(lake_tables=lake))
    assert "holds no table folders" in lab.warnings
    assert lab.report("events")["lake_only"]


def test_a_table_with_a_config_is_one_of_pinots_whose_segments_are_missing(
    lab: Any, lake: Mapping[str, LakeTable], tmp_path: Path
) -> None:
    config = tmp_path / "events.json"
    config.write_text(json.dumps({"tableName": "events_OFFLINE", "tableType": "OFFLINE"}))
    night = lab.night(lake_tables=lake, table_config_paths=[str(config)])
    lab.run(night, ["collect_segment_metadata"])
    assert set(lab.published("table_facts")) == {"airlineStats", "lineitem", "events"}
    assert re.search("unknown table events: .* has segments of airlineStats, lineitem$", lab.warnings)
    with pytest.raises(SourceError, match="unknown table events"):
        lab.run(replace(night, tables=frozenset({"events"})), ["collect_segment_metadata"])


def test_a_bad_log_of_brokers_does_not_stop_it(lab: Any, lake: Mapping[str, LakeTable]) -> None:
    start = "2026/11/20 10:00:00.000 INFO [BaseBrokerRequestHandler] [executor-1] requestId=1,table=broken"
    lab.log(f"{start}\n" * 10_000)
    night = lab.run(lab.night(lake_tables=lake), ["collect_segment_metadata", "parse_query_logs"])
    passed = {verdict.table: verdict.passed for verdict in check_stage(night, "parse_query_logs")}
    assert passed == {"airlineStats": False, "lineitem": False, "events": True}


def test_missing_event_logs_fail_it_alone(lab: Any, lake: Mapping[str, LakeTable], tmp_path: Path) -> None:
    stages = ["collect_segment_metadata", "parse_query_logs"]
    night = lab.run(lab.night(lake_tables=lake, event_log_paths=[str(tmp_path / "gone")]), stages)
    assert (
        f"no log file at {tmp_path}/gone: check the path: what Spark asked of tables of the lake"
        in lab.warnings
    )
    verdicts = {verdict.table: verdict for verdict in check_stage(night, "parse_query_logs")}
    assert {table: each.passed for table, each in verdicts.items()} == {
        "airlineStats": True,
        "lineitem": True,
        "events": False,
    }
    assert "no log file at" in str(verdicts["events"])
    with pytest.raises(SourceError, match="no log file at"):
        lab.run(
            replace(night, tables=frozenset({"events"})), ["collect_segment_metadata", "parse_query_logs"]
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "unknown table nation: .* has segments of airlineStats, lineitem and lake_tables has events"),
        ({"segments_root": ""}, "unknown table nation: lake_tables has events"),
    ],
)
def test_a_table_that_nobody_knows_is_named(
    lab: Any, lake: Mapping[str, LakeTable], changes: Mapping[str, Any], message: str
) -> None:
    asked = {"tables": frozenset({"nation", "events"}), "is_of_some": True}
    night = lab.night(lake_tables=lake, **asked, **changes)
    with pytest.raises(SourceError, match=message):
        lab.run(night, ["collect_segment_metadata"])


def test_segments_may_be_missing_from_the_configuration_where_there_are_lake_tables(tmp_path: Path) -> None:
    arguments = NightArguments(date(2026, 11, 20), "test", datetime(2026, 11, 21, tzinfo=UTC))
    config = tmp_path / "night.yaml"
    config.write_text("store: {artefacts: a}\nsources: {lake_tables: {events: {path: lake/events}}}\n")
    assert night_from_config(config, arguments, {}).segments_root == ""
    config.write_text("store: {artefacts: a}\n")
    with pytest.raises(ConfigError, match=r"segments_root is missing: give a path"):
        night_from_config(config, arguments, {})
    sources = "{log_paths: [logs], lake_tables: {events: {path: lake/events}}}"
    config.write_text(f"store: {{artefacts: a}}\nsources: {sources}\n")
    with pytest.raises(ConfigError, match=r"segments_root is missing: give .*, leave out sources\.log_"):
        night_from_config(config, arguments, {})
