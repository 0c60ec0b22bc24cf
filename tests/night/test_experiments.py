"""Experiments stand beside the advice of their night: neither sees nor changes what the other published."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from counting_storage import CountingStorage
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.ledger import add_entries, ledger_entries
from starskip.advisor.run.night import Night
from starskip.night.experiments import (
    experiment_of,
    experiments_of,
    note_experiment,
    run_note,
)
from starskip.night.expire_snapshots import expire_snapshots
from starskip.settings import Settings
from starskip.storage.artefact_store import EXPERIMENTS, ArtefactStore, Experiment
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part
from starskip.storage.retention import remove_old

AT = datetime(2026, 11, 21, 3, tzinfo=UTC)
CHANGED = {"advice.max_indexes": "3"}


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(date(2026, 11, 20), ArtefactStore(LocalStorage(tmp_path)), Settings(), AT, "scheduled__1")


def tried(night: Night, name: str = "x", changed: Mapping[str, str] = CHANGED) -> Night:
    store = replace(night.store, experiment=Experiment(night.date_text, name))
    return replace(night, store=store, run_id=f"manual__{name}", changed=changed)


def published(night: Night, artefact: str, run_date: str | None = None) -> set[str]:
    snapshot = night.store.snapshot(artefact, run_date or night.date_text)
    return set(snapshot.tables) if snapshot else set()


def test_what_an_experiment_publishes_is_seen_by_it_alone(night: Night) -> None:
    night.publish("reports", {"lineitem": Part(())})
    aside = tried(night)
    assert published(aside, "reports") == set()
    aside.publish("reports", {"orders": Part(())})
    assert published(aside, "reports") == {"orders"}
    assert published(tried(night, "y"), "reports") == set()
    assert published(night, "reports") == {"lineitem"}
    assert night.store.run_dates("reports") == (night.date_text,)
    assert night.store.artefacts() == ("reports",)


def test_an_experiment_reads_other_nights_and_a_later_night_does_not_read_it(night: Night) -> None:
    before = replace(night, run_date=date(2026, 11, 19))
    before.publish("recommendations", {"lineitem": Part(())})
    assert published(tried(night), "recommendations", before.date_text) == {"lineitem"}
    tried(night).publish("recommendations", {"lineitem": Part(())})
    later = replace(night, run_date=date(2026, 11, 21))
    assert published(later, "recommendations", night.date_text) == set()
    assert later.store.run_dates("recommendations") == (before.date_text,)


def test_an_experiment_adds_nothing_to_the_ledger(night: Night) -> None:
    entry = LedgerEntry(
        "lineitem", AT, "me", Event.REJECTED, AdvisedIndex("inverted", ("l_shipmode",)), "test"
    )
    add_entries(tried(night).store, [entry], created_at=AT, created_by="test")
    assert ledger_entries(night.store) == []
    add_entries(night.store, [entry], created_at=AT, created_by="test")
    assert len(ledger_entries(tried(night).store)) == 1


def test_experiments_of_a_night_are_listed_the_newest_first(night: Night) -> None:
    assert experiments_of(night) == ()
    for i, name in enumerate("ba"):
        note_experiment(replace(tried(night, name), started_at=AT + timedelta(hours=i)), ["lineitem"])
    note_experiment(tried(replace(night, run_date=date(2026, 11, 19))), [])
    found = experiments_of(night)
    assert [each.run_id for each in found] == ["manual__a", "manual__b"]
    assert found[0].tables == ("lineitem",)
    assert found[0].changes == "advice.max_indexes = 3"
    assert experiment_of(night, "b") == found[1]
    assert experiment_of(night, "no-such") is None


def test_a_run_says_what_sets_it_apart(night: Night) -> None:
    assert run_note(night) == ""
    assert run_note(tried(night)) == (
        "Experiment of run manual__x: advice.max_indexes = 3; it is not the night's advice."
    )
    assert "settings as configured" in run_note(tried(night, changed={}))
    assert "advice.max_indexes = 3" in run_note(replace(night, changed=CHANGED))
    assert len(run_note(tried(night, "x" * 999, {"a.b": "\n" * 9_999}))) <= 600


def test_retention_removes_experiments_with_the_nights_they_are_about(night: Night) -> None:
    for day in (18, 19, 20):
        each = replace(night, run_date=date(2026, 11, day))
        each.publish("reports", {"lineitem": Part(())})
        note_experiment(tried(each), ["lineitem"])
    later = {"now": datetime.now(UTC) + timedelta(days=2), "grace": timedelta(days=1)}
    early = {"now": datetime.now(UTC), "grace": timedelta(days=1)}
    assert list(remove_old(night.store, EXPERIMENTS, days=2, **early)) == []
    counting = CountingStorage(night.store.storage)
    assert list(remove_old(replace(night.store, storage=counting), EXPERIMENTS, days=3, **later)) == []
    assert counting.calls == {"folders_in": 2}, "of experiments, and of reports"
    assert len(list(remove_old(night.store, EXPERIMENTS, days=2, **later))) == 1
    left = night.store.storage.folders_in(EXPERIMENTS)
    assert left == ("2026-11-19", "2026-11-20")


def test_a_night_takes_old_experiments_away_with_its_old_nights(night: Night, tmp_path: Path) -> None:
    note_experiment(tried(replace(night, run_date=date(2026, 11, 1))), [])
    for written in tmp_path.rglob("*.json"):
        os.utime(written, (0, 0))
    night.publish("reports", {"lineitem": Part(())})
    settings = Settings().changed({"retention.query_days": 1})
    tidied = expire_snapshots(replace(night, settings=settings, started_at=datetime.now(UTC)))
    assert night.store.storage.folders_in(EXPERIMENTS) == ()
    assert tidied.vacuumed is not None
    assert any(name.startswith(EXPERIMENTS) for name in tidied.vacuumed.removed)
