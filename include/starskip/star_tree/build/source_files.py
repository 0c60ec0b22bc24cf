"""The list of a table's files as a tree keeps it, and their changes since."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import pyarrow as pa

from starskip.errors import MissingSource, SourceError
from starskip.lake.open_lake_table import open_lake_table
from starskip.star_tree.build.file_digests import file_digests
from starskip.star_tree.build.source_table import SourceFile, SourceTable
from starskip.storage.files.file_identity import FileIdentity, is_racy

Digests = Callable[[Sequence[FileIdentity]], Sequence[str]]
"""Reads files and returns the digest of each one's content."""


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file as it was when a tree was built from it.

    ``digest`` of its content, and ``changed_ns``, the change time when the digest was computed; both are None
    in an object store, whose ETag shows more. ``is_young``: it was written at about the time of the record,
    so that a later change might leave its size and times as they are (files.file_identity.is_racy).
    ``row_group_rows`` and ``schema`` as in ``SourceFile``.
    """

    identity: FileIdentity
    partition: Mapping[str, str | None]
    digest: str | None
    changed_ns: int | None = None
    is_young: bool = False
    row_group_rows: tuple[int, ...] | None = None
    schema: pa.Schema | None = None


@dataclass(frozen=True, slots=True)
class SourceChanges:
    """Differences from the recorded files, by path, and the identities of unchanged files; all sorted."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    unchanged: tuple[FileIdentity, ...] = ()

    @property
    def is_none(self) -> bool:
        """True where all files are as recorded."""
        return not (self.added or self.changed or self.gone)

    @property
    def is_growth(self) -> bool:
        """True where there are new files and no other changes."""
        return bool(self.added) and not self.changed and not self.gone


def recorded_files(
    source: SourceTable,
    *,
    observed_at_ns: int,
    before: Sequence[RecordedFile] = (),
    digests: Digests = file_digests,
) -> tuple[RecordedFile, ...]:
    """Return the records of the files, before these are read; ``observed_at_ns`` is when they were listed.

    ``before``: former records; unchanged files are not read for their digest.
    """
    known = {file.identity: file.digest for file in before if file.digest is not None}
    unread = [
        file.identity for file in source.files if file.identity.etag is None and file.identity not in known
    ]
    known.update(zip(unread, digests(unread), strict=True))
    return tuple(
        RecordedFile(
            file.identity,
            file.partition,
            known.get(file.identity),
            file.identity.changed_ns,
            is_racy(file.identity, observed_at_ns=observed_at_ns),
            file.row_group_rows,
            file.schema,
        )
        for file in source.files
    )


def known_files(recorded: Sequence[RecordedFile]) -> dict[str, SourceFile]:
    """Return the known schemas and row groups by path, which ``source_table`` need not read again."""
    return {
        file.identity.path: SourceFile(
            replace(file.identity, changed_ns=file.changed_ns),
            file.partition,
            file.row_group_rows,
            file.schema,
        )
        for file in recorded
        # Without a time or an ETag the content must be compared.
        if not file.is_young and (file.changed_ns is not None or file.identity.etag is not None)
    }


def require_unchanged(
    source: SourceTable, recorded: tuple[RecordedFile, ...], digests: Digests = file_digests
) -> SourceChanges:
    """Raise SourceError naming a file that changed since it was recorded, after all files were read.

    The files of a version of a table format do not change; reading a removed file fails.
    """
    if source.is_versioned:
        return SourceChanges((), (), (), tuple(file.identity for file in recorded))
    changes = source_changes(source.path, recorded, digests, file_format=source.asked_format)
    if not changes.is_none:
        named = (*changes.changed, *changes.gone, *changes.added)[0]
        raise SourceError(f"{named}: was changed while it was read; run the build again", source=named)
    return changes


def source_changes(
    path: str,
    recorded: Sequence[RecordedFile],
    digests: Digests = file_digests,
    *,
    file_format: str | None = None,
    version: int | None = None,
    column_ids: Mapping[str, str] = MappingProxyType({}),
) -> SourceChanges:
    """Compare the files of the table now with the recorded ones; SourceError if they are not one table.

    ``file_format`` and ``version`` as in ``open_lake_table``. ``column_ids``: the former ids of the columns
    by their names; where a name now means another column, all files count as changed.
    """
    try:
        found = open_lake_table(path, file_format, version, look_above=False)
        listed = [*found.identities()]
        told = {each.path[0]: each.reading for each in found.columns if len(each.path) == 1}
    except MissingSource:
        listed, told = [], {}
    if told and has_other_columns(column_ids, told):
        return SourceChanges((), tuple(file.identity.path for file in recorded), ())
    return changes_since(recorded, listed, digests)


def has_other_columns(before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Return whether a name is gone, or means another column than before."""
    return any(now.get(name) != identity for name, identity in before.items())


def changes_since(
    recorded: Sequence[RecordedFile], listed: Sequence[FileIdentity], digests: Digests = file_digests
) -> SourceChanges:
    """Compare listed files with the recorded ones; a file is read only if its times do not decide."""
    before = {file.identity.path: file for file in recorded}
    now = {identity.path: identity for identity in listed}
    same = [now[name] for name in before.keys() & now.keys() if before[name].identity == now[name]]
    doubtful = [identity for identity in same if _is_doubtful(before[identity.path], identity)]
    rewritten = {
        identity.path
        for identity, digest in zip(doubtful, digests(doubtful), strict=True)
        if digest != before[identity.path].digest
    }
    unchanged = [identity for identity in same if identity.path not in rewritten]
    changed = (before.keys() & now.keys()) - {identity.path for identity in unchanged}
    return SourceChanges(
        tuple(sorted(now.keys() - before.keys())),
        tuple(sorted(changed)),
        tuple(sorted(before.keys() - now.keys())),
        tuple(sorted(unchanged, key=lambda identity: identity.path)),
    )


def settled_files(
    recorded: tuple[RecordedFile, ...], unchanged: Sequence[FileIdentity], *, observed_at_ns: int
) -> tuple[RecordedFile, ...]:
    """Return the records to keep of files that were found unchanged at that time.

    A file that was old enough at that time need not be read again: every later change moves one of its times.
    """
    now = {identity.path: identity for identity in unchanged}
    return tuple(
        replace(
            file,
            changed_ns=now[file.identity.path].changed_ns,
            is_young=file.is_young and is_racy(file.identity, observed_at_ns=observed_at_ns),
        )
        if file.digest is not None and file.identity.path in now
        else file
        for file in recorded
    )


def _is_doubtful(before: RecordedFile, now: FileIdentity) -> bool:
    """Return whether the same size and time may hide a change that a digest would show."""
    if before.digest is None:
        return False
    return before.is_young or before.changed_ns != now.changed_ns
