"""The protocol of a store: the few calls that a local disk and an object store can both keep.

Names are ``/``-separated keys below the store's root, never paths. The one promise that publishing
stands on is ``put_if_absent``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import pyarrow.fs as pafs

from starskip.errors import StorageError


class PutVerdict(Enum):
    """The outcome of a conditional put; an answer that never came is an error instead."""

    STORED = "stored"
    ALREADY_EXISTS = "already exists"


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One listed object; ``modified_ns`` since the epoch, by the store's own clock."""

    name: str
    size_bytes: int
    modified_ns: int


def name_components(name: str) -> list[str]:
    """Return the components of a name, none for ""; ``StorageError`` for one that climbs or misleads."""
    components = name.split("/") if name else []
    if "\0" in name or any(component in ("", ".", "..") for component in components):
        raise StorageError(f"{name}: no name that a store may hold", location=name)
    return components


class Storage(Protocol):
    """A place that keeps named bytes; every failure of it is a ``StorageError`` that names the place.

    After a ``StorageError`` from a writing call the outcome is unknown: it may have taken effect.
    """

    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        """Store all of ``content`` durably as ``name``, or nothing at all if the name is taken."""
        ...

    def read(self, name: str) -> bytes | None:
        """Return the whole object, or None if no object has that name."""
        ...

    def delete(self, name: str) -> None:
        """Remove the object; one that is not there is no error."""
        ...

    def objects_below(self, folder: str) -> Iterator[StoredObject]:
        """List every object below ``folder`` at any depth ("" is the root), in no promised order."""
        ...

    def folders_in(self, folder: str) -> tuple[str, ...]:
        """Return the sorted last components of the folders directly in ``folder``.

        Some object stores go on naming a folder for a while after its last object is gone.
        """
        ...

    @property
    def place(self) -> str:
        """Return the store as a person writes it: an absolute folder, or a URL."""
        ...

    def arrow_filesystem(self) -> pafs.FileSystem:
        """Return an Arrow file system in which names are paths."""
        ...
