"""List a store by artefact: bytes, nights, and the tables of the newest night."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from starskip.storage.artefact_store import ArtefactStore

STORAGE = "storage"
"""The artefact that says what the store held after a night."""


@dataclass(frozen=True, slots=True)
class StoredArtefact:
    """One artefact; ``size_bytes`` counts all its files, also files that a vacuum will remove.

    ``oldest`` and ``newest``: its published nights, "current" for what belongs to no night, empty if there is
    none. ``tables``: those of the newest night.
    """

    artefact: str
    size_bytes: int
    nights: int
    oldest: str
    newest: str
    tables: int


def stored_artefacts(store: ArtefactStore) -> Iterator[StoredArtefact]:
    """Yield the artefacts by name; one listing and one manifest of each are read. Raises StorageError."""
    for artefact in store.artefacts():
        objects = store.objects(artefact)
        published = sorted(
            night for night, listed in objects.items() if store.chain(artefact, night).manifests(listed)
        )
        newest = store.snapshot(artefact, published[-1]) if published else None
        yield StoredArtefact(
            artefact,
            sum(each.size_bytes for listed in objects.values() for each in listed),
            len(published),
            published[0] if published else "",
            published[-1] if published else "",
            len(newest.tables) if newest else 0,
        )
