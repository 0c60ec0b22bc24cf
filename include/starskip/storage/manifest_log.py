"""The versions of one artefact: a log of numbered manifests that grows by put-if-absent.

Optimistic concurrency as in Delta and Iceberg, with their hardest lesson: an answer that was lost is
not a conflict. It is read again, and nothing is deleted on an unknown outcome. A damaged manifest does not
stop anybody: the newest one that can be read stands in for it, and the next commit comes behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, TypeVar

from starskip.errors import CommitConflict, DamagedManifest, StorageError
from starskip.storage.manifest import Manifest, Part, manifest_bytes, manifest_from_bytes
from starskip.storage.storage import PutVerdict, Storage, StoredObject

_MANIFEST_NAME = re.compile(r"(\d{20})\.json")
MAX_ATTEMPTS = 100
"""Attempts to commit before CommitConflict is raised."""
_LATEST_ATTEMPTS = 10


Value = TypeVar("Value")


class Seen(dict[str, Value]):
    """Values that a process has looked up, by name; another process gets none and looks for itself."""

    def __reduce__(self) -> tuple[type[Seen[Value]], tuple[()]]:
        """Leave what was seen behind."""
        return Seen, ()


SeenManifests = Seen[Manifest | DamagedManifest | None]
"""The newest manifests by the keys of their logs; the error where there is none to read."""


@dataclass(frozen=True, slots=True)
class ManifestLog:
    """The manifests below ``key``, numbered from 1 without gaps; vacuum removes the oldest.

    No number is given twice, even if the chain has ended in between: a slow vacuum would take the new
    manifest for the old one. The newest is found by listing them, which stays cheap because vacuum keeps
    their number bounded. ``seen``: if given, holds the newest manifest once it was looked for or committed.
    """

    storage: Storage
    key: str
    seen: SeenManifests | None = field(default=None, compare=False, repr=False)

    def manifest_name(self, version: int) -> str:
        """Return the name under which that version is stored."""
        return f"{self.key}/manifests/{version:020d}.json"

    def version_of(self, name: str) -> int | None:
        """Return the version whose manifest has that name, None for any other name."""
        matched = _MANIFEST_NAME.fullmatch(name.removeprefix(f"{self.key}/manifests/"))
        return int(matched[1]) if matched else None

    def versions(self) -> tuple[int, ...]:
        """Return the versions that are kept, oldest first."""
        return tuple(sorted(self.listed()))

    def listed(self) -> Mapping[int, StoredObject]:
        """Return the manifests that are kept, unread, by their versions."""
        return self.manifests(self.storage.objects_below(f"{self.key}/manifests"))

    def manifests(self, listed: Iterable[StoredObject]) -> Mapping[int, StoredObject]:
        """Return the manifests among the objects of a listing by their versions."""
        by_version = ((self.version_of(stored.name), stored) for stored in listed)
        return {version: stored for version, stored in by_version if version is not None}

    def latest(self) -> Manifest | None:
        """Return the newest manifest that is whole; None if nothing was ever published here.

        Raises ``DamagedManifest`` if all manifests are damaged, and ``StorageError`` for a manifest of a
        later version of Starskip.
        """
        seen: SeenManifests = SeenManifests() if self.seen is None else self.seen
        if self.key not in seen:
            last, manifest = self._newest()
            try:
                seen[self.key] = self.read(last) if last and manifest is None else manifest
            except DamagedManifest as error:
                seen[self.key] = error
        found = seen[self.key]
        if isinstance(found, DamagedManifest):
            raise found
        return found

    def newest_whole(self, versions: Iterable[int]) -> Manifest | None:
        """Return the newest of ``versions`` that is neither damaged nor gone, None if there is none."""
        for version in sorted(versions, reverse=True):
            with suppress(DamagedManifest):
                manifest = self._read(version)
                if manifest is not None:
                    return manifest
        return None

    def read(self, version: int) -> Manifest:
        """Return that version; ``DamagedManifest`` if it is damaged, ``StorageError`` if no longer kept."""
        manifest = self._read(version)
        if manifest is None:
            name = self.manifest_name(version)
            raise StorageError(f"{name}: no such manifest; a vacuum may have removed it", location=name)
        return manifest

    def read_or_before(self, version: int) -> Manifest:
        """Return that version, or the newest whole one before it if it is damaged; errors as in ``read``."""
        try:
            return self.read(version)
        except DamagedManifest:
            found = self.newest_whole(each for each in self.versions() if each < version)
            if found is None:
                raise
            return found

    def end(self, version: int) -> None:
        """Note, before the last manifest is removed, that its number was ``version``; the note stays."""
        self.storage.put_if_absent(f"{self._ended}/{version:020d}", b"")

    def commit(
        self,
        change: Callable[[Mapping[str, Part]], Mapping[str, Part]],
        *,
        commit_id: str,
        created_at: datetime,
        created_by: str,
    ) -> Manifest:
        """Publish ``change`` of the newest parts as the next version and return its manifest.

        ``change`` maps the parts there are to the parts there shall be; when another writer came
        first it is applied again, to the newer parts. ``commit_id`` must be this commit's alone:
        it shows that a manifest whose put was answered with an error is our own. Raises ``CommitConflict``
        when others came first MAX_ATTEMPTS times, and ``StorageError`` when the store failed. After either
        the parts are as they were before or as ``change`` left them, and the same step can simply be run
        again.
        """
        attempted, failure = 0, None
        for _ in range(MAX_ATTEMPTS):
            last, newest = self._newest()
            # Asked after the listing: a put whose answer was lost may land late, but only on the version
            # it was sent for. Either that version is taken by now, and shows whose it is, or it is the
            # one that is tried again.
            own = self._own(attempted, commit_id)
            if own is not None:
                return self._committed(own)
            manifest = Manifest(
                version=1 + (last or self._ended_at()),
                commit_id=commit_id,
                created_at=created_at,
                created_by=created_by,
                parts=change({} if newest is None else newest.parts),
            )
            attempted, failure = manifest.version, None
            try:
                verdict = self.storage.put_if_absent(self.manifest_name(attempted), manifest_bytes(manifest))
            except StorageError as error:
                failure = error
            else:
                if verdict is PutVerdict.STORED:
                    return self._committed(manifest)
                # Even "already exists" may be our own work, by a request that was repeated on the way.
        own = self._own(attempted, commit_id)
        if own is not None:
            return self._committed(own)
        raise failure or CommitConflict(
            f"{self.key}: other writers came first {MAX_ATTEMPTS} times; run this step again"
        )

    def _committed(self, manifest: Manifest) -> Manifest:
        if self.seen is not None:
            self.seen[self.key] = manifest
        return manifest

    @property
    def _ended(self) -> str:
        # Apart from the artefacts, so that no listing of them grows with nights that are gone.
        return f"_ended/{self.key}"

    def _ended_at(self) -> int:
        notes = self.storage.objects_below(self._ended)
        return max((int(note.name.rpartition("/")[2]) for note in notes), default=0)

    def _newest(self) -> tuple[int, Manifest | None]:
        """Return the last version that is listed, 0 if there is none, and the newest one that is whole."""
        for _ in range(_LATEST_ATTEMPTS):
            versions = self.versions()
            if not versions:
                return 0, None
            with suppress(DamagedManifest):
                manifest = self._read(versions[-1])
                if manifest is None:
                    # Between listing and reading it was overtaken and vacuumed: there are newer ones.
                    continue
                return versions[-1], manifest
            return versions[-1], self.newest_whole(versions[:-1])
        raise StorageError(f"{self.key}: its newest manifest cannot be read", location=self.key)

    def _own(self, version: int, commit_id: str) -> Manifest | None:
        manifest = self.newest_whole([version]) if version else None
        return manifest if manifest is not None and manifest.commit_id == commit_id else None

    def _read(self, version: int) -> Manifest | None:
        name = self.manifest_name(version)
        content = self.storage.read(name)
        if content is None:
            return None
        manifest = manifest_from_bytes(content, location=name)
        if manifest.version != version:
            raise DamagedManifest(
                f"{name}: holds version {manifest.version}, so it was copied or renamed; run the step that "
                "wrote it again",
                location=name,
            )
        return manifest


class ListedManifest(NamedTuple):
    """A manifest's version and time: a chain that was begun anew repeats its numbers at other times."""

    version: int
    modified_ns: int


def newest_manifest(chain: ManifestLog) -> ListedManifest | None:
    """Return the newest manifest, unread; None if there is none."""
    listed = chain.listed()
    return max(
        (ListedManifest(version, stored.modified_ns) for version, stored in listed.items()), default=None
    )
