"""Read a small file whole, on a disk or in an object store, within a limit of bytes."""

from __future__ import annotations

import errno

from starskip.storage.files.open_file import open_file

LARGEST_SMALL_FILE_BYTES = 16 << 20
"""Far more than any configuration that people write."""


def read_small_file(path: str, most_bytes: int = LARGEST_SMALL_FILE_BYTES) -> bytes:
    """Return the bytes of the file; errors as in ``open_file``, and OSError for more than ``most_bytes``.

    The size that the file system reports is not used: for a device or a pipe it is 0.
    """
    with open_file(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"it holds more than {most_bytes >> 20} MB", path)
    return content
