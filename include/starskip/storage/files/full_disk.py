"""Recognise errors of a full disk, and raise them as a retryable error that names disk and folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starskip.errors import StorageOutage

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_WORDS = tuple(os.strerror(number) for number in sorted(_FULL))


def is_full_disk(error: BaseException | str) -> bool:
    """Return whether an error, or the text of one, says that a disk is full or a quota used up.

    Libraries such as Arrow, DuckDB and Spark report it in the system's words, without its number.
    """
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return any(words in str(error) for words in _WORDS)


def full_disk(error: BaseException, place: str | Path) -> StorageOutage:
    """Return the error to raise for ``error`` of a file or folder at ``place``."""
    reason = next((words for words in _WORDS if words in str(error)), _WORDS[0])
    return StorageOutage(
        f"{place}: {reason}: the disk mounted at {_mount(Path(place))} is full; make room there and run it "
        "again",
        location=str(place),
    )


@contextmanager
def disk_named(place: str | Path) -> Iterator[None]:
    """Raise StorageOutage naming ``place`` for an error in here that says that the disk is full."""
    try:
        yield
    except Exception as error:
        if isinstance(error, StorageOutage) or not is_full_disk(error):
            raise
        raise full_disk(error, place) from error


def _mount(path: Path) -> Path:
    """Return the mount point of the disk that ``path``, which need not exist, lies on."""
    path = path.absolute()
    while not path.is_mount() and path != path.parent:
        path = path.parent
    return path
