"""A night over a store whose ledger holds decisions and applications."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from starskip.advisor.deployment.advised_change import change_of_night
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.ledger import add_entries, ledger_entries
from starskip.advisor.ledger.standing import LEAST_APPLICATIONS
from starskip.advisor.ledger.standing import approved as approved_now
from starskip.night.note_applied import GONE

DECIDED = datetime(2026, 11, 19, 8, tzinfo=UTC)
AGAIN = ("select_indexes", "write_report")


def test_what_was_rejected_is_left_out_and_what_was_missed_widens_intervals(lab: Any) -> None:
    night = lab.run()
    advice = change_of_night(night, "lineitem")
    before = lab.report("lineitem")
    first = advice.indexes[0]
    rejected = LedgerEntry("lineitem", DECIDED, "ann", Event.REJECTED, first, advice.source, "no <b>room</b>")
    kept = [
        replace(
            rejected,
            table="airlineStats",
            event=Event.KEPT,
            reason="measured",
            application=f"a{number}",
            interval=(0.4, 0.6),
            table_predicted_saving_ratio=0.5,
            table_measured_saving_ratio=0.3,
        )
        for number in range(LEAST_APPLICATIONS)
    ]
    add_entries(night.store, [rejected, *kept], created_at=DECIDED, created_by="test")
    lab.run(night, AGAIN)
    again, after = change_of_night(night, "lineitem"), lab.report("lineitem")
    # Saves more by itself than beside the others, and stays away all the same.
    assert first.name not in [each.name for each in again.indexes]
    (refused,) = [each for each in after["refused"] if each["reason"] == "decided_against"]
    assert refused["columns"] == list(first.columns)
    assert "rejected on 2026-11-19: no <b>room</b>" in refused["detail"]
    # Each saving was two half widths of its interval below the predicted one.
    assert (before["interval_factor"], after["interval_factor"]) == (1.0, pytest.approx(2.0))
    assert "Intervals are 2 times as wide" in lab.markdown("lineitem")
    assert before["applied"] is None and after["applied"] is None
    told = lab.report("airlineStats")["applied"]
    assert [each["outcome"] for each in told["changes"]] == ["kept"] * LEAST_APPLICATIONS
    assert told["drift"] == "measured savings are 20.0 % of all entries less than predicted (5 applications)"


TREE: dict[str, Any] = {
    "dimensionsSplitOrder": ["l_shipmode", "l_linestatus"],
    "functionColumnPairs": ["COUNT__*", "SUM__l_tax"],
    "maxLeafRecords": 10_000,
}


def test_what_is_approved_is_seen_applied_in_the_config_once_and_gone_when_it_is_gone(lab: Any) -> None:
    night = lab.run()
    advice = change_of_night(night, "lineitem")
    first = next(each for each in advice.indexes if each.family == "inverted")
    tree = AdvisedIndex(
        "star_tree", ("l_shipmode",), {"tableIndexConfig": {"starTreeIndexConfigs": [TREE]}}, 0.1
    )
    other = AdvisedIndex("inverted", ("l_tax",), {"tableIndexConfig": {"invertedIndexColumns": ["l_tax"]}})
    approved = [
        LedgerEntry("lineitem", DECIDED, "ann", Event.APPROVED, index, advice.source, interval=(0.4, 0.6))
        for index in (first, tree, other)
    ]
    add_entries(night.store, approved, created_at=DECIDED, created_by="test")
    config = lab.root / "lineitem.json"
    night = replace(night, table_config_paths=[str(config)])

    def seen_with(columns: list[str], trees: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
        before = len(ledger_entries(night.store))
        held = {"invertedIndexColumns": columns, "starTreeIndexConfigs": trees}
        config.write_text(
            json.dumps({"tableName": "lineitem_OFFLINE", "tableType": "OFFLINE", "tableIndexConfig": held})
        )
        lab.run(night, ["select_indexes"])
        new = ledger_entries(night.store)[before:]
        return sorted((each.index.name, each.event.value, each.reason) for each in new)

    # The order of a tree's functions means nothing.
    written = {**TREE, "functionColumnPairs": ["SUM__l_tax", "COUNT__*"]}
    assert seen_with(list(first.columns), [written]) == [
        (first.name, "applied", ""),
        (tree.name, "applied", ""),
    ]
    newest = ledger_entries(night.store)[-1]
    assert (newest.who, newest.source, newest.interval) == (
        "the night of 2026-11-20",
        advice.source,
        (0.4, 0.6),
    )
    assert seen_with(list(first.columns), [written]) == []
    richer = {
        **written,
        "functionColumnPairs": ["SUM__l_tax", "COUNT__*", "MAX__l_tax"],
        "maxLeafRecords": 1000,
    }
    assert seen_with(["l_linestatus", *first.columns], [richer]) == [], "applied with more than was advised"
    assert seen_with(list(first.columns), []) == [(tree.name, "taken_back", GONE)]
    assert seen_with(list(first.columns), []) == []
    assert seen_with(list(first.columns), [written]) == [(tree.name, "applied", "")]
    # What is applied is not approved any more, what was never seen still is.
    assert [each.index.name for each in approved_now(ledger_entries(night.store))] == [other.name]


@pytest.mark.slow
def test_what_is_applied_is_not_gone_in_a_night_without_the_config(lab: Any) -> None:
    """Segments of a deep store lack the indexes that servers build from the config."""
    night = lab.run()
    advice = change_of_night(night, "lineitem")
    first = next(each for each in advice.indexes if each.family == "inverted")
    applied = LedgerEntry("lineitem", DECIDED, "ann", Event.APPLIED, first, advice.source)
    add_entries(night.store, [applied], created_at=DECIDED, created_by="test")
    lab.run(replace(night, table_config_paths=[]), ["select_indexes"])
    assert [each.event for each in ledger_entries(night.store)] == [Event.APPLIED]
