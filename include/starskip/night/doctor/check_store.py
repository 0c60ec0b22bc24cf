"""Check the store of artefacts by an object of our own, which is deleted again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

from starskip.advisor.run.night import Night
from starskip.night.doctor.finding import FAILED, OK, WARNING, counted
from starskip.storage.storage import PutVerdict, Storage
from starskip.storage.store_clock import PROBES

_MOST_SECONDS_APART = 60
_CONTENT, _OTHER = b"starskip doctor", b"starskip doctor, again"


def check_store(night: Night) -> Iterator[tuple[str, str]]:
    """Say whether the store keeps its promises, and what its clock shows. Raises StorageError."""
    storage = night.store.storage
    name = f"{PROBES}/doctor-{uuid4().hex}"
    try:
        yield from _promises(storage, name)
    finally:
        storage.delete(name)
    if storage.read(name) is not None:
        yield FAILED, f"{storage.place}: an object that was deleted is still there: old nights would never go"
    artefacts = night.store.artefacts()
    nights = night.store.run_dates("reports") if "reports" in artefacts else ()
    newest = f", the newest of {nights[-1]}" if nights else ""
    yield OK, f"{storage.place} holds reports of {counted(len(nights), 'night')}{newest}"


def _promises(storage: Storage, name: str) -> Iterator[tuple[str, str]]:
    place = storage.place
    if storage.put_if_absent(name, _CONTENT) is not PutVerdict.STORED:
        yield FAILED, f"{place}: a new object was taken for one that is there already"
        return
    second = storage.put_if_absent(name, _OTHER)
    if second is not PutVerdict.ALREADY_EXISTS or storage.read(name) != _CONTENT:
        yield (
            FAILED,
            f"{place}: writes over an object although it was asked not to (If-None-Match: *): two runs of a"
            " night would lose work; use a store that keeps this promise (docs/object-stores.md)",
        )
        return
    stamps = [found.modified_ns for found in storage.objects_below(PROBES) if found.name == name]
    if not stamps:
        yield FAILED, f"{place}: does not list an object that was just written, as nights need"
        return
    yield OK, f"{place}: an object was written, refused a second time, read and listed"
    ahead = datetime.now(UTC).timestamp() - stamps[0] / 1e9
    if abs(ahead) > _MOST_SECONDS_APART:
        words = "ahead of" if ahead > 0 else "behind"
        yield WARNING, f"this machine's clock is {abs(ahead):,.0f} s {words} the store's: let NTP set it"
