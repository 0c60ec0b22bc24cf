"""Find the newest manifest of a log by listing, without reading it; caches are keyed by it."""

from __future__ import annotations

from typing import NamedTuple

from starskip.storage.manifest_log import ManifestLog


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
