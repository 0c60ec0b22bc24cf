"""Reads the lines of a text file in blocks, as Hadoop's reader of lines has them for Spark.

Lines end with a line feed, a carriage return or both. Compression is told by the end of the file's name.
"""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, cast

import pyarrow as pa

from starskip.lake.data_pieces import UnlikeSpark
from starskip.lake.listed_file import ListedFile

BLOCK_BYTES = 8 << 20
"""Bytes of lines, without compression, that are parsed together."""
_LONGEST_LINE_BYTES = 256 << 20
_MARK = b"\xef\xbb\xbf"
_OTHER_CODECS = frozenset(
    {".snappy", ".lz4", ".zst", ".zstd", ".deflate", ".xz", ".lzo", ".br", ".z", ".zip"}
)


@dataclass(frozen=True)
class TextFile:
    """A text file by its path and identity: one unit, read in blocks of lines as far as rows are wanted."""

    path: str
    size_bytes: int
    modified_ms: int

    @property
    def units(self) -> int:
        """See PiecedFile."""
        return 1

    @property
    def is_columnar(self) -> bool:
        """See PiecedFile."""
        return False

    def line_blocks(self) -> Iterator[bytes]:
        """Yield whole lines, blocks of them."""
        return line_blocks(self.path, self.size_bytes, self.modified_ms)


def line_blocks(path: str, size_bytes: int, modified_ms: int) -> Iterator[bytes]:
    """Yield the whole lines of a file in blocks; each line, but the last one perhaps, ends with a line feed.

    Raises UnlikeSpark for a compression or an encoding that is not read, ReplacedFile for another file of
    that name, and OSError and ValueError for one that is damaged.
    """
    with ListedFile(path, size_bytes, modified_ms) as listed, _decompressed(path, listed) as opened:
        left = b""
        is_first = True
        while True:
            block = opened.read(BLOCK_BYTES)
            if is_first and block.startswith(_MARK):
                raise UnlikeSpark("it begins with a byte order mark")
            is_first = False
            listed.require_same()
            listed.tell_bytes()
            if not block:
                break
            whole, feed, rest = (left + block).rpartition(b"\n")
            left = rest
            if len(left) > _LONGEST_LINE_BYTES:
                raise UnlikeSpark(f"it has a line of more than {_LONGEST_LINE_BYTES >> 20} MiB")
            if feed:
                yield _plain(whole + feed)
        if left:
            yield _plain(left)


def _plain(block: bytes) -> bytes:
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        # What is no UTF-8 becomes other characters in Spark.
        pa.array([block], pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        raise UnlikeSpark("it is not UTF-8") from None
    return block


@contextmanager
def _decompressed(path: str, listed: ListedFile) -> Iterator[BinaryIO]:
    # Hadoop knows its codecs by names in small letters.
    suffix = PurePosixPath(path).suffix
    if suffix.lower() in _OTHER_CODECS or (suffix.lower() in (".gz", ".bz2") and suffix != suffix.lower()):
        raise UnlikeSpark(f"files ending in {suffix} are not read; .gz and .bz2 are")
    plain = cast(BinaryIO, listed)
    try:
        if suffix == ".gz":
            with gzip.GzipFile(fileobj=plain) as opened:
                yield cast(BinaryIO, opened)
        elif suffix == ".bz2":
            with bz2.BZ2File(plain) as opened_bz2:
                yield cast(BinaryIO, opened_bz2)
        else:
            yield plain
    except (EOFError, zlib.error) as error:
        raise ValueError(f"its compressed bytes are damaged: {error}") from error
