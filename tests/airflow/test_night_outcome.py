from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from starskip.advisor.run.gate_verdicts import GateCheck, GateVerdict, publish_verdicts
from starskip.advisor.run.night import Night
from starskip.airflow.night_outcome import night_outcome
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for


def done(*tasks: str) -> Callable[[str, str], bool]:
    """Return that these tasks succeeded for each table; all of them without a name."""
    return lambda task, _: not tasks or task in tasks


@pytest.fixture
def night(tmp_path: Path) -> Night:
    store = ArtefactStore(storage_for(str(tmp_path)))
    night = Night(date(2026, 11, 20), store, Settings(), datetime(2026, 11, 21, tzinfo=UTC), "test")
    for artefact in ("table_facts", "reports"):
        night.publish(artefact, {"orders": Part(()), "customer": Part(())})
    return night


def verdict(table: str, stage: str, *passed: bool) -> GateVerdict:
    checks = [GateCheck(stage, f"check {i}", success, "3", "0") for i, success in enumerate(passed)]
    return GateVerdict(table, stage, tuple(checks))


def test_nothing_failed(night: Night) -> None:
    outcome = night_outcome(night, {}, done())
    assert outcome.problem() is None
    assert outcome.reported == ("customer", "orders")


def test_a_table_that_a_gate_stopped_is_named_with_the_gate_and_what_it_saw(night: Night) -> None:
    stopped = verdict("orders", "score_votes", True, False, False)
    publish_verdicts(night, "score_votes", [stopped, verdict("customer", "score_votes", True)])
    outcome = night_outcome(night, {}, done())
    assert outcome.reported == ("customer",)
    assert outcome.problem() == (
        "night of 2026-11-20: table orders was stopped by check_score_votes: "
        "check 1: found 3, expected 0 and 1 more (reports of customer are published)"
    )


def test_a_table_whose_built_tree_fails_is_named_and_its_report_is_published_all_the_same(
    night: Night,
) -> None:
    publish_verdicts(night, "verify_indexes", [verdict("orders", "verify_indexes", False)])
    outcome = night_outcome(night, {}, done())
    assert outcome.reported == ("customer", "orders")
    assert outcome.problem() == (
        "night of 2026-11-20: table orders did not pass check_verify_indexes: "
        "check 0: found 3, expected 0 (reports of customer, orders are published)"
    )


def test_the_first_gate_that_stopped_a_table_is_the_one_named(night: Night) -> None:
    for stage in ("write_report", "parse_query_logs"):
        publish_verdicts(night, stage, [verdict("orders", stage, False)])
    (stopped,) = night_outcome(night, {}, done()).stopped
    assert stopped.stage == "parse_query_logs"


def test_verdicts_and_reports_of_an_earlier_run_do_not_count(night: Night) -> None:
    publish_verdicts(night, "score_votes", [verdict("orders", "score_votes", False)])
    outcome = night_outcome(night, {"parse_query_logs": "no log"}, done("collect_segment_metadata"))
    assert (outcome.stopped, outcome.reported, outcome.missing) == ((), (), ())
    assert outcome.problem() == "night of 2026-11-20: parse_query_logs failed: no log (no report)"


def test_a_table_that_has_segments_and_no_report_is_missed(night: Night) -> None:
    night.publish("damaged_segments", {"nation": Part(())})
    assert night_outcome(night, {}, done()).missing == ("nation",)


def test_tables_that_the_run_is_not_about_do_not_count(night: Night) -> None:
    publish_verdicts(night, "score_votes", [verdict("orders", "score_votes", False)])
    only = Night(
        night.run_date, night.store, night.settings, night.started_at, "test", tables=frozenset({"customer"})
    )
    assert night_outcome(only, {}, done()).problem() is None
