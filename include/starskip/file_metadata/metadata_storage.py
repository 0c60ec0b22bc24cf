"""Open the place of a table's metadata: a folder, a bucket, or what a package opens by the URL's scheme."""

from __future__ import annotations

import re

from starskip.errors import ConfigError
from starskip.extensions import NOTHING_RECORDED, STORAGES, extensions, loaded
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
    return _opened_by_package(location, patience_s) or storage_for(location)


def files_root(root: str | None) -> str | None:
    """Return ``root`` if metadata below it is kept in files, None if that a package opens."""
    return None if root is not None and _opened_by_package(root, PATIENCE_S) is not None else root


def _opened_by_package(location: str, patience_s: float) -> Storage | None:
    """Return the Storage that a package opens; ``https+opensearch:`` is of the scheme ``opensearch``."""
    found = _SCHEME.match(location)
    scheme = found[1].lower() if found else "file"
    if scheme == "file" or scheme in SCHEMES:
        return None
    opener = extensions(STORAGES).get(scheme)
    if opener is not None:
        storage: Storage = loaded(opener)(location, patience_s)
        return storage
    if not extensions(STORAGES):
        raise ConfigError(f"metadata cannot be kept behind {scheme}:{NOTHING_RECORDED}", setting="metadata")
    return None
