"""Publish and read artefacts by name and night, each a log of manifests over data files.

A stage writes its files aside, then publishes them in one commit that replaces exactly the intended tables.
An experiment, a run that tries other settings, has its artefacts of one night aside, in a folder of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from datetime import datetime
from typing import Literal
from uuid import uuid4

import pyarrow as pa

from starskip.errors import StorageError
from starskip.storage import lake_schemas, schemas
from starskip.storage.manifest import Manifest, Part
from starskip.storage.manifest_log import ManifestLog, SeenManifests
from starskip.storage.snapshot import Snapshot
from starskip.storage.staged_write import StagedWrite, require_written
from starskip.storage.storage import Storage, StoredObject

SCHEMAS: Mapping[str, pa.Schema] = {
    name.lower(): schema
    for module in (schemas, lake_schemas)
    for name, schema in vars(module).items()
    if isinstance(schema, pa.Schema)
}
"""The schema of each artefact by the artefact's name, which is the schema's name in small letters."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_KINDS = ("manifests", "data")

CURRENT = "current"
"""Stands for the night of metadata and built artefacts, which are current state and belong to no night."""


# No artefact's name begins so: neither a listing of artefacts nor the retention of nights finds experiments.
EXPERIMENTS = "_experiments"


@dataclass(frozen=True, slots=True)
class ArtefactStore:
    """Artefacts of one store; ``run_date`` is the night as ``2026-11-18``.

    ``experiment``: its own night is written to and read from a folder aside; everything else is the store's.
    ``seen``: if given, the store is asked once for the newest version of each artefact of a night.
    """

    storage: Storage
    schemas: Mapping[str, pa.Schema] = field(default_factory=lambda: SCHEMAS)
    experiment: Experiment | None = None
    seen: SeenManifests | None = field(default=None, compare=False, repr=False)

    def read_once(self) -> ArtefactStore:
        """Return the store as a process of one stage reads it: one version of each artefact of a night.

        What the process itself publishes is seen; current state is asked for each time.
        """
        return replaced(self, seen=SeenManifests())

    def chain(self, artefact: str, run_date: str) -> ManifestLog:
        """Return the manifest log of one artefact and night."""
        for name in (artefact, run_date):
            if not _NAME.fullmatch(name):
                raise StorageError(
                    f"{name}: not the name of an artefact or a night (2026-11-18)", location=name
                )
        aside = self.experiment
        above = f"{aside.folder}/" if aside is not None and aside.run_date == run_date else ""
        # Current state is changed by others meanwhile: groups of tables side by side, a person, apply_dag.
        seen = None if run_date == CURRENT else self.seen
        return ManifestLog(self.storage, f"{above}{artefact}/{run_date}", seen)

    def staged_write(self, artefact: str, run_date: str) -> StagedWrite:
        """Return a fresh folder for the files of one run."""
        folder = f"{self.chain(artefact, run_date).key}/data/{uuid4().hex}"
        return StagedWrite(self.storage, artefact, folder, self.schemas.get(artefact))

    def publish(
        self,
        artefact: str,
        run_date: str,
        parts: Mapping[str, Part],
        *,
        replace: Literal["tables", "all"],
        remove: Collection[str] = (),
        created_at: datetime,
        created_by: str,
    ) -> Manifest:
        """Publish ``parts``, which were staged before, as the newest version of that night.

        ``replace="tables"`` replaces exactly the tables that ``parts`` names and leaves the others, ``"all"``
        replaces the whole night; the tables ``remove`` go in the same commit. Publishing the same again
        changes nothing for readers. Raises ``StorageError`` if a file is not in the store with its reported
        size, and all errors of ``ManifestLog.commit``.
        """
        chain = self.chain(artefact, run_date)
        files = (file for part in parts.values() for file in part.files)
        require_written(self.storage, f"{chain.key}/data", files, "this step")

        def change(published: Mapping[str, Part]) -> Mapping[str, Part]:
            kept = {} if replace == "all" else published
            return {table: part for table, part in kept.items() if table not in remove} | dict(parts)

        return chain.commit(change, commit_id=uuid4().hex, created_at=created_at, created_by=created_by)

    def snapshot(self, artefact: str, run_date: str) -> Snapshot | None:
        """Return the newest version of that night, to be read to the end; None if there is none yet.

        Raises ``StorageError`` as ``ManifestLog.latest`` does.
        """
        manifest = self.chain(artefact, run_date).latest()
        if manifest is None:
            return None
        return Snapshot(self.storage, artefact, manifest, self.schemas.get(artefact))

    def run_dates(self, artefact: str) -> tuple[str, ...]:
        """Return the published nights, oldest first."""
        return tuple(sorted(self.manifests(artefact)))

    def begun_nights(self, artefact: str) -> tuple[str, ...]:
        """Return the nights that have a folder, newest first; one request, however much they hold.

        A run that was killed leaves a folder in which nothing was published.
        """
        return tuple(filter(_NAME.fullmatch, reversed(self.storage.folders_in(artefact))))

    def newer_nights(self, artefact: str, than: str = "") -> Iterator[str]:
        """Yield the published nights later than ``than``, newest first, each looked at when it is reached."""
        for night in self.begun_nights(artefact):
            if night <= than:
                return
            if self.chain(artefact, night).versions():
                yield night

    def manifests(self, artefact: str) -> Mapping[str, Mapping[int, StoredObject]]:
        """Return the listed manifests of an artefact, by night and version."""
        found = {
            night: self.chain(artefact, night).manifests(of) for night, of in self.objects(artefact).items()
        }
        return {night: manifests for night, manifests in found.items() if manifests}

    def objects(self, artefact: str) -> Mapping[str, Sequence[StoredObject]]:
        """Return the listed manifests and data files of an artefact, by night."""
        by_night: dict[str, list[StoredObject]] = {}
        # One listing of all nights, a thousand objects a request, is cheaper than a listing of each night.
        for stored in self.storage.objects_below(artefact):
            _, night, kind = [*stored.name.split("/"), "", ""][:3]
            # Other objects, such as reports that somebody copied here, are not ours.
            if kind in _KINDS and _NAME.fullmatch(night):
                by_night.setdefault(night, []).append(stored)
        return by_night

    def artefacts(self) -> tuple[str, ...]:
        """Return the sorted names of all artefacts that were ever written."""
        return tuple(name for name in self.storage.folders_in("") if _NAME.fullmatch(name))


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment: its night, and the file-safe name of its run."""

    run_date: str
    name: str

    @property
    def folder(self) -> str:
        """The folder of its artefacts, which is laid out as the store is."""
        return f"{EXPERIMENTS}/{self.run_date}/{self.name}"
