"""A set of 64-bit hashes of any size in bounded memory: a large set lies in a nameless file."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

Hashes = npt.NDArray[np.uint64]
HELD = 1 << 20
"""Hashes in memory, of 8 bytes; adding and sorting them takes several times as much."""
_BUCKETS = 1 << 10
_STARTS = (np.arange(_BUCKETS + 1, dtype=np.float64) * (2.0**64 / _BUCKETS))[:-1].astype(np.uint64)

_BLOCK = 16
_KEY_BYTES = 32


class SecretFile:
    """A file in ``TMPDIR``, which disappears with the process at the latest.

    It may hold hashes of the values of an encrypted index. They are written by AES in counter mode, under a
    random key that is in memory only. Each place is written once, since two contents under the same key at
    the same place would show their difference.
    """

    def __init__(self) -> None:
        """Make an empty file and its key."""
        self._file = tempfile.TemporaryFile(prefix="starskip-")  # noqa: SIM115 - closed by its owner
        self._key = algorithms.AES256(os.urandom(_KEY_BYTES))

    def write_at(self, start: int, content: bytes) -> None:
        """Write bytes at a place where none were written before."""
        self._file.seek(start)
        self._file.write(self._crypted(start, content))

    def read_at(self, start: int, size_bytes: int) -> bytes:
        """Return bytes that were written."""
        self._file.seek(start)
        return self._crypted(start, self._file.read(size_bytes))

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def _crypted(self, start: int, content: bytes) -> bytes:
        block, behind = divmod(start, _BLOCK)
        stream = Cipher(self._key, modes.CTR(block.to_bytes(_BLOCK, "big"))).encryptor()
        stream.update(bytes(behind))
        return stream.update(content)


@dataclass(frozen=True, slots=True)
class _Run:
    """Sorted hashes from ``start`` of the file, ``ends`` of each bucket."""

    start: int
    ends: npt.NDArray[np.int64]

    def bucket(self, file: SecretFile, number: int) -> Hashes:
        first = int(self.ends[number - 1]) if number else 0
        count = int(self.ends[number]) - first
        if not count:
            return np.zeros(0, np.uint64)
        return np.frombuffer(file.read_at((self.start + first) * 8, count * 8), np.uint64)


class DistinctHashes:
    """Distinct hashes.

    Up to HELD are in memory; more are written to a temporary file as sorted runs, which are merged bucket
    by bucket. The file, of at most some times the bytes of the set, goes with the object.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._kept: Hashes = np.zeros(0, np.uint64)
        self._new: list[Hashes] = []
        self._new_count = 0
        self._file: SecretFile | None = None
        self._runs: list[_Run] = []
        self._written = 0
        self._merged = 0

    @property
    def size_bytes(self) -> int:
        """The bytes in memory."""
        return 8 * (len(self._kept) + self._new_count)

    def add(self, hashes: Hashes) -> None:
        """Add hashes, which may repeat."""
        self._new.append(hashes)
        self._new_count += len(hashes)
        if self._new_count > max(HELD // 4, len(self._kept)):
            self._settle()
            if len(self._kept) > HELD:
                self._spill()

    def chunks(self) -> Iterator[Hashes]:
        """Yield the set in pieces of sorted hashes."""
        self._settle()
        if self._file is None:
            yield self._kept
            return
        if len(self._kept):
            self._spill()
        file = self._file
        for number in range(_BUCKETS):
            yield _merged([run.bucket(file, number) for run in self._runs])

    def count(self) -> int:
        """Return the number of hashes; hashes in a file are all read."""
        return sum(map(len, self.chunks()))

    def _settle(self) -> None:
        if self._new:
            self._kept = _merged([self._kept, *self._new])
            self._new, self._new_count = [], 0

    def _spill(self) -> None:
        if self._file is None:
            self._file = self._temporary_file()
        self._runs.append(_run(self._file, self._written, [self._kept]))
        self._written += len(self._kept)
        self._kept = np.zeros(0, np.uint64)
        # With repeated values the runs would grow without bound, although the set does not.
        if self._written > 2 * self._merged + 8 * HELD:
            self._merge_runs()

    def _merge_runs(self) -> None:
        merged = self._temporary_file()
        self._runs = [_run(merged, 0, self.chunks())]
        self._written = self._merged = int(self._runs[0].ends[-1])
        if self._file is not None:
            self._file.close()
        self._file = merged

    def _temporary_file(self) -> SecretFile:
        file = SecretFile()
        weakref.finalize(self, file.close)
        return file


def _run(file: SecretFile, start: int, ascending: Iterable[Hashes]) -> _Run:
    """Write hashes behind what a file holds; ``ascending``: sorted pieces, one after the other."""
    ends = np.zeros(_BUCKETS, np.int64)
    at = start
    for piece in ascending:
        file.write_at(at * 8, piece.tobytes())
        ends[:-1] += np.searchsorted(piece, _STARTS[1:])
        at += len(piece)
    ends[-1] = at - start
    return _Run(start, ends)


def _merged(pieces: Sequence[Hashes]) -> Hashes:
    # np.unique has a table of hashes, which takes ten times as long.
    ordered = np.sort(np.concatenate(pieces))
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]
