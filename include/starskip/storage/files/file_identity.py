"""Identify the version of a source file by its path, size, and modification time or ETag."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from starskip.errors import SourceError, printable
from starskip.storage.files.local_file import local_failures

RACY_NS = 2_000_000_000
"""Nanoseconds: the coarsest clock of a common file system (vfat) ticks every two seconds."""


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """A version of a file: a disk has ``modified_ns`` (since the epoch), an object store an ``etag``.

    ``changed_ns``: when a disk last noted a change of content, owner, rights or name, or a store took the
    object. It is no part of the identity, since copies and chmod move it; where it alone differs, only the
    content decides.
    """

    path: str
    size_bytes: int
    modified_ns: int | None = None
    etag: str | None = None
    changed_ns: int | None = field(default=None, compare=False)

    def is_older_than(self, time_ns: int) -> bool:
        """Return whether the content was last written before ``time_ns``; False where that is not known."""
        written_ns = self.changed_ns if self.modified_ns is None else self.modified_ns
        return written_ns is not None and written_ns < time_ns

    def to_text(self) -> str:
        """Return one line of ASCII, equal for equal identities only."""
        return json.dumps([self.path, self.size_bytes, self.modified_ns, self.etag], separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the identity that ``to_text`` wrote; ``ValueError`` for any other text."""
        try:
            path, size_bytes, modified_ns, etag = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"not a file identity: {printable(text, 100)}") from error
        return cls(path, size_bytes, modified_ns, etag)


def file_identity(path: Path) -> FileIdentity:
    """Return the identity that a local file has now; ``SourceError`` if it cannot be looked at."""
    try:
        with local_failures(path):
            found = path.stat()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}", source=str(path)) from error
    return FileIdentity(str(path), found.st_size, found.st_mtime_ns, changed_ns=found.st_ctime_ns)


def is_racy(identity: FileIdentity, *, observed_at_ns: int) -> bool:
    """Return whether a later change of the file might leave this identity as it is.

    ``observed_at_ns`` is when reading the file began, by the clock that stamps it. Git's "racy" rule:
    a file modified less than two seconds before (or after) may be written again within the same tick
    of the clock, at the same size, and look unchanged; it counts as unknown. So does a file without a known
    time or ETag.
    """
    if identity.etag is not None:
        return False
    return identity.modified_ns is None or identity.modified_ns > observed_at_ns - RACY_NS
