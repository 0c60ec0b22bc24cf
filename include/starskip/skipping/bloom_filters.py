"""Bloom filters, one for each file, sized by the file's distinct values (Bloom, 1970).

A filter of v values has -v ln f / ln² 2 bits for a false positive ratio f, and log2(1 / f) hash functions
that are derived from one 64-bit hash. The filter of a file without values is empty. See "Extensible Data
Skipping", table I.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from starskip.skipping.file_metadata import Mask
from starskip.skipping.splitmix64 import Hashes, mixed

MOST_PROBES = 10_000_000
"""Pairs of a file and a value that are tested for one predicate; untested files pass."""
_PROBES_AT_ONCE = 1_000_000
_HASHES_AT_ONCE = 1 << 18
_MOST_BITS = 2**32 - 8
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def hash_functions(false_positive_ratio: float) -> int:
    """Return the number of hash functions for a false positive ratio."""
    return max(1, round(-math.log2(false_positive_ratio)))


def bloom_filter(chunks: Iterable[Hashes], count: int, false_positive_ratio: float) -> pa.Array:
    """Build the filter of ``count`` distinct hashes, which come in pieces: one row of large_binary."""
    size = math.ceil(count * (-math.log(false_positive_ratio) / math.log(2) ** 2 / 8))
    size = min(size, _MOST_BITS // 8)
    found = np.zeros(size, np.uint8)
    bits = np.uint64(size * 8)
    for chunk in chunks:
        for start, end in _chunks(len(chunk), _HASHES_AT_ONCE):
            for number in range(hash_functions(false_positive_ratio)):
                at = _position(_hashes_of(number, chunk[start:end]), bits)
                ones = np.left_shift(np.uint8(1), (at & np.uint64(7)).astype(np.uint8))
                np.bitwise_or.at(found, (at >> np.uint64(3)).astype(np.int64), ones)
    offsets = pa.py_buffer(np.array([0, size], np.int64))
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(found)])


def may_hold(filters: pa.Array, hashes: Hashes, false_positive_ratio: float) -> Mask:
    """Return for each filter whether it may contain one of ``hashes``; true for null."""
    filters = filters.cast(pa.large_binary())
    data = np.frombuffer(filters.buffers()[2] or b"", np.uint8)
    offsets = np.frombuffer(filters.buffers()[1], np.int64)[filters.offset :][: len(filters) + 1]
    starts, bits = offsets[:-1] * 8, np.diff(offsets).astype(np.uint64) * np.uint64(8)
    by_function = [_hashes_of(number, hashes) for number in range(hash_functions(false_positive_ratio))]
    found = np.zeros(len(filters), np.bool_)
    if filters.null_count:
        found |= np.asarray(filters.is_null().to_numpy(zero_copy_only=False))
    open_files = np.flatnonzero(~found & (bits > 0))
    tried = 0
    for start, end in _chunks(len(hashes), max(1, _PROBES_AT_ONCE // max(1, len(filters)))):
        tried += len(open_files) * (end - start)
        if tried > MOST_PROBES:
            found[open_files] = True
            break
        files, values = np.repeat(open_files, end - start), np.tile(np.arange(start, end), len(open_files))
        for each in by_function:
            at = starts[files] + _position(each[values], bits[files]).astype(np.int64)
            hit = (data[at >> 3] >> (at & 7).astype(np.uint8)) & 1 == 1
            files, values = files[hit], values[hit]
        found[files] = True
        open_files = open_files[~found[open_files]]
    return found


def _chunks(count: int, size: int) -> Iterable[tuple[int, int]]:
    return ((start, min(start + size, count)) for start in range(0, count, size))


def _hashes_of(number: int, hashes: Hashes) -> Hashes:
    """Derive the hashes of one hash function."""
    with np.errstate(over="ignore"):
        return mixed(hashes + np.uint64(number + 1) * _GOLDEN)


def _position(hashes: Hashes, bits: Hashes | np.uint64) -> Hashes:
    # The upper half of a 32-bit product: as even as a remainder, and faster to compute.
    return np.asarray(((hashes >> np.uint64(32)) * bits) >> np.uint64(32))
