"""Requests that old nights make to a store in the network."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace

from counting_storage import CountingStorage
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.retention import retire_nights
from starskip.storage.vacuum import vacuum

GRACE = timedelta(days=1)
NIGHTS = tuple((date(2026, 11, 1) + timedelta(days=day)).isoformat() for day in range(12))
ARTEFACTS = tuple(f"a{number}" for number in range(6))


def test_a_listing_an_artefact_and_a_reading_of_old_nights_and_the_newest(support: SimpleNamespace) -> None:
    counting = CountingStorage(support.MemoryStorage())
    store = support.store_on(counting)
    for night in NIGHTS:
        for artefact in ARTEFACTS:
            file = store.staged_write(artefact, night).write_file("a", "f", b"x")
            store.publish(artefact, night, {"a": Part((file,))}, replace="all", **support.CREATED)
    now = datetime.fromtimestamp(counting.inner.now_s, UTC) + 2 * GRACE
    listings, readings = 1 + len(ARTEFACTS), len(ARTEFACTS) * len(NIGHTS)

    def requests_to_retire(nights: int) -> int:
        counting.calls.clear()
        retire_nights(store, nights=nights, days={}, now=now, grace=GRACE, created_by="test", dry_run=True)
        return counting.calls.total()

    assert requests_to_retire(len(NIGHTS)) == listings
    # The old night, and the newest, which has every table.
    assert requests_to_retire(len(NIGHTS) - 1) == listings + 2 * len(ARTEFACTS)
    counting.calls.clear()
    assert vacuum(store, now=now, grace=GRACE).removed == ()
    assert counting.calls.total() == listings + readings
    counting.calls.clear()
    assert store.run_dates("a0") == NIGHTS
    assert counting.calls.total() == 1


def test_nights_are_found_newest_first_without_a_listing_of_what_they_hold(support: SimpleNamespace) -> None:
    counting = CountingStorage(support.MemoryStorage())
    store = support.store_on(counting)
    for night in NIGHTS:
        support.publish(store, {"a": 1}, night=night)
    store.staged_write("numbers", "2026-12-01").write_file("a", "f", b"of a run that was killed")
    counting.inner.put_if_absent("numbers/Some Report/x.html", b"copied by somebody")
    counting.calls.clear()
    assert store.begun_nights("numbers") == ("2026-12-01", *reversed(NIGHTS))
    assert counting.calls == {"folders_in": 1}
    assert next(store.newer_nights("numbers")) == NIGHTS[-1]
    assert counting.calls == {"folders_in": 2, "objects_below": 2}
    assert list(store.newer_nights("numbers", than=NIGHTS[-3])) == [NIGHTS[-1], NIGHTS[-2]]
    assert counting.calls == {"folders_in": 3, "objects_below": 5}
    assert list(store.newer_nights("numbers", than="2026-12-01")) == []
    assert list(store.newer_nights("letters")) == []


def test_of_each_night_but_the_newest_two_manifests_are_kept_and_read(support: SimpleNamespace) -> None:
    counting = CountingStorage(support.MemoryStorage())
    counting.inner.now_s = datetime.fromisoformat(f"{NIGHTS[-1]}T00:00:00+00:00").timestamp()
    store = support.store_on(counting)
    groups = "abcdef"
    for night in NIGHTS:
        for group in groups:
            support.publish(store, {group: 1}, night=night)
    reader = store.snapshot("numbers", NIGHTS[0])
    now = datetime.fromtimestamp(counting.inner.now_s, UTC)
    assert vacuum(store, now=now, grace=GRACE).removed == ()
    removed = vacuum(store, now=now + 2 * GRACE, grace=GRACE).removed
    assert len(removed) == (len(NIGHTS) - 1) * (len(groups) - 2)
    counting.calls.clear()
    assert vacuum(store, now=now + 2 * GRACE, grace=GRACE).removed == ()
    assert counting.calls["read"] == 2 * (len(NIGHTS) - 1) + len(groups)
    # No part is only in a manifest that is gone.
    assert set(reader.read_table()["table"].to_pylist()) == set(groups)


def test_a_reader_asks_once_for_each_artefact_and_sees_what_it_publishes(support: SimpleNamespace) -> None:
    counting = CountingStorage(support.MemoryStorage())
    store = support.store_on(counting)
    support.publish(store, {"a": 1})
    reader = store.read_once()

    def generations() -> dict[str, int]:
        parts = reader.snapshot("numbers", support.NIGHT).parts()
        return {table: part.properties["generation"] for table, part in parts.items()}

    assert reader.snapshot("numbers", "2026-11-17") is None
    assert generations() == {"a": 1}
    counting.calls.clear()
    assert reader.snapshot("numbers", "2026-11-17") is None
    assert generations() == {"a": 1}
    assert counting.calls.total() == 0
    # What others publish, a reader does not see: its artefacts belong together.
    support.publish(store, {"b": 2})
    assert generations() == {"a": 1}
    # Its own commit is on top of theirs.
    support.publish(reader, {"c": 3})
    assert generations() == {"a": 1, "b": 2, "c": 3}
    assert store.snapshot("numbers", support.NIGHT) == reader.snapshot("numbers", support.NIGHT)


def test_what_a_reader_has_seen_does_not_travel(store: ArtefactStore, support: SimpleNamespace) -> None:
    support.publish(store, {"a": 1})
    reader = store.read_once()
    assert reader.snapshot("numbers", support.NIGHT) is not None
    support.publish(store, {"b": 2})
    travelled = pickle.loads(pickle.dumps(reader))
    assert set(travelled.snapshot("numbers", support.NIGHT).tables) == {"a", "b"}
