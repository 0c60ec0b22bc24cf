"""Read the clock of a store, the only one by which the age of its objects can be judged."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

from starskip.errors import StorageError
from starskip.storage.storage import Storage

PROBES = "_clock"
"""No name of an artefact, so that neither a reader nor a vacuum ever looks there."""


def store_clock(storage: Storage) -> datetime:
    """Return the store's time, which it stamps on a probe object; the probe is deleted again.

    Raises StorageError if the store cannot be written to.
    """
    name = f"{PROBES}/{uuid4().hex}"
    storage.put_if_absent(name, b"")
    try:
        stamps = [found.modified_ns for found in storage.objects_below(PROBES) if found.name == name]
    finally:
        storage.delete(name)
    if not stamps:
        raise StorageError(
            f"{storage.place}: does not list an object that was just written", location=storage.place
        )
    return datetime.fromtimestamp(stamps[0] / 1e9, UTC)
