"""Expire the nights of an artefact that are past their retention.

Every table keeps its newest nights of each artefact, whatever became of the other tables: the last report of
a table that a gate has stopped for months stays. One more manifest, without the table's part, removes a
night; the vacuum removes its files when no reader can still need them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from starskip.errors import CommitConflict, StorageError
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage import StoredObject

_NOT_BY_TABLE = ("rejected_records",)
"""A table name here may be any word of a log, and each would keep nights of its own for ever."""


@dataclass(frozen=True, slots=True)
class OldParts:
    """The tables of one artefact and night that are past their time, with what they hold."""

    artefact: str
    run_date: str
    parts: Mapping[str, Part]

    @property
    def size_bytes(self) -> int:
        """Bytes of their files."""
        return sum(file.size_bytes for part in self.parts.values() for file in part.files)


@dataclass(frozen=True, slots=True)
class Retired:
    """The expired parts.

    ``settled``: keys of manifest logs whose night is past. ``left_alone``: the others, with the reason.
    """

    old: tuple[OldParts, ...]
    settled: frozenset[str]
    left_alone: tuple[tuple[str, str], ...]

    @property
    def size_bytes(self) -> int:
        """Bytes that the vacuum will free."""
        return sum(each.size_bytes for each in self.old)

    @property
    def nights(self) -> tuple[str, ...]:
        """Return the nights that lost a part, oldest first."""
        return tuple(sorted({each.run_date for each in self.old}))


def retire_nights(
    store: ArtefactStore,
    *,
    nights: int,
    now: datetime,
    grace: timedelta,
    created_by: str,
    tables: Collection[str] | None = None,
    dry_run: bool = False,
) -> Retired:
    """Remove all but the newest ``nights`` of each artefact and table; with ``dry_run`` only report.

    ``now`` is the store's own time (``store_clock``), by which its objects are stamped.
    ``tables``: the only ones to touch; None means all. Artefacts that are not divided by table go whatever
    ``tables`` says. A night with anything published within ``grace`` before ``now`` is left alone: it is
    being run again. A reader keeps the files that its snapshot names until a vacuum with the same grace. Cut
    short at any moment everything stays readable, and the next call goes on. Raises ValueError if no night
    would be kept, and StorageError if the store cannot be listed.
    """
    if nights < 1:
        raise ValueError("retention must keep at least one night")
    old: list[OldParts] = []
    settled: set[str] = set()
    left_alone: list[tuple[str, str]] = []
    listed = {artefact: store.manifests(artefact) for artefact in store.artefacts()}
    busy = _busy_nights(listed.values(), now - grace)
    for artefact, manifests in listed.items():
        past = set(sorted(manifests)[:-nights]) - busy
        if not past:
            continue
        try:
            newest = {
                night: store.chain(artefact, night).newest_whole(versions)
                for night, versions in manifests.items()
            }
            of_nights = {night: found.parts if found else {} for night, found in newest.items()}
        except StorageError as error:
            left_alone.append((artefact, str(error)))
            continue
        settled.update(store.chain(artefact, night).key for night in past)
        wanted = None if artefact in _NOT_BY_TABLE else tables
        # A night without a readable manifest has nothing left to keep.
        old += [OldParts(artefact, night, {}) for night in sorted(past) if newest[night] is None]
        old += [each for each in _old_parts(artefact, of_nights, nights, wanted) if each.run_date in past]
    # Only now is anything published, which would make its night look as if it were being run again.
    for each in [] if dry_run else list(old):
        try:
            _withdraw(store, each, now, created_by)
        except (StorageError, CommitConflict) as error:
            left_alone.append((store.chain(each.artefact, each.run_date).key, str(error)))
            old.remove(each)
    return Retired(tuple(old), frozenset(settled), tuple(left_alone))


def _old_parts(
    artefact: str,
    of_nights: Mapping[str, Mapping[str, Part]],
    nights: int,
    wanted: Collection[str] | None,
) -> list[OldParts]:
    newest_first = sorted(of_nights, reverse=True)
    kept: dict[str, int] = {}
    old = []
    for position, night in enumerate(newest_first):
        doomed = {}
        for table, part in of_nights[night].items():
            seen = position if artefact in _NOT_BY_TABLE else kept.get(table, 0)
            if seen >= nights and (wanted is None or table in wanted):
                doomed[table] = part
            kept[table] = kept.get(table, 0) + 1
        if doomed:
            old.append(OldParts(artefact, night, doomed))
    return sorted(old, key=lambda each: each.run_date)


def _busy_nights(listed: Iterable[Mapping[str, Mapping[int, StoredObject]]], since: datetime) -> set[str]:
    """Return the nights with anything published since then, be it one artefact alone."""
    oldest_ns = int(since.timestamp() * 1_000_000_000)
    return {
        night
        for manifests in listed
        for night, versions in manifests.items()
        if any(stored.modified_ns >= oldest_ns for stored in versions.values())
    }


def _withdraw(store: ArtefactStore, old: OldParts, now: datetime, created_by: str) -> None:
    def change(published: Mapping[str, Part]) -> Mapping[str, Part]:
        # A part that a run has published anew meanwhile is no longer too old.
        return {table: part for table, part in published.items() if old.parts.get(table) != part}

    store.chain(old.artefact, old.run_date).commit(
        change, commit_id=uuid4().hex, created_at=now, created_by=created_by
    )
