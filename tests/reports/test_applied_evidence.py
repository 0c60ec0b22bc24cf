"""Applications as the report tells them, from entries of the ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from starskip.advisor.latency.shape_times import TimeSaving
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.reports.applied_evidence import MAX_CHANGES, applied_advice

AT = datetime(2026, 11, 18, 9, tzinfo=UTC)
CITY = LedgerEntry(
    "events",
    AT,
    "ann",
    Event.KEPT,
    AdvisedIndex("inverted", ("city",), {}, 0.2, 12.0, 1_000),
    "2026-11-17",
    application="a1",
    interval=(0.3, 0.5),
    measured_saving_ratio=0.18,
    measured_saving_ms=11.0,
    table_predicted_saving_ratio=0.4,
    table_measured_saving_ratio=0.38,
    table_predicted_time=TimeSaving(60.0, 30.0, 27.0, 33.0),
    table_replayed_ms=40.0,
    table_measured_saving_ms=10.0,
    detail="by the shape that it serves",
)
URL = replace(CITY, index=AdvisedIndex("inverted", ("url",), {}, 0.2))


def test_an_application_has_all_its_indexes_with_what_each_saved() -> None:
    approved = replace(CITY, event=Event.APPROVED, application="", at=AT - timedelta(hours=1))
    told = applied_advice([approved, CITY, URL])
    assert told is not None
    (change,) = told.changes
    assert [each.columns for each in change.indexes] == [("city",), ("url",)]
    assert (change.outcome, change.entries_words) == ("kept", "as predicted")
    # A quarter of the time was saved, where 45 to 55 % were promised: shares, since replay and log differ.
    assert change.measured_time_ratio == pytest.approx(0.25)
    assert change.time_words == "less than predicted"
    assert told.drift.startswith("measured savings are 2.0 % of all entries less")


def test_what_was_kept_and_is_taken_back_later_is_told_as_taken_back() -> None:
    later = AT + timedelta(days=1)
    back = [replace(each, event=Event.TAKEN_BACK, at=later, who="ben") for each in (CITY, URL)]
    told = applied_advice([CITY, URL, *back])
    assert told is not None
    (change,) = told.changes
    assert (change.outcome, change.at, change.who, len(change.indexes)) == ("taken_back", later, "ben", 2)


def test_the_newest_applications_come_first_and_the_others_are_counted() -> None:
    many = [replace(CITY, application=f"a{n}", at=AT + timedelta(days=n)) for n in range(MAX_CHANGES + 2)]
    told = applied_advice(many)
    assert told is not None
    assert (len(told.changes), told.earlier) == (MAX_CHANGES, 2)
    assert told.changes[0].at == many[-1].at
    assert applied_advice([replace(CITY, application="", event=Event.REJECTED)]) is None


def test_nothing_is_said_of_what_was_not_measured() -> None:
    unmeasured = replace(CITY, table_measured_saving_ratio=None, table_replayed_ms=None, interval=None)
    told = applied_advice([unmeasured])
    assert told is not None
    (change,) = told.changes
    assert (change.entries_words, change.time_words, change.measured_time_ratio) == ("", "", None)
