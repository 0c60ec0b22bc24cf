"""Read one version of an object as a file, in bounded ranges.

Each range is a request with a time-out and retries of its own, so that a slow reader, or a broken connection
after gigabytes, costs nothing but the range.
"""

from __future__ import annotations

import errno
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from obstore import get, head
from obstore.store import ObjectStore

from starskip.errors import SourceError, SourceOutage
from starskip.storage.files.object_failure import STORE_ERRORS, FailureKind, is_refused_range, object_failure
from starskip.storage.files.object_url import ObjectUrl
from starskip.storage.files.open_store import open_store

if TYPE_CHECKING:
    from obstore import ObjectMeta

_TAIL_BYTES = 64 << 10
"""Bytes of a Parquet file's end that Arrow asks for first; most footers lie within them."""
_FIRST_RANGE_BYTES = 256 << 10
_LARGEST_RANGE_BYTES = 4 << 20
_ERRNO = {FailureKind.MISSING: errno.ENOENT, FailureKind.DENIED: errno.EACCES, FailureKind.CHANGED: errno.EIO}


class ObjectReader(io.RawIOBase):
    """An open object. ``read`` returns as many bytes as asked for, unless the object ends.

    With ``read_ahead`` ranges grow from 256 KiB to 4 MiB, for readers that go forward; without, a read is one
    range of exactly its size, for readers that know where they want to go. The request that looks at the
    object brings its first range along, or its last ``tail_bytes``, where the store knows such ranges.
    """

    def __init__(self, url: ObjectUrl, *, read_ahead: bool = True, tail_bytes: int = 0) -> None:
        """Look at the object; OSError as for a local file, SourceError if the store cannot be asked."""
        super().__init__()
        self._url = url
        self._store: ObjectStore = open_store(url.scheme, url.bucket)
        self._read_ahead = read_ahead
        self._range_bytes = _FIRST_RANGE_BYTES
        self._position = 0
        self._held_from = 0
        self._held = b""
        with read_failures(url):
            meta = self._first_look(tail_bytes)
        self.size_bytes = meta["size"]
        self._etag = meta["e_tag"]

    def _first_look(self, tail_bytes: int) -> ObjectMeta:
        if not tail_bytes and not self._read_ahead:
            return head(self._store, self._url.key)
        asked: Any = {"suffix": tail_bytes} if tail_bytes else (0, _FIRST_RANGE_BYTES)
        try:
            found = get(self._store, self._url.key, options={"range": asked})
            start, end = found.range
            held = bytes(found.bytes())
        except STORE_ERRORS as error:
            if not is_refused_range(error):
                raise
            # An empty object has no range, and Azure none that is counted from the end.
            return head(self._store, self._url.key)
        if len(held) == end - start:
            self._held, self._held_from = held, start
        return found.meta

    def readable(self) -> bool:
        """It can be read, and nothing else."""
        return True

    def seekable(self) -> bool:
        """Any position can be gone to, at the cost of one request."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position, counted as a local file counts."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size_bytes}[whence]
        self._position = max(start + offset, 0)
        return self._position

    def size(self) -> int:
        """Return the bytes of the whole object; Arrow asks for it."""
        return self.size_bytes

    def read(self, size: int | None = -1) -> bytes:
        """Return the next ``size`` bytes, all that are left for None or -1."""
        left = max(self.size_bytes - self._position, 0)
        wanted = left if size is None or size < 0 else min(size, left)
        parts = []
        while wanted:
            offset = self._position - self._held_from
            part = self._held[offset : offset + wanted] if 0 <= offset < len(self._held) else b""
            if not part:
                self._fetch(wanted)
                continue
            parts.append(part)
            wanted -= len(part)
            self._position += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _fetch(self, wanted: int) -> None:
        length = max(wanted, self._range_bytes) if self._read_ahead else wanted
        start, end = self._position, min(self._position + length, self.size_bytes)
        held = self.read_range(start, end)
        self._held, self._held_from = held, start
        self._range_bytes = min(2 * self._range_bytes, _LARGEST_RANGE_BYTES)

    def read_range(self, start: int, end: int) -> bytes:
        """Return the bytes from ``start`` to before ``end`` by one request; threads may ask at once."""
        with read_failures(self._url):
            options = {"range": (start, end), **({"if_match": self._etag} if self._etag else {})}
            held = bytes(get(self._store, self._url.key, options=options).bytes())  # type: ignore[arg-type]
        if len(held) != end - start:
            raise OSError(errno.EIO, "the store sent another range than was asked for")
        return held


def open_at_end(url: ObjectUrl) -> ObjectReader:
    """Open an object that is read from its end, as a Parquet file is; errors as of ``ObjectReader``."""
    return ObjectReader(url, read_ahead=False, tail_bytes=_TAIL_BYTES)


@contextmanager
def read_failures(url: ObjectUrl) -> Iterator[None]:
    """Raise a failure of one object as OSError, as a disk does, and one of the whole store as SourceError."""
    try:
        yield
    except STORE_ERRORS as error:
        failure = object_failure(error)
        if failure.kind in _ERRNO:
            raise OSError(_ERRNO[failure.kind], failure.sentence) from None
        kind = SourceOutage if failure.kind is FailureKind.OUTAGE else SourceError
        raise kind(f"{url}: {failure.sentence}", source=str(url)) from None
