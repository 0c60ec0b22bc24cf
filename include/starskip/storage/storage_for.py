"""Open the store that a URL names."""

from __future__ import annotations

import re
from pathlib import Path

from starskip.errors import SourceError, StorageError
from starskip.storage.file_access import FileAccess
from starskip.storage.files.object_url import object_url
from starskip.storage.local_storage import LocalStorage
from starskip.storage.object_storage import ObjectStorage
from starskip.storage.storage import Storage, name_components

# One letter before a colon would be a drive, not a scheme.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def storage_for(url: str, access: FileAccess | None = None) -> Storage:
    """Return the store at ``url``: a folder, ``file:///folder``, or ``s3://bucket/folder``.

    ``access``: modes of the files in a folder; buckets have rules of their own.

    A ``file:`` URL is taken literally, as Spark takes it; nothing is asked of a bucket yet. Raises
    ``StorageError`` for a scheme that is not known to keep a put-if-absent promise, and for a URL that
    holds a user or password.
    """
    if not url:
        raise StorageError("no folder is given for the artefacts", location=url)
    try:
        root = object_url(url)
    except SourceError as error:
        raise StorageError(f"no place for artefacts: {error}", location=error.source) from None
    if root is not None:
        name_components(root.key)
        return ObjectStorage(root)
    scheme = _SCHEME.match(url)
    if scheme is None:
        return LocalStorage(Path(url).absolute(), access)
    if scheme[1].lower() != "file":
        # The rest may hold a password, as a database's URL does.
        raise StorageError(f"artefacts cannot be kept behind {scheme[1]}:", location=scheme[1])
    folder = url[scheme.end() :].removeprefix("//")
    if not folder.startswith("/"):
        raise StorageError("write file:///folder, with no host, for the artefacts", location="file:")
    return LocalStorage(Path(folder), access)
