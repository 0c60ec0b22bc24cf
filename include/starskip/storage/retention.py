"""Expire the nights of an artefact that are past their retention.

Most artefacts keep their newest nights, and each table its newest one, whatever became of the other tables:
the last report of a table that a gate has stopped for months stays. Artefacts that hold literals of queries
keep nights by days instead, and no table's stay for longer. One more manifest, without the table's part,
removes a night; the vacuum removes its files when no reader can still need them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from uuid import uuid4

from starskip.errors import CommitConflict, StorageError
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage import StoredObject


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
    days: Mapping[str, int],
    now: datetime,
    grace: timedelta,
    created_by: str,
    tables: Collection[str] | None = None,
    dry_run: bool = False,
) -> Retired:
    """Remove all but the newest ``nights`` of each artefact; with ``dry_run`` only report.

    ``days``: by artefact, how many days back from the newest night of all these artefacts its nights are kept
    instead; they go whatever ``tables`` says, and the newest of a table too.
    ``now`` is the store's own time (``store_clock``), by which its objects are stamped.
    ``tables``: the only ones of which other artefacts are touched; None means all.

    A night with anything published within ``grace`` before ``now`` is left alone: it is being run again. A
    reader keeps the files that its snapshot names until a vacuum with the same grace. Cut short at any moment
    everything stays readable, and the next call goes on. Raises ValueError if no night would be kept, and
    StorageError if the store cannot be listed.
    """
    if nights < 1:
        raise ValueError("retention must keep at least one night")
    old: list[OldParts] = []
    settled: set[str] = set()
    left_alone: list[tuple[str, str]] = []
    listed = {artefact: store.manifests(artefact) for artefact in store.artefacts()}
    busy = _busy_nights(listed.values(), now - grace)
    newest_day = newest_night((night for each in days for night in listed.get(each, ())), now)
    for artefact, manifests in listed.items():
        by_days = artefact in days
        past = (
            _nights_before(manifests, newest_day, days[artefact])
            if by_days
            else set(sorted(manifests)[:-nights])
        ) - busy
        if not past:
            continue
        try:
            found = _old_parts(store, artefact, manifests, past)
            old += found if by_days else _without_newest(store, found, manifests, tables)
        except StorageError as error:
            left_alone.append((artefact, str(error)))
            continue
        settled.update(store.chain(artefact, night).key for night in past)
    # Only now is anything published, which would make its night look as if it were being run again.
    for each in [] if dry_run else list(old):
        try:
            _withdraw(store, each, now, created_by)
        except (StorageError, CommitConflict) as error:
            left_alone.append((store.chain(each.artefact, each.run_date).key, str(error)))
            old.remove(each)
    return Retired(tuple(old), frozenset(settled), tuple(left_alone))


def remove_old(
    store: ArtefactStore, folder: str, *, days: int, now: datetime, grace: timedelta
) -> Iterator[str]:
    """Remove what lies in ``folder`` about nights ``days`` or more before the newest; yield what was removed.

    Each night has a folder there. Below a night, a folder is removed as a whole, or kept if anything in it
    was written within ``grace`` before ``now``, the store's own time; and so is each object.
    """
    storage = store.storage
    dates = storage.folders_in(folder)
    oldest_kept_ns = int((now - grace).timestamp() * 1_000_000_000)
    newest = newest_night([*dates, *store.begun_nights("reports")], now)
    for run_date in sorted(_nights_before(dates, newest, days)):
        above, found = f"{folder}/{run_date}/", dict[str, list[StoredObject]]()
        for each in storage.objects_below(above.rstrip("/")):
            found.setdefault(each.name.removeprefix(above).partition("/")[0], []).append(each)
        for together in found.values():
            if all(each.modified_ns < oldest_kept_ns for each in together):
                for each in together:
                    storage.delete(each.name)
                    yield each.name


def newest_night(nights: Iterable[str], now: datetime) -> date | None:
    """Return the newest of the nights that are days, at most tomorrow; None if there is none."""
    # A night of a far day, run by mistake, must not make all others old.
    latest = now.date() + timedelta(days=1)
    return max((day for day in map(_day, nights) if day is not None and day <= latest), default=None)


def _nights_before(nights: Iterable[str], newest: date | None, days: int) -> set[str]:
    """Return the nights that lie ``days`` or more before ``newest``; none of what is no day."""
    if newest is None:
        return set()
    return {night for night in nights if (day := _day(night)) is not None and (newest - day).days >= days}


def _day(night: str) -> date | None:
    try:
        return date.fromisoformat(night)
    except ValueError:
        return None


_Listed = Mapping[str, Mapping[int, StoredObject]]


def _old_parts(
    store: ArtefactStore, artefact: str, manifests: _Listed, past: Collection[str]
) -> list[OldParts]:
    """Return all parts of the past nights; none of a night that was emptied before."""
    found = []
    for night in sorted(past):
        newest = store.chain(artefact, night).newest_whole(manifests[night])
        # A night without a readable manifest has nothing left to keep.
        if newest is None or newest.parts:
            found.append(OldParts(artefact, night, newest.parts if newest else {}))
    return found


def _without_newest(
    store: ArtefactStore, found: Sequence[OldParts], manifests: _Listed, tables: Collection[str] | None
) -> list[OldParts]:
    """Return the parts of ``tables`` (None: of all) of which there is a newer night."""
    missing = {table for each in found for table in each.parts}
    newest: dict[str, str] = {}
    # One night is read in all, unless a table is missing in it: a year of nights may be kept.
    for night in sorted(manifests, reverse=True):
        if not missing:
            break
        manifest = store.chain(found[0].artefact, night).newest_whole(manifests[night])
        of_night = missing.intersection(manifest.parts if manifest else ())
        newest |= dict.fromkeys(of_night, night)
        missing -= of_night
    kept = [
        (
            each,
            {
                table: part
                for table, part in each.parts.items()
                if newest.get(table, each.run_date) != each.run_date and (tables is None or table in tables)
            },
        )
        for each in found
    ]
    return [replace(each, parts=parts) for each, parts in kept if parts or not each.parts]


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
