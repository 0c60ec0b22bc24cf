"""The list of a table's files as a tree keeps it, and what has become of them since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from starskip.artefacts.aside import Aside
from starskip.artefacts.manifest import DataFile
from starskip.artefacts.storage import Storage
from starskip.errors import MissingSource, SourceError
from starskip.files.file_identity import FileIdentity, is_racy
from starskip.files.open_file import open_file
from starskip.star_tree.build.source_listing import list_source
from starskip.star_tree.build.source_table import SourceTable
from starskip.star_tree.build.tree_files import naming_damage, read_rows, write_rows

_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file as it was when a tree was built of it.

    ``digest`` is kept for a file that was written at about that time: a later change of it might leave its
    size and time as they are (files.file_identity.is_racy), but not its content.
    """

    identity: FileIdentity
    partition: Mapping[str, str]
    digest: str | None


@dataclass(frozen=True, slots=True)
class SourceChanges:
    """What differs from the recorded files, by path; all sorted."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]

    @property
    def is_none(self) -> bool:
        """Whether all is as it was."""
        return not (self.added or self.changed or self.gone)

    @property
    def is_growth(self) -> bool:
        """Whether there are new files and nothing else."""
        return bool(self.added) and not self.changed and not self.gone


def recorded_files(source: SourceTable, *, observed_at_ns: int) -> tuple[RecordedFile, ...]:
    """Return what is kept of the files, before they are read; ``observed_at_ns`` is when they were listed."""
    found = []
    for file in source.files:
        racy = is_racy(file.identity, observed_at_ns=observed_at_ns)
        digest = _digest(file.identity.path) if racy else None
        found.append(RecordedFile(file.identity, file.partition, digest))
    return tuple(found)


def require_unchanged(path: str, recorded: tuple[RecordedFile, ...]) -> None:
    """Raise SourceError naming a file that is not as it was recorded, after all of them were read."""
    changes = source_changes(path, recorded)
    if not changes.is_none:
        named = (*changes.changed, *changes.gone, *changes.added)[0]
        raise SourceError(f"{named}: was changed while it was read; run the build again", source=named)


def source_changes(path: str, recorded: Sequence[RecordedFile]) -> SourceChanges:
    """Compare the files that are there now with the recorded ones; SourceError if they are no one table."""
    try:
        listed = list_source(path)[1]
    except MissingSource:
        listed = ()
    return changes_since(recorded, [file.identity for file in listed])


def changes_since(recorded: Sequence[RecordedFile], listed: Sequence[FileIdentity]) -> SourceChanges:
    """Compare files that were listed with the recorded ones."""
    before = {file.identity.path: file for file in recorded}
    now = {identity.path: identity for identity in listed}
    changed = [name for name in before.keys() & now.keys() if _is_changed(before[name], now[name])]
    return SourceChanges(
        tuple(sorted(now.keys() - before.keys())),
        tuple(sorted(changed)),
        tuple(sorted(before.keys() - now.keys())),
    )


def settled_files(recorded: tuple[RecordedFile, ...], *, observed_at_ns: int) -> tuple[RecordedFile, ...]:
    """Return what is needed of files from now on that were found unchanged at that time.

    A file that was old enough then needs no digest any more: every later change moves its time.
    """
    return tuple(
        replace(file, digest=None)
        if file.digest is not None and not is_racy(file.identity, observed_at_ns=observed_at_ns)
        else file
        for file in recorded
    )


def write_recorded(aside: Aside, table: str, recorded: tuple[RecordedFile, ...]) -> DataFile:
    """Write the list as a file of the store."""
    rows = pa.table(
        {
            "identity": pa.array([file.identity.to_text() for file in recorded], pa.string()),
            "partition": pa.array([json.dumps(dict(file.partition)) for file in recorded], pa.string()),
            "digest": pa.array([file.digest for file in recorded], pa.string()),
        }
    )
    return write_rows(aside, table, "sources.parquet", rows)


def read_recorded(storage: Storage, name: str) -> tuple[RecordedFile, ...]:
    """Return the list that ``write_recorded`` wrote."""
    rows = read_rows(storage, name)
    with naming_damage(name):
        return tuple(
            RecordedFile(FileIdentity.from_text(row["identity"]), json.loads(row["partition"]), row["digest"])
            for row in rows.to_pylist()
        )


def _is_changed(before: RecordedFile, now: FileIdentity) -> bool:
    if before.identity != now:
        return True
    return before.digest is not None and _digest(now.path) != before.digest


def _digest(path: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open_file(path) as opened:
            while piece := opened.read(_READ_BYTES):
                digest.update(piece)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error})", source=path) from error
    return digest.hexdigest()
