"""Permission modes of the files and folders that a store keeps on a local disk."""

from __future__ import annotations

from typing import NamedTuple


class FileAccess(NamedTuple):
    """Mode bits of files and of folders."""

    file_mode: int
    folder_mode: int


READABLE_BY = {
    "owner": FileAccess(0o600, 0o700),
    "group": FileAccess(0o640, 0o750),
    "all": FileAccess(0o644, 0o755),
}
"""Named modes, by who may read; only the owner ever writes."""
