"""Read byte ranges of a file or an object; neighbouring ones are one request."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from starskip.storage.files.local_file import local_failures
from starskip.storage.files.object_reader import ObjectReader
from starskip.storage.files.object_url import ObjectUrl, local_path, object_url

_REQUESTS = 8
"""Requests for one object at a time."""
_LOCAL_GAP_BYTES = 8 << 10
_OBJECT_GAP_BYTES = 256 << 10
"""Bytes between two ranges that take no longer to read than another request."""

Range = tuple[int, int]
"""The first byte, and the one behind the last."""


def read_ranges(path: str, ranges: Sequence[Range]) -> tuple[list[memoryview], int]:
    """Return the bytes of ranges, in their order, and how many bytes were read for them.

    Raises OSError for a file that is gone or shorter, and SourceError for a store or disk that cannot be
    asked.
    """
    url = object_url(path)
    pieces = coalesced(ranges, _LOCAL_GAP_BYTES if url is None else _OBJECT_GAP_BYTES)
    held = _local(path, pieces) if url is None else _object(url, pieces)
    starts = [start for start, _ in pieces]
    found: list[memoryview] = [memoryview(b"")] * len(ranges)
    at = 0
    for number in sorted(range(len(ranges)), key=ranges.__getitem__):
        start, end = ranges[number]
        if start == end:
            continue
        while pieces[at][1] < end:
            at += 1
        found[number] = held[at][start - starts[at] : end - starts[at]]
    return found, sum(map(len, held))


def coalesced(ranges: Sequence[Range], gap_bytes: int) -> list[Range]:
    """Return rising ranges that cover all; two that lie no further apart than ``gap_bytes`` are one."""
    found: list[Range] = []
    for start, end in sorted(each for each in ranges if each[0] < each[1]):
        if found and start - found[-1][1] <= gap_bytes:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def _local(path: str, pieces: Sequence[Range]) -> list[memoryview]:
    with local_failures(path):
        file = os.open(local_path(path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            ranges = ((start, end - start) for start, end in pieces)
            return [_whole(path, os.pread(file, size, start), size) for start, size in ranges]
        finally:
            os.close(file)


def _object(url: ObjectUrl, pieces: Sequence[Range]) -> list[memoryview]:
    # One look at the object: all ranges are of the version that it has now.
    seen = ObjectReader(url, read_ahead=False)
    if len(pieces) == 1:
        return [memoryview(seen.read_range(*pieces[0]))]
    with ThreadPoolExecutor(min(_REQUESTS, len(pieces))) as pool:
        return [memoryview(each) for each in pool.map(lambda piece: seen.read_range(*piece), pieces)]


def _whole(path: str, found: bytes, wanted: int) -> memoryview:
    if len(found) != wanted:
        raise OSError(f"{path}: ends within a range that its footer names")
    return memoryview(found)
