"""The ledger: entries are only added, and tell what is approved and what must not be proposed again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from starskip.advisor.latency.shape_times import TimeSaving
from starskip.advisor.ledger.advised_index import AdvisedChange, AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.export_ledger import export_ledger
from starskip.advisor.ledger.ledger import add_entries, ledger_entries, newest_entries
from starskip.advisor.ledger.standing import (
    approved,
    drift,
    interval_factors,
    newest_by_index,
    newest_decisions,
    refused_again,
    reload_rate,
)
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage

DAY = datetime(2026, 11, 18, 9, tzinfo=UTC)


def entry(
    event: Event, column: str = "city", day: int = 0, table: str = "events", **more: object
) -> LedgerEntry:
    config = {"tableIndexConfig": {"invertedIndexColumns": [column]}}
    # By itself it saves more than beside the others of its advice.
    index = AdvisedIndex("inverted", (column,), config, 0.1, None, 1_000, ("s1",), alone_ratio=0.2)
    return LedgerEntry(
        table, DAY + timedelta(days=day), "ann", event, index, "2026-11-18", interval=(0.1, 0.3), **more
    )  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> ArtefactStore:
    return ArtefactStore(LocalStorage(tmp_path / "store"))


def add(store: ArtefactStore, *entries: LedgerEntry) -> None:
    add_entries(store, entries, created_at=DAY, created_by="test")


def test_entries_come_back_as_they_went_in_and_in_their_order(store: ArtefactStore) -> None:
    first = entry(Event.DEFERRED, until=date(2026, 12, 1), reason="after the sale")
    second = entry(Event.APPROVED, day=1)
    kept = entry(
        Event.KEPT,
        day=2,
        application="a1",
        measured_saving_ratio=0.19,
        table_predicted_time=TimeSaving(60.0, 30.0, 27.0, 33.0),
        reloaded_bytes=10,
        reload_seconds=2.0,
    )
    other = entry(Event.REJECTED, table="orders")
    add(store, first)
    add(store, second, other)
    add(store, kept)
    assert ledger_entries(store, "events") == [first, second, kept]
    assert ledger_entries(store) == [first, other, second, kept]
    assert ledger_entries(store, "none") == []


def test_an_empty_ledger_has_no_entries(store: ArtefactStore) -> None:
    add(store)
    assert ledger_entries(store) == []


def test_only_the_newest_word_on_an_index_counts() -> None:
    said = [
        entry(Event.APPROVED, "city"),
        entry(Event.APPROVED, "url"),
        entry(Event.REJECTED, "url", day=1),
        entry(Event.APPROVED, "gone"),
        entry(Event.KEPT, "gone", day=1),
    ]
    assert [each.index.columns for each in approved(said)] == [("city",)]
    assert newest_by_index(said)["inverted:url"].event is Event.REJECTED


@pytest.mark.parametrize(
    ("event", "days", "saving", "is_refused"),
    [
        (Event.REJECTED, 10, 0.2, True),
        (Event.REFUTED, 10, 0.2, True),
        (Event.TAKEN_BACK, 10, 0.29, True),
        (Event.REFUTED, 10, 0.31, False),  # grown by half
        (Event.REFUTED, 30, 0.2, False),  # the cool-down is over
        (Event.KEPT, 1, 0.2, False),
        (Event.APPROVED, 1, 0.2, False),
    ],
)
def test_refused_advice_waits_for_its_time_or_for_a_greater_saving(
    event: Event, days: int, saving: float, is_refused: bool
) -> None:
    said = newest_decisions([entry(event, reason="no room")])
    today = (DAY + timedelta(days=days)).date()
    why = refused_again("inverted:city", saving, said, today, cool_down_days=30, gain_ratio=0.5)
    assert bool(why) is is_refused
    if is_refused:
        assert "2026-11-18: no room; it is proposed again from 2026-12-18 on" in why
    assert refused_again("inverted:other", saving, said, today, cool_down_days=30, gain_ratio=0.5) == ""


@pytest.mark.parametrize("name", ["star_tree:a,b", "star_tree:b,a", "star_tree:b,a#ffffff"])
def test_a_rejected_tree_of_other_functions_or_another_order_waits_too(name: str) -> None:
    tree = AdvisedIndex("star_tree", ("a", "b"), {}, 0.1, variant="abc123", alone_ratio=0.2)
    said = newest_decisions([replace(entry(Event.REJECTED), index=tree)])
    rules = {"cool_down_days": 30, "gain_ratio": 0.5}
    assert refused_again(name, 0.25, said, DAY.date(), **rules)
    assert not refused_again("star_tree:a,b,c", 0.25, said, DAY.date(), **rules)


def test_a_saving_that_has_not_grown_is_no_reason_to_ask_again() -> None:
    nothing = replace(entry(Event.REJECTED).index, alone_ratio=0.0)
    for index, saving in ((nothing, 0.0), (entry(Event.REJECTED).index, 0.2)):
        said = newest_decisions([replace(entry(Event.REJECTED), index=index)])
        assert refused_again("inverted:city", saving, said, DAY.date(), cool_down_days=30, gain_ratio=0.0)


def test_a_deferred_index_comes_at_its_date_whatever_it_saves() -> None:
    said = newest_decisions([entry(Event.DEFERRED, until=date(2026, 12, 1))])
    rules = {"cool_down_days": 30, "gain_ratio": 0.5}
    assert refused_again("inverted:city", 0.9, said, date(2026, 11, 30), **rules)
    assert refused_again("inverted:city", 0.2, said, date(2026, 12, 1), **rules) == ""


def test_the_rate_of_reloading_counts_an_application_once() -> None:
    applied = {"application": "a1", "reloaded_bytes": 1_000, "reload_seconds": 20.0}
    said = [entry(Event.KEPT, "city", **applied), entry(Event.KEPT, "url", **applied)]
    assert reload_rate(said) == 50.0
    more = entry(Event.KEPT, application="a2", reloaded_bytes=5_000, reload_seconds=40.0)
    assert reload_rate([*said, more]) == 100
    quick = entry(Event.KEPT, application="a3", reloaded_bytes=9_000, reload_seconds=2.0)
    assert reload_rate([*said, quick]) == 50.0
    assert reload_rate([entry(Event.APPROVED)]) is None


def test_drift_is_told_in_words() -> None:
    applied = {"application": "a1", "table_predicted_saving_ratio": 0.85, "table_measured_saving_ratio": 0.8}
    assert drift([entry(Event.KEPT, **applied)]) == (
        "measured savings are 5.0 % of all entries less than predicted (1 application)"
    )
    assert drift([entry(Event.APPROVED)]) == ""


def test_intervals_grow_to_what_they_have_missed() -> None:
    def applied(number: int, measured: float) -> LedgerEntry:
        told = {"table_predicted_saving_ratio": 0.2, "table_measured_saving_ratio": measured}
        return entry(Event.KEPT, application=f"a{number}", **told)

    misses = [applied(number, 0.2 + 0.05 * number) for number in range(1, 6)]
    assert interval_factors(misses[:4]) == (1.0, 1.0)
    # 0.25 off, where the interval is 0.1 wide each way
    assert interval_factors(misses) == (pytest.approx(2.5), 1.0)
    assert interval_factors([applied(number, 0.21) for number in range(5)]) == (1.0, 1.0)


def test_intervals_in_time_grow_by_shares_of_the_time_that_log_and_replay_show() -> None:
    promised = TimeSaving(60.0, 30.0, 27.0, 33.0)
    applied = [
        entry(
            Event.KEPT,
            application=f"a{number}",
            table_predicted_time=promised,
            table_replayed_ms=20.0,
            table_measured_saving_ms=10.0 - number,
        )
        for number in range(5)
    ]
    # The worst saved 30 % of its time, where 45 to 55 % were promised.
    assert interval_factors(applied) == (1.0, pytest.approx(4.0))
    assert interval_factors(applied[:4]) == (1.0, 1.0)


def test_what_a_part_of_an_advice_saves_is_not_known() -> None:
    def index(column: str, *, is_drop: bool = False) -> AdvisedIndex:
        return AdvisedIndex("inverted", (column,), is_drop=is_drop)

    time = TimeSaving(60.0, 30.0, 27.0, 33.0)
    indexes = (index("city"), index("url"), index("old", is_drop=True))
    advice = AdvisedChange("t", "2026-11-18", indexes, 0.5, (0.4, 0.6), time)
    assert advice.only(["inverted:city", "inverted:url"]) == replace(advice, indexes=indexes[:2])
    part = advice.only(["inverted:city", "without_inverted:old"])
    assert (part.saving_ratio, part.interval, part.time) == (None, None, None)


def test_the_ledger_is_exported_as_one_delta_table(store: ArtefactStore, tmp_path: Path) -> None:
    from deltalake import DeltaTable

    add(store, entry(Event.APPROVED), entry(Event.REJECTED, table="orders"))
    assert export_ledger(store, tmp_path / "delta") == 2
    add(store, entry(Event.KEPT, day=1))
    assert export_ledger(store, tmp_path / "delta") == 3
    rows = DeltaTable(str(tmp_path / "delta")).to_pyarrow_table()
    assert sorted(rows.column("event").to_pylist()) == ["approved", "kept", "rejected"]
    assert rows.column("at").to_pylist()[0].tzinfo is not None


def test_the_newest_entries_stand_in_the_manifest_and_tell_what_lists_ask_for(store: ArtefactStore) -> None:
    applied = {
        "application": "a1",
        "table_predicted_saving_ratio": 0.5,
        "table_measured_saving_ratio": 0.4,
        "reloaded_bytes": 1_000,
        "reload_seconds": 20.0,
    }
    add(store, entry(Event.APPROVED), entry(Event.DEFERRED, "day", until=date(2026, 12, 1)))
    add(store, entry(Event.KEPT, day=1, **applied), entry(Event.APPROVED, table="orders"))
    add(store, entry(Event.APPROVED, day=2))
    found = newest_entries(store)
    for table in ("events", "orders"):
        everything, newest = ledger_entries(store, table), found[table]
        told = {name: each.event for name, each in newest_by_index(newest).items()}
        assert told == {name: each.event for name, each in newest_by_index(everything).items()}
        assert drift(newest) == drift(everything)
        assert reload_rate(newest) == reload_rate(everything)
    assert found["events"][0].until == date(2026, 12, 1)


def test_the_manifest_does_not_grow_with_every_entry(store: ArtefactStore) -> None:
    for day in range(60):
        measured = {"application": f"a{day}", "table_measured_saving_ratio": 0.4}
        add(store, entry(Event.KEPT, day=day, **measured))
    found = newest_entries(store)["events"]
    assert [each.application for each in found] == [f"a{day}" for day in range(40, 60)]
