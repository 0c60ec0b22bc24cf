"""A night over a store whose ledger holds decisions and applications."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from starskip.advisor.deployment.advised_change import change_of_night
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.ledger import add_entries
from starskip.advisor.ledger.standing import LEAST_APPLICATIONS

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
