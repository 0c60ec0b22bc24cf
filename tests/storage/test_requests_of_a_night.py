"""Requests that old nights make to a store in the network."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

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
