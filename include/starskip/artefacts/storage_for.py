"""From the URL that a user gives to the store that it means."""

from __future__ import annotations

import re
from pathlib import Path

from starskip.artefacts.local_storage import LocalStorage
from starskip.artefacts.storage import Storage
from starskip.errors import StorageError

# One letter before a colon would be a drive, not a scheme.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def storage_for(url: str) -> Storage:
    """Return the store at ``url``: a folder, or ``file:///folder`` (taken literally, as Spark takes it).

    Raises ``StorageError`` for a scheme that is not known to keep a put-if-absent promise.
    """
    scheme = _SCHEME.match(url)
    if scheme is None:
        if not url:
            raise StorageError("no folder is given for the artefacts", location=url)
        return LocalStorage(Path(url).absolute())
    rest = url[scheme.end() :]
    folder = rest.removeprefix("//")
    if scheme[1].lower() != "file":
        raise StorageError(
            f"{url}: artefacts cannot be kept behind {scheme[1]}:, only in a folder or behind file:",
            location=url,
        )
    if not folder.startswith("/"):
        raise StorageError(f"{url}: write file:///folder, with no host", location=url)
    return LocalStorage(Path(folder))
