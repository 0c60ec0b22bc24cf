"""Decisions: what stands approved after them is what will be applied, and what the pages say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.ledger.advised_index import AdvisedChange, AdvisedIndex
from starskip.advisor.ledger.decisions import MAX_REASON, Decision, decide, may_wait_for
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.index_states import index_states
from starskip.advisor.ledger.ledger import ledger_entries
from starskip.advisor.ledger.standing import approved_advice
from starskip.errors import MissingSource
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage

ADVISED_AT = datetime(2026, 11, 18, 9, tzinfo=UTC)
APPROVE = Decision(Event.APPROVED, "ann")
REJECT = Decision(Event.REJECTED, "ann", "no room")


def advice(*columns: str, source: str = "2026-11-18") -> AdvisedChange:
    indexes = tuple(AdvisedIndex("inverted", (each,)) for each in columns)
    return AdvisedChange("events", source, indexes, 0.5, (0.4, 0.6))


@pytest.fixture
def store(tmp_path: Path) -> ArtefactStore:
    return ArtefactStore(LocalStorage(tmp_path / "store"))


def applied(store: ArtefactStore) -> tuple[set[str], float | None]:
    """Return what the DAG would apply, and the saving that it would be judged by."""
    found = approved_advice("events", ledger_entries(store, "events"))
    return {each.columns[0] for each in found.indexes}, found.saving_ratio


def approved_states(store: ArtefactStore, of: AdvisedChange) -> set[str]:
    states = index_states(of.indexes, ledger_entries(store, "events"), ADVISED_AT)
    return {index.columns[0] for index in of.indexes if states[index.name].state == "approved"}


def test_indexes_approved_one_by_one_come_to_the_whole_advice(store: ArtefactStore) -> None:
    whole = advice("a", "b")
    decide(store, whole, APPROVE, ["inverted:a"])
    assert applied(store) == ({"a"}, None)  # what a part saves is not known
    decide(store, whole, APPROVE, ["inverted:b"])
    assert applied(store) == ({"a", "b"}, 0.5)
    assert approved_states(store, whole) == {"a", "b"}


def test_a_rejection_after_an_approval_leaves_a_part_whose_saving_is_not_known(store: ArtefactStore) -> None:
    whole = advice("a", "b")
    decide(store, whole, APPROVE)
    assert applied(store) == ({"a", "b"}, 0.5)
    decide(store, whole, REJECT, ["inverted:b"])
    assert applied(store) == ({"a"}, None)
    assert approved_states(store, whole) == {"a"}
    decide(store, whole, APPROVE, ["inverted:b"])  # which takes the rejection back
    assert applied(store) == ({"a", "b"}, 0.5)


def test_an_approval_of_another_night_stays_as_far_as_its_page_shows_it(store: ArtefactStore) -> None:
    decide(store, advice("a", "gone"), APPROVE)
    newer = advice("a", "b", source="2026-11-19")
    assert approved_states(store, newer) == {"a"}
    decide(store, newer, APPROVE, ["inverted:b"])
    assert applied(store) == ({"a", "b"}, 0.5)
    assert approved_states(store, newer) == {"a", "b"}


def test_a_set_chosen_beside_the_advice_is_applied_in_its_place(store: ArtefactStore) -> None:
    whole = advice("a", "b")
    decide(store, whole, APPROVE)
    decide(store, replace(advice("a", "c", source="2026-11-18 what-if"), saving_ratio=0.4), APPROVE)
    assert applied(store) == ({"a", "c"}, 0.4)
    assert approved_states(store, whole) == {"a"}  # b is open again
    decide(store, whole, APPROVE, ["inverted:b"])
    assert applied(store) == ({"a", "b", "c"}, None)
    decide(store, whole, APPROVE)  # all of it, and nothing else
    assert applied(store) == ({"a", "b"}, 0.5)


def test_a_decision_says_who_why_and_until_when_within_bounds(store: ArtefactStore) -> None:
    decide(store, advice("a"), replace(REJECT, reason="no\x1b[2J room " + "x" * 9_000))
    decide(store, advice("b"), Decision(Event.DEFERRED, "bob", "", date(2027, 1, 1)))
    rejected, deferred = ledger_entries(store, "events")
    assert (rejected.who, rejected.event, deferred.until) == ("ann", Event.REJECTED, date(2027, 1, 1))
    assert "\x1b" not in rejected.reason and len(rejected.reason) <= MAX_REASON + 20


@pytest.mark.parametrize(
    ("of", "names", "words"),
    [(advice("a"), ["inverted:x"], "is no index of"), (advice(), [], "changes nothing")],
)
def test_what_the_advice_does_not_have_cannot_be_decided_on(
    store: ArtefactStore, of: AdvisedChange, names: list[str], words: str
) -> None:
    with pytest.raises(MissingSource, match=words):
        decide(store, of, APPROVE, names)
    assert ledger_entries(store) == []


def test_the_key_of_an_index_is_short_plain_and_its_own() -> None:
    odd = [AdvisedIndex("inverted", (name,)) for name in ("a", "a\r\n", "a\n", "\ud800", "x" * 10_000)]
    keys = {each.key for each in odd}
    assert len(keys) == len(odd) and all(len(key) == 16 and key.isalnum() for key in keys)


def test_an_approval_that_another_one_comes_before_keeps_it(
    store: ArtefactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, others = advice("a", "b", "c"), ["inverted:c", "inverted:a"]

    def read_while_another_approves(*asked: Any) -> list[LedgerEntry]:
        found = ledger_entries(*asked)
        if others:
            decide(store, whole, APPROVE, [others.pop()])
        return found

    monkeypatch.setattr("starskip.advisor.ledger.decisions.ledger_entries", read_while_another_approves)
    decide(store, whole, Decision(Event.APPROVED, "bob"), ["inverted:b"])
    assert not others and applied(store)[0] == {"a", "b", "c"}


def test_one_defers_to_a_day_that_lies_ahead_and_is_still_seen() -> None:
    today = date(2026, 11, 30)
    days = {each: may_wait_for(today + timedelta(days=each), today) for each in (-1, 0, 1, 3650, 3651)}
    assert days == {-1: False, 0: False, 1: True, 3650: True, 3651: False}


def test_a_long_name_is_cut(store: ArtefactStore) -> None:
    (entry,) = decide(store, advice("a"), Decision(Event.APPROVED, "b\n" + "x" * 1000))
    assert len(entry.who) <= 100 and "\n" not in entry.who
