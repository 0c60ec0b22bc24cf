"""Remove old manifests, and data files that no kept manifest names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from starskip.errors import DamagedManifest, StorageError
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest_log import ManifestLog
from starskip.storage.retention import newest_night
from starskip.storage.storage import StoredObject


@dataclass(frozen=True, slots=True)
class VacuumReport:
    """The removed objects, and by key the manifest logs that were left alone, with the reason."""

    removed: tuple[str, ...]
    removed_bytes: int
    left_alone: tuple[tuple[str, str], ...]


def vacuum(
    store: ArtefactStore,
    *,
    now: datetime,
    grace: timedelta,
    keep_manifests: int = 10,
    settled: Collection[str] = (),
    artefacts: Collection[str] | None = None,
) -> VacuumReport:
    """Vacuum every night of every artefact; a doubtful chain is left alone, and its reason reported.

    ``now`` has a time zone and is the store's own time (``store_clock``): it is compared with the store's
    modification times. The newest night of each artefact keeps its newest ``keep_manifests``, and a night
    before it two: if the newest manifest is damaged, the next one counts. Each keeps every manifest that was
    the newest at any time within ``grace``. A chain whose key is in ``settled`` keeps one manifest, and none
    if that is empty and nothing came within ``grace``. ``artefacts``: the only ones to look at; None means
    all. Only manifests and data files are looked at.

    A reader is safe for ``grace`` after its snapshot was overtaken, a writer if it publishes within
    ``grace`` of writing its first file, and a commit if it takes less than ``grace`` itself: all three
    hold for any steps shorter than the grace, whatever runs at the same time.
    """
    if keep_manifests < 1:
        raise ValueError("a vacuum must keep at least one manifest")
    oldest_kept_ns = int((now - grace).timestamp() * 1_000_000_000)
    removed: list[StoredObject] = []
    left_alone: list[tuple[str, str]] = []
    for artefact in store.artefacts():
        if artefacts is not None and artefact not in artefacts:
            continue
        try:
            by_night = store.objects(artefact)
        except StorageError as error:
            left_alone.append((artefact, str(error)))
            continue
        newest = newest_night(by_night, now)
        for run_date, listed in sorted(by_night.items()):
            chain = store.chain(artefact, run_date)
            try:
                is_settled = chain.key in settled
                # Each vacuum reads all the manifests that it keeps, of a year of nights.
                is_past = newest is not None and run_date < newest.isoformat()
                keep = 1 if is_settled else min(keep_manifests, 2 if is_past else keep_manifests)
                for stored in _unneeded(chain, listed, oldest_kept_ns, keep, may_end=is_settled):
                    chain.storage.delete(stored.name)
                    removed.append(stored)
            except StorageError as error:
                left_alone.append((chain.key, str(error)))
    return VacuumReport(
        tuple(stored.name for stored in removed),
        sum(stored.size_bytes for stored in removed),
        tuple(left_alone),
    )


def _unneeded(
    chain: ManifestLog,
    listed: Sequence[StoredObject],
    oldest_kept_ns: int,
    keep_manifests: int,
    *,
    may_end: bool,
) -> Sequence[StoredObject]:
    # One listing comes before every reading: a commit that comes later can name, beside files that its
    # writer wrote within the grace, only files of a manifest that this listing shows and that is kept.
    manifests = chain.manifests(listed)
    others = [stored for stored in listed if chain.version_of(stored.name) is None]
    old = [stored for stored in others if stored.modified_ns < oldest_kept_ns]
    if not manifests:
        # A run was killed before its first commit. Asked again: all would be lost by a listing with gaps.
        return () if chain.versions() else old
    newest = max(manifests)
    is_quiet = all(stored.modified_ns < oldest_kept_ns for stored in listed)
    if may_end and is_quiet and _is_empty(chain, newest):
        chain.end(newest)
        # The last manifest goes last: cut short, a chain is not taken for one that was never published.
        return [*(manifests[version] for version in sorted(manifests)[:-1]), *others, manifests[newest]]
    # A manifest was the newest until its successor came, which may be long after it was written.
    in_use = [
        version
        for version, stored in manifests.items()
        if version > newest - keep_manifests
        or stored.modified_ns >= oldest_kept_ns
        or version + 1 not in manifests
        or manifests[version + 1].modified_ns >= oldest_kept_ns
    ]
    # Manifests first, oldest first: cut short, this leaves files too many, never a manifest without
    # its files.
    doomed = [manifests[version] for version in sorted(manifests) if version < min(in_use)]
    if not old and not doomed:
        return ()
    needed: set[str] = set()
    for version in (version for version in manifests if version >= min(in_use)):
        try:
            parts = chain.read(version).parts
        except DamagedManifest:
            successor = manifests.get(version + 1)
            if successor is None:
                raise
            if successor.modified_ns >= oldest_kept_ns:
                # Whoever read it before it was damaged may still need files that nobody can name now.
                return ()
            continue
        needed.update(file.name for part in parts.values() for file in part.files)
    return [*doomed, *(stored for stored in old if stored.name not in needed)]


def _is_empty(chain: ManifestLog, version: int) -> bool:
    try:
        return not chain.read(version).parts
    except DamagedManifest:
        return False
