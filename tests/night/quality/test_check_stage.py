"""Effects of a gate on a night: tables judged, tables left out, artefacts that stay."""

from __future__ import annotations

from datetime import date

import pytest
from gate_checks import count_again
from starskip.advisor.run.gate_verdicts import flagged_tables, read_verdicts
from starskip.advisor.run.stages import STAGE_NAMES, stage_named
from starskip.errors import SourceError
from starskip.execution.local_engine import LocalEngine
from starskip.night.quality.check_stage import check_stage
from starskip.night.stage_functions import stage_function
from starskip.reports.evidence_json import evidence_from_json

pytestmark = pytest.mark.quality
BOTH = ["airlineStats", "lineitem"]


def run(lab, *stages):
    for stage in stages:
        stage_function(stage)(LocalEngine(), lab.night)
        check_stage(lab.night, stage)


def test_a_good_night_passes_every_gate_and_its_verdicts_are_published(lab):
    lab.tables = None
    for stage in STAGE_NAMES:
        verdicts = check_stage(lab.night, stage)
        assert [verdict.table for verdict in verdicts] == BOTH
        assert [c for verdict in verdicts for c in verdict.checks if not c.success] == []
        assert read_verdicts(lab.night, [stage]) == list(verdicts)
    assert flagged_tables(lab.night) == {}


def test_every_check_says_what_it_saw_and_names_the_table(lab):
    for stage in STAGE_NAMES:
        for verdict in check_stage(lab.night, stage):
            for check in verdict.checks:
                assert "lineitem" in check.check
                assert check.observed and check.expected
                assert "{" not in check.check + check.observed + check.expected


def test_a_stopped_table_is_left_out_the_other_goes_on_and_the_last_report_stays(lab):
    lab.tables, lab.run_date = None, date(2026, 11, 20)
    stage_function("collect_segment_metadata")(LocalEngine(), lab.night)
    lab.spoil("table_facts", lambda rows: rows[0].update(cardinality=-1))
    count_again(lab.night)
    check_stage(lab.night, "collect_segment_metadata")
    run(lab, "parse_query_logs", "fit_latency_model", "score_votes", "select_indexes", "write_report")

    assert flagged_tables(lab.night) == {"lineitem": "collect_segment_metadata"}
    judged = {v.table for v in read_verdicts(lab.night, STAGE_NAMES[1:])}
    assert judged == {"airlineStats"}
    store = lab.night.store
    for artefact in ("latency_model", "votes", "recommendations", "reports"):
        assert store.snapshot(artefact, "2026-11-20").tables == ("airlineStats",)
    lab.run_date = date(2026, 11, 19)
    last = evidence_from_json(lab.report()["report.json"], "report.json")
    assert (last.table, last.run_date) == ("lineitem", date(2026, 11, 19))


def test_a_night_in_which_nobody_asked_the_table(lab):
    lab.publish("queries", [])
    for stage in ("fit_latency_model", "score_votes", "select_indexes", "write_report"):
        stage_function(stage)(LocalEngine(), lab.night)
    failed = {stage: lab.failed(stage) for stage in STAGE_NAMES}
    assert failed == {stage: [] for stage in STAGE_NAMES}


def test_a_stage_that_has_not_run(lab):
    lab.run_date = date(2026, 11, 20)
    with pytest.raises(SourceError, match="no table_facts of 2026-11-20: run collect_segment_metadata"):
        check_stage(lab.night, "collect_segment_metadata")


@pytest.mark.parametrize("stage", STAGE_NAMES[2:])
def test_a_table_that_the_stage_has_lost(lab, stage):

    lab.tables = None
    artefact = stage_named(stage).artefact
    parts = dict(lab.night.store.snapshot(artefact, lab.night.date_text).parts())
    del parts["lineitem"]
    lab.night.publish(artefact, parts)
    assert lab.failed(stage) == [f"{artefact} of {{table}}: state"]
    assert flagged_tables(lab.night) == {"lineitem": stage}


@pytest.mark.parametrize(
    "artefact, stage",
    [
        ("table_facts", "collect_segment_metadata"),
        ("queries", "parse_query_logs"),
        ("votes", "score_votes"),
        ("recommendations", "select_indexes"),
    ],
)
def test_a_file_that_is_damaged(lab, artefact, stage):
    lab.tables = None
    file = lab.night.store.snapshot(artefact, lab.night.date_text).parts()["lineitem"].files[0]
    path = lab.root / file.name
    content = path.read_bytes()
    path.write_bytes(bytes(len(content) - 2000) + content[-2000:])
    assert lab.failed(stage) == [f"{artefact} of {{table}}: state"]
    assert flagged_tables(lab.night) == {"lineitem": stage}


def test_tables_of_the_log_that_have_no_segments_are_not_judged(lab):
    lab.tables = None
    lab.publish("queries", [], lab.properties("queries"), table="ghost")
    assert [verdict.table for verdict in check_stage(lab.night, "parse_query_logs")] == BOTH


def test_a_repaired_table_is_no_longer_flagged(lab):
    good = lab.rows("table_facts")
    lab.spoil("table_facts", lambda rows: rows[0].update(cardinality=-1))
    assert lab.failed("collect_segment_metadata")
    lab.publish("table_facts", good)
    assert not lab.failed("collect_segment_metadata")
