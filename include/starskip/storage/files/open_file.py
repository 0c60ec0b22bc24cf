"""Open a file by its path or URL, or read a small one whole; a failure of the one file is an OSError."""

from __future__ import annotations

import errno
from typing import BinaryIO, cast

from starskip.storage.files.local_file import local_failures, open_local
from starskip.storage.files.object_reader import ObjectReader
from starskip.storage.files.object_url import local_path, object_url

LARGEST_SMALL_FILE_BYTES = 16 << 20
"""Far more than any configuration that people write."""


def open_file(path: str) -> BinaryIO:
    """Return the file opened for reading; a reader of an object holds one bounded piece at a time.

    Raises OSError (FileNotFoundError, PermissionError) if this one file cannot be opened or read, and
    SourceError (SourceOutage) if its store or disk does not answer, so that no other file of it could be
    read either.
    """
    url = object_url(path)
    if url is None:
        return open_local(local_path(path))
    return cast(BinaryIO, ObjectReader(url))


def file_size(path: str) -> int:
    """Return the bytes of the file, of which none is read; errors as in ``open_file``."""
    url = object_url(path)
    if url is None:
        with local_failures(path):
            return local_path(path).stat().st_size
    return ObjectReader(url, read_ahead=False).size_bytes


def file_head(path: str, length: int) -> tuple[bytes, int]:
    """Return the first ``length`` bytes and the size of the whole file; errors as in ``open_file``."""
    with open_file(path) as file:
        head = file.read(length)
        return head, file.seek(0, 2)


def read_small_file(path: str, most_bytes: int = LARGEST_SMALL_FILE_BYTES) -> bytes:
    """Return the bytes of the file; errors as in ``open_file``, and OSError for more than ``most_bytes``.

    The size that the file system reports is not used: for a device or a pipe it is 0.
    """
    with open_file(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"it holds more than {most_bytes >> 20} MB", path)
    return content
