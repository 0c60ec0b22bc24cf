"""Open a file by its path or URL; every failure to read it is an OSError."""

from __future__ import annotations

from typing import BinaryIO, cast

from starskip.storage.files.object_reader import ObjectReader
from starskip.storage.files.object_url import local_path, object_url


def open_file(path: str) -> BinaryIO:
    """Return the file opened for reading; a reader of an object holds one bounded piece at a time.

    Raises OSError (FileNotFoundError, PermissionError) if this one file cannot be read, and SourceError if
    its store does not answer, so that no other file of the store could be read either.
    """
    url = object_url(path)
    if url is None:
        return local_path(path).open("rb")
    return cast(BinaryIO, ObjectReader(url))


def file_head(path: str, length: int) -> tuple[bytes, int]:
    """Return the first ``length`` bytes and the size of the whole file; errors as in ``open_file``."""
    with open_file(path) as file:
        head = file.read(length)
        return head, file.seek(0, 2)
