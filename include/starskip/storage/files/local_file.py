"""Open a local file, and tell what is wrong with this one file from an outage of its disk or mount.

``read_failures`` does so for an object store: an outage is a SourceOutage, which a retry may mend, and a
failure of the one file stays the OSError that it is.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starskip.errors import SourceOutage

_OUTAGES = frozenset(
    {
        *(errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.ENOLINK, errno.EHOSTDOWN, errno.EHOSTUNREACH),
        *(errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET, errno.ECONNREFUSED, errno.ECONNRESET),
        *(errno.ECONNABORTED, errno.EPIPE, errno.EAGAIN, errno.EBUSY, errno.EINTR),
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS),
    }
)
"""Failures of a mount, or of this process, that may hit any file at that moment. Other failures are of the
path itself or, as EIO of a bad sector, of its bytes: no retry mends them, and other files go on."""


def open_local(path: Path) -> io.BufferedReader:
    """Return the file opened for reading.

    Raises OSError if this one file cannot be opened or read, and SourceOutage for an outage.
    """
    return io.BufferedReader(_LocalFile(path))


@contextmanager
def local_failures(path: str | Path) -> Iterator[None]:
    """Raise an outage of the disk as SourceOutage, and a failure of the one file or folder as OSError."""
    try:
        yield
    except OSError as error:
        if error.errno not in _OUTAGES:
            raise
        # Arrow says far more than the reason.
        reason = os.strerror(error.errno)
        raise SourceOutage(f"{path}: cannot be read now: {reason}", source=str(path)) from error


class _LocalFile(io.FileIO):
    def __init__(self, path: Path) -> None:
        with local_failures(path):
            super().__init__(path)

    def readinto(self, buffer: Any) -> int | None:
        with local_failures(self.name):
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with local_failures(self.name):
            return super().readall()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with local_failures(self.name):
            return super().seek(offset, whence)
