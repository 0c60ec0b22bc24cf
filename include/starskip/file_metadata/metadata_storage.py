"""Open the place of a table's metadata: a folder, a bucket, or what a package opens by the URL's scheme."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint

from starskip.errors import ConfigError
from starskip.extensions import NOTHING_RECORDED, STORAGES, extensions, loaded, own_extensions
from starskip.storage.files.object_url import SCHEMES
from starskip.storage.storage import Storage
from starskip.storage.storage_for import storage_for

PATIENCE_S = 60.0
"""Seconds that commands and nights wait for a server that is being restarted."""
# One letter before a colon would be a drive, not a scheme.
_SCHEME = re.compile(r"(?:[a-z0-9.-]+\+)?([a-z][a-z0-9.-]+):", re.IGNORECASE)


def metadata_storage(location: str, *, patience_s: float = PATIENCE_S) -> Storage:
    """Return the Storage at a location of ``metadata_location``; nothing is asked of it yet.

    ``patience_s``: how long to wait for a server that does not answer. With 0, for a query that is being
    planned, an answer or a StorageOutage comes within two seconds. Raises StorageError for a URL of no known
    kind, or with a user or password, and ConfigError if its package cannot be imported.
    """
    opener = _opener(location)
    if opener is None:
        return storage_for(location)
    storage: Storage = loaded(opener)(location, patience_s)
    return storage


def files_root(root: str | None) -> str | None:
    """Return ``root`` if metadata below it is kept in files, None if that a package opens."""
    return None if root is not None and _opener(root) is not None else root


def _opener(location: str) -> EntryPoint | None:
    """Return the part of a package that opens a location; ``https+opensearch:`` is of ``opensearch``."""
    found = _SCHEME.match(location)
    scheme = found[1].lower() if found else "file"
    if scheme == "file" or scheme in SCHEMES:
        return None
    opener = extensions(STORAGES).get(scheme)
    if opener is None and not own_extensions(STORAGES):
        raise ConfigError(
            f"metadata cannot be kept behind {scheme}:, which is not known here{NOTHING_RECORDED}",
            setting="metadata",
        )
    return opener
