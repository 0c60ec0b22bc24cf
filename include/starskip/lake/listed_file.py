"""A file of the table opened for reading, if it still is the listed file; counts the bytes that are read."""

from __future__ import annotations

import io
import os

from starskip.storage.files.bytes_read import add_bytes_read
from starskip.storage.files.local_file import open_local
from starskip.storage.files.object_reader import ObjectReader, open_at_end
from starskip.storage.files.object_url import local_path, object_url

_NS_PER_MS = 1_000_000


class ReplacedFile(FileNotFoundError):
    """Another file has the path of the listed file."""


class ListedFile(io.RawIOBase):
    """An open file with the size and the time of change that were listed.

    Positions of rows hold for one version of a file. The ETag keeps reads of an object to one version; for a
    file on a disk ``require_same`` checks that it has not changed.
    """

    def __init__(self, path: str, size_bytes: int, modified_ms: int) -> None:
        """Open the file; raise ReplacedFile if it is another one, else OSError and SourceError."""
        super().__init__()
        url = object_url(path)
        self._listed = size_bytes, modified_ms
        self._is_local = url is None
        self._untold = 0
        self._opened: io.RawIOBase | io.BufferedReader = (
            open_local(local_path(path)) if url is None else open_at_end(url)
        )
        self.require_same()

    def require_same(self) -> None:
        """Raise ReplacedFile if the file was written again since it was listed."""
        if self._is_local:
            found = os.fstat(self._opened.fileno())
            seen = found.st_size, found.st_mtime_ns // _NS_PER_MS
            is_same = seen == self._listed
        else:
            is_same = self.size() == self._listed[0]
        if not is_same:
            raise ReplacedFile("it was written again since it was listed: ask again")

    def tell_bytes(self) -> None:
        """Count the bytes since the last call for this thread's query; Arrow reads in other threads, too."""
        count, self._untold = self._untold, 0
        add_bytes_read(count)

    def readable(self) -> bool:
        """It can be read, and nothing else."""
        return True

    def seekable(self) -> bool:
        """Any position can be gone to."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._opened.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position."""
        return self._opened.seek(offset, whence)

    def size(self) -> int:
        """Return the bytes of the whole file; Arrow asks for it."""
        if isinstance(self._opened, ObjectReader):
            return self._opened.size_bytes
        return os.fstat(self._opened.fileno()).st_size

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes, all that are left for None or -1."""
        found = self._opened.read(-1 if size is None else size) or b""
        self._untold += len(found)
        return found

    def close(self) -> None:
        """Close the file."""
        self._opened.close()
        super().close()
