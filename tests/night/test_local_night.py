"""Whole nights in one process: what they publish, what they read again, and what they leave alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from settings_with import settings_with
from starskip.advisor.run.stages import STAGE_NAMES, STAGES
from starskip.errors import SourceError
from starskip.settings import Settings

SAMPLE = Path(__file__).parents[2] / "include" / "sample"
# Not latency_model: its quantiles come from sketches that toss coins.
PUBLISHED = ("queries", "workload", "votes", "recommendations", "latency_bins")
FIRST = STAGE_NAMES[:1]


@pytest.fixture(scope="module")
def sample_lab(
    tmp_path_factory: pytest.TempPathFactory, make_lab: Callable[..., Any], with_trees: Settings
) -> Any:
    """The night of 2026-11-20 over the whole sample, with its three log files."""
    lab = make_lab(tmp_path_factory.mktemp("sample"), with_trees)
    lab.run(lab.night(log_paths=[str(SAMPLE / "logs")], segments_root=str(SAMPLE / "segments")))
    return lab


def test_the_sample_night_counts_every_record_and_reports_both_tables(sample_lab: Any) -> None:
    counts = sample_lab.results["parse_query_logs"].counts
    assert counts == {"lines": 1663, "records": 1487, "queries": 1481, "outside_run_date": 2988}
    assert sample_lab.results["collect_segment_metadata"].counts["segments_read"] == 35
    assert sample_lab.results["write_report"].counts["reports"] == 2
    assert sample_lab.warnings == ""
    lineitem, airline = sample_lab.report("lineitem"), sample_lab.report("airlineStats")
    assert (lineitem["summary"]["queries"], airline["summary"]["queries"]) == (896, 585)
    assert (lineitem["data_quality"]["segments"], airline["data_quality"]["segments"]) == (4, 31)
    assert lineitem["data_quality"]["outside_run_date"] == 2988
    assert lineitem["chosen"][0]["columns"] == ["l_suppkey"]


def test_the_report_lists_every_setting_by_group_with_its_value_and_unit(
    sample_lab: Any, with_trees: Settings
) -> None:
    listed = {
        each["name"]: (each["value"], each["unit"]) for each in sample_lab.report("lineitem")["settings"]
    }
    assert listed == {each.place: (value, each.facts.unit) for each, value in with_trees.items()}
    assert listed["advice.max_indexes"] == (8, "indexes a table")
    assert listed["star_tree.max_tree_size_ratio"] == (0.5, "share")


def test_the_report_holds_what_the_recommendations_hold(sample_lab: Any) -> None:
    night = sample_lab.night()
    snapshot = night.store.snapshot("recommendations", night.date_text)
    for table, part in snapshot.parts().items():
        rows = snapshot.read_table([table]).to_pylist()
        report, said = sample_lab.report(table), part.properties
        chosen = sorted((row for row in rows if row["verdict"] == "chosen"), key=lambda row: row["rank"])
        assert [item["columns"] for item in report["chosen"]] == [[row["column"]] for row in chosen]
        assert [item["progressive_saving_ratio"] for item in report["chosen"]] == [
            row["progressive_saving_ratio"] for row in chosen
        ]
        refused = {
            (row["column"], row["reason"], row["detail"]) for row in rows if row["verdict"] == "refused"
        }
        assert {(i["columns"][0], i["reason"], i["detail"]) for i in report["refused"]} == refused
        summary = report["summary"]
        assert summary["predicted_saving_ratio"] == said["saving"]["ratio"]
        assert summary["predicted_interval"] == {"low": said["saving"]["low"], "high": said["saving"]["high"]}
        assert summary["entries_scanned_in_filter"] == said["entries"]
        curve = [(point["k"], point["saving_ratio"]) for point in report["k_curve"]["points"]]
        assert curve == [(point["k"], point["saving"]["ratio"]) for point in said["curve"]]


def test_literals_are_masked_unless_they_are_asked_for(lab: Any, log_line: Callable[..., str]) -> None:
    shutil.rmtree(lab.logs)
    lab.logs.mkdir()
    lab.log(*[log_line("lineitem", "SELECT COUNT(*) FROM lineitem WHERE l_shipmode = 'SECRET-7'")] * 3)
    lab.log("2026/11/20 10:00:00.000 requestId=1,table=x query='SECRET-7'\n", name="broken.log")
    night = lab.run()
    assert lab.report("lineitem")["summary"]["queries"] == 3
    assert not any(b"SECRET" in content for content in lab.published("reports").values())
    lab.run(replace(night, settings=settings_with(night.settings, show_literals=True)), STAGE_NAMES[-1:])
    assert b"SECRET-7" in lab.published("reports")["lineitem"]


@pytest.mark.slow
def test_a_night_run_again_gives_the_same_and_leaves_another_night_alone(lab: Any, log_line: Any) -> None:
    query = log_line("lineitem", "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 1")
    lab.log(query.replace("2026/11/20", "2026/11/19"))
    other = lab.run(lab.night(run_date=date(2026, 11, 19)))
    lab.run()
    first = {name: lab.published(name) for name in PUBLISHED}
    manifests = {name: lab.night().store.snapshot(name, "2026-11-19").manifest for name in PUBLISHED}
    lab.run()
    assert {name: lab.published(name) for name in PUBLISHED} == first
    for name in PUBLISHED:
        assert other.store.snapshot(name, "2026-11-19").manifest == manifests[name]
        assert other.store.snapshot(name, "2026-11-20").manifest.version == 2


def test_the_register_names_every_artefact_of_a_night(sample_lab: Any) -> None:
    named = {name for stage in STAGES for name in (stage.artefact, *stage.beside, stage.builds)}
    found = set(sample_lab.night().store.artefacts())
    assert {stage.artefact for stage in STAGES} <= found <= named


def test_a_night_of_some_tables_touches_their_parts_alone(lab: Any) -> None:
    lab.run()
    names = [stage.artefact for stage in STAGES]
    before = {name: lab.night().store.snapshot(name, "2026-11-20").manifest for name in names}
    lab.log("2026/11/20 10:00:00.000 what is this\n")
    lab.run(lab.night(tables=frozenset({"lineitem"}), settings=settings_with(lab.settings, max_indexes=1)))
    for name, manifest in before.items():
        after = lab.night().store.snapshot(name, "2026-11-20").manifest
        assert after.parts["airlineStats"] == manifest.parts["airlineStats"], name
        # A part without files is but its figures, and those of the latency model are the same again.
        assert after.parts["lineitem"] != manifest.parts["lineitem"] or not manifest.parts["lineitem"].files
    assert len(lab.report("lineitem")["chosen"]) == 1


def test_an_unknown_table_ends_the_night_by_name_and_nothing_is_lost(lab: Any) -> None:
    lab.run(stages=FIRST)
    before = lab.published("table_facts")
    with pytest.raises(SourceError, match=r"unknown table nope: .* has segments of airlineStats, lineitem"):
        lab.run(lab.night(tables=frozenset({"lineitem", "nope"}), is_of_some=True))
    assert lab.published("table_facts") == before


def facts_counts(lab: Any, **changes: Any) -> tuple[int, int]:
    lab.run(lab.night(**changes), FIRST)
    counts = lab.results["collect_segment_metadata"].counts
    return counts["segments_read"], counts["segments_taken_over"]


@pytest.fixture
def aged_lab(lab: Any) -> Any:
    """Segments that were written long before the first night."""
    for path in lab.segments.rglob("*.tar.gz"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    assert facts_counts(lab, run_date=date(2026, 11, 19)) == (4, 0)
    return lab


def facts_by_file(lab: Any, run_date: str) -> dict[str, list[str]]:
    rows = lab.night().store.snapshot("table_facts", run_date).read_table().to_pylist()
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["source_file"], []).append(str(row))
    return {file: sorted(of_file) for file, of_file in found.items()}


def test_facts_of_unchanged_segments_are_taken_over(aged_lab: Any) -> None:
    assert facts_counts(aged_lab) == (0, 4)
    assert facts_by_file(aged_lab, "2026-11-20") == facts_by_file(aged_lab, "2026-11-19")
    assert facts_counts(aged_lab, tables=frozenset({"lineitem"})) == (0, 1)


def test_a_touched_segment_is_read_again(aged_lab: Any) -> None:
    os.utime(next(aged_lab.segments.rglob("lineitem_0.tar.gz")), (1_700_000_001, 1_700_000_001))
    assert facts_counts(aged_lab) == (1, 3)


def test_a_rewritten_segment_is_read_again_and_its_new_facts_count(aged_lab: Any) -> None:
    one, another = sorted((aged_lab.segments / "airlineStats").iterdir())[:2]
    shutil.copy(another, one)
    assert facts_counts(aged_lab) == (1, 3)
    found = facts_by_file(aged_lab, "2026-11-20")
    assert len(found) == 4
    assert found[str(one)] != facts_by_file(aged_lab, "2026-11-19")[str(one)]


@pytest.mark.parametrize(("seconds_before", "read"), [(1, 1), (3, 0), (-5, 1)])
def test_a_segment_changed_near_the_former_nights_start_is_read_again(
    aged_lab: Any, seconds_before: int, read: int
) -> None:
    started_at = datetime(2026, 11, 20, 2, tzinfo=UTC)
    changed = (started_at - timedelta(seconds=seconds_before)).timestamp()
    os.utime(next(aged_lab.segments.rglob("lineitem_0.tar.gz")), (changed, changed))
    facts_counts(aged_lab, run_date=date(2026, 11, 19), started_at=started_at)
    assert facts_counts(aged_lab) == (read, 4 - read)


def test_a_removed_segment_leaves_the_facts(aged_lab: Any) -> None:
    gone = sorted((aged_lab.segments / "airlineStats").iterdir())[0]
    gone.unlink()
    assert facts_counts(aged_lab) == (0, 3)
    assert str(gone) not in facts_by_file(aged_lab, "2026-11-20")


@pytest.mark.parametrize("keep_bytes", [0, 1_000])
def test_damaged_facts_of_a_former_night_are_collected_anew(aged_lab: Any, keep_bytes: int) -> None:
    """Else this night and all after it would need a human, since each looks at the former one's facts."""
    for path in (aged_lab.root / "artefacts" / "table_facts" / "2026-11-19").rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:keep_bytes])
    assert facts_counts(aged_lab) == (4, 0)
    assert facts_counts(aged_lab, run_date=date(2026, 11, 19)) == (4, 0)
    assert len(facts_by_file(aged_lab, "2026-11-19")) == 4


def test_only_records_of_the_night_count_whatever_their_file_is_called(
    lab: Any, log_line: Callable[..., str]
) -> None:
    shutil.rmtree(lab.logs)
    lab.logs.mkdir()
    query = log_line("lineitem", "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 1")
    stamps = ["19 23:59:59.999", "20 00:00:00.000", "20 23:59:59.999", "21 00:00:00.000"]
    lab.log(*[query.replace("20 10:00:00.000", stamp) for stamp in stamps], name="broker-2026-11-19.log")
    lab.run(stages=STAGE_NAMES[:2])
    counts = lab.results["parse_query_logs"].counts
    assert counts == {"lines": 2, "records": 2, "queries": 2, "outside_run_date": 2}


def test_the_runs_date_in_a_log_path(lab: Any) -> None:
    lab.run(lab.night(log_paths=[str(lab.logs / "broker-{run_date}.log.gz")]), STAGE_NAMES[:2])
    assert lab.results["parse_query_logs"].counts["queries"] == 1481


NEEDED_FIRST = {
    "fit_latency_model": "parse_query_logs",
    "score_votes": "collect_segment_metadata",
    "verify_indexes": "build_star_trees",
    "select_indexes": "score_votes",
}


@pytest.mark.parametrize("name", STAGE_NAMES[2:])
def test_a_stage_out_of_order_names_the_one_to_run_first(name: str, lab: Any) -> None:
    if name == "fit_latency_model":
        lab.run(stages=STAGE_NAMES[:1])
    first = NEEDED_FIRST.get(name, "select_indexes")
    with pytest.raises(SourceError, match=f"of 2026-11-20: run {first} of that night first$"):
        lab.run(stages=[name])


def test_logs_can_be_read_before_segments(lab: Any) -> None:
    lab.run(stages=STAGE_NAMES[1:2])
    assert sorted(lab.published("queries")) == ["airlineStats", "lineitem"]
