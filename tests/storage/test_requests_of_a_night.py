"""Requests that old nights make to a store in the network."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.retention import retire_nights
from starskip.storage.vacuum import vacuum

GRACE = timedelta(days=1)
NIGHTS = tuple((date(2026, 11, 1) + timedelta(days=day)).isoformat() for day in range(12))
ARTEFACTS = tuple(f"a{number}" for number in range(6))


class Counting:
    """A storage that counts the requests that it gets."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.requests = inner, 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        def call(*arguments: Any) -> Any:
            self.requests += 1
            return method(*arguments)

        return call


def test_a_listing_an_artefact_and_a_reading_of_old_nights_and_the_newest(support: SimpleNamespace) -> None:
    counting = Counting(support.MemoryStorage())
    store = support.store_on(counting)
    for night in NIGHTS:
        for artefact in ARTEFACTS:
            file = store.staged_write(artefact, night).write_file("a", "f", b"x")
            store.publish(artefact, night, {"a": Part((file,))}, replace="all", **support.CREATED)
    now = datetime.fromtimestamp(counting.inner.now_s, UTC) + 2 * GRACE
    listings, readings = 1 + len(ARTEFACTS), len(ARTEFACTS) * len(NIGHTS)

    def requests_to_retire(nights: int) -> int:
        counting.requests = 0
        retire_nights(store, nights=nights, days={}, now=now, grace=GRACE, created_by="test", dry_run=True)
        return counting.requests

    assert requests_to_retire(len(NIGHTS)) == listings
    # The old night, and the newest, which has every table.
    assert requests_to_retire(len(NIGHTS) - 1) == listings + 2 * len(ARTEFACTS)
    counting.requests = 0
    assert vacuum(store, now=now, grace=GRACE).removed == ()
    assert counting.requests == listings + readings
    counting.requests = 0
    assert store.run_dates("a0") == NIGHTS
    assert counting.requests == 1


def test_a_reader_asks_once_for_each_artefact_and_sees_what_it_publishes(support: SimpleNamespace) -> None:
    counting = Counting(support.MemoryStorage())
    store = support.store_on(counting)
    support.publish(store, {"a": 1})
    reader = store.read_once()

    def generations() -> dict[str, int]:
        parts = reader.snapshot("numbers", support.NIGHT).parts()
        return {table: part.properties["generation"] for table, part in parts.items()}

    assert reader.snapshot("numbers", "2026-11-17") is None
    assert generations() == {"a": 1}
    counting.requests = 0
    assert reader.snapshot("numbers", "2026-11-17") is None
    assert generations() == {"a": 1}
    assert counting.requests == 0
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
