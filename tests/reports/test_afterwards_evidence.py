"""Applied changes beside the logs of later nights, from stored workloads.

Applications as the report tells them, from entries of the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from settings_with import settings_with
from starskip.advisor.latency.shape_times import TimeSaving
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.run.night import Night
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_table
from starskip.reports.advice_values import Interval
from starskip.reports.afterwards_evidence import Afterwards, LaterNight, afterwards
from starskip.reports.afterwards_words import afterwards_words, refuted_words
from starskip.reports.applied_evidence import MAX_CHANGES, applied_advice
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part

APPLIED = LedgerEntry(
    "t",
    datetime(2026, 11, 21, 2, tzinfo=UTC),
    "the night of 2026-11-20",
    Event.APPLIED,
    AdvisedIndex("inverted", ("city",), {}, 0.4),
    "2026-11-19",
    interval=(0.5, 0.7),
    table_predicted_saving_ratio=0.6,
)


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


def shape(name: str, queries: int, entries: int, post_filter: int = 0) -> ShapeWorkload:
    return ShapeWorkload(
        "t",
        name,
        "",
        "",
        queries=queries,
        entries_scanned_in_filter=entries,
        entries_scanned_post_filter=post_filter,
    )


@pytest.fixture
def night(tmp_path: Path) -> Night:
    """The night of 2026-11-21, over a store with the workload of 2026-11-19."""
    store = ArtefactStore(LocalStorage(tmp_path / "store"))
    night = Night(date(2026, 11, 21), store, settings_with(), datetime(2026, 11, 22, 2, tzinfo=UTC), "test")
    advised = replace(night, run_date=date(2026, 11, 19))
    rows = workload_table([shape("s1", 10, 800, 200), shape("unparsed:other", 1, 500)])
    staged = store.staged_write("workload", advised.date_text)
    advised.publish("workload", {"t": Part(staged.write("t", rows))})
    return night


def nothing() -> Iterator[Afterwards]:
    return iter(())


def test_each_night_adds_what_its_queries_of_known_shapes_save(night: Night) -> None:
    first = [shape("s1", 20, 600, 400), shape("s2", 20, 10**6)]
    (found,) = afterwards(night, "t", [APPLIED], first, nothing)
    # 20 queries of s1 would have read 2,000 entries, in filters and behind them.
    assert found.nights == (LaterNight(night.run_date, 0.5, None, 0.5),)
    next_night = replace(night, run_date=date(2026, 11, 22))
    (found,) = afterwards(next_night, "t", [APPLIED], [shape("s1", 10, 900)], lambda: [found])
    assert [each.saving_ratio for each in found.nights] == pytest.approx([0.5, 0.1])
    # A repeated night takes its own place, and those behind it come anew.
    (found,) = afterwards(night, "t", [APPLIED], [shape("s1", 10, 0)], lambda: [found])
    assert [each.saving_ratio for each in found.nights] == [1.0]


def test_before_it_was_applied_and_without_the_queries_of_its_night_nothing_is_compared(night: Night) -> None:
    asked = [shape("s1", 10, 100)]
    (early,) = afterwards(replace(night, run_date=date(2026, 11, 20)), "t", [APPLIED], asked, nothing)
    assert (early.nights, early.note) == ((), "")
    (gone,) = afterwards(night, "t", [replace(APPLIED, source="2026-11-10")], asked, nothing)
    assert (gone.nights, gone.note) == ((), "the queries of the advice's night are no longer kept")
    (of_file,) = afterwards(night, "t", [replace(APPLIED, source="advice.json")], asked, nothing)
    assert of_file.nights == ()
    assert "No later night is compared: it was not advised by" in afterwards_words(of_file)
    assert afterwards(night, "t", [replace(APPLIED, event=Event.TAKEN_BACK)], asked, nothing) == ()


def test_two_nights_below_the_interval_that_cover_enough_refute_a_prediction() -> None:
    change = Afterwards("2026-11-19", date(2026, 11, 21), (), 0.6, Interval(0.5, 0.7), None)

    def with_nights(*nights: tuple[float, float]) -> Afterwards:
        later = (LaterNight(date(2026, 11, 21 + i), s, None, c) for i, (s, c) in enumerate(nights))
        return replace(change, nights=tuple(later))

    assert not with_nights((0.3, 1.0)).is_refuted
    assert not with_nights((0.3, 1.0), (0.5, 1.0)).is_refuted
    assert not with_nights((0.3, 1.0), (0.3, 0.4)).is_refuted
    refuted = with_nights((0.6, 1.0), (0.3, 1.0), (0.9, 0.1), (0.2, 0.5))
    assert refuted.is_refuted
    assert refuted_words(refuted) == (
        "50–70 % of all entries were predicted, and later nights saved 30.0 % on 2026-11-22 and 20.0 % on "
        "2026-11-24."
    )
    assert not replace(refuted, interval=None).is_refuted


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
