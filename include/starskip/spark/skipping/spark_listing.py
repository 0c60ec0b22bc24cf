"""Spark's own listing of a relation's files as columns, and each file's row in the metadata.

The listing is a snapshot, which Spark keeps until a refresh; metadata is compared with exactly the files that
are about to be read.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.file_metadata.match_paths import match_paths, same_files
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.skipping.file_metadata import Mask
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.listed_files import ListedFiles, listed_files

_FILES_KEPT = 4_000_000
_TABLES_KEPT = 8
_LISTINGS_KEPT = 64
_Kept = TypeVar("_Kept", bound="_OfFiles")


@dataclass(eq=False)
class SparkListing:
    """The files of one snapshot; ``listed``: the same files in the JVM."""

    listed: ListedFiles
    paths: pa.Array
    sizes: npt.NDArray[np.int64]
    modified_ms: npt.NDArray[np.int64]
    _positions: dict[int, tuple[TableMetadata, npt.NDArray[np.int64]]] = field(default_factory=dict)

    @property
    def files(self) -> int:
        """Return the number of files."""
        return len(self.sizes)

    @cached_property
    def digest(self) -> bytes:
        """Return the key that identifies the files, by path, size and time."""
        digest = hashlib.sha256(self.sizes.tobytes())
        digest.update(self.modified_ms.tobytes())
        for buffer in pa.concat_arrays([self.paths]).buffers():
            digest.update(buffer or b"")
        return digest.digest()

    def positions(self, metadata: TableMetadata) -> npt.NDArray[np.int64]:
        """Return each file's row in the metadata; -1 if it is new or changed, or not known for sure."""
        found = self._positions.get(id(metadata))
        if found is None:
            if len(self._positions) >= _TABLES_KEPT:
                self._positions.clear()
            found = self._positions[id(metadata)] = metadata, self._found_in(metadata)
        return found[1]

    def _found_in(self, metadata: TableMetadata) -> npt.NDArray[np.int64]:
        if not metadata.files:
            return np.full(self.files, -1, np.int64)
        at = same_files(match_paths(self.paths, metadata.paths), self, metadata)
        return np.where(metadata.trusted[at], at, -1)


def may_hold(listing: _OfFiles, positions: npt.NDArray[np.int64], matching: Mask) -> Mask:
    """Return which files of the listing must be read, given which rows of the metadata may match."""
    if not len(matching):
        return np.ones(listing.files, np.bool_)
    return (positions < 0) | matching[positions]


class SparkListings:
    """Listings that were read already, by the identity of Spark's snapshot."""

    def __init__(self, toolbox: JvmToolbox) -> None:
        """Keep nothing yet."""
        self._toolbox = toolbox
        self._lock = threading.Lock()
        # Weak keys are compared by identity, and go with the snapshot.
        self._numbers = toolbox.jvm.com.google.common.collect.MapMaker().weakKeys().makeMap()
        self._listings: OrderedDict[int, SparkListing] = OrderedDict()
        self._next = 0

    def of(self, index: Any) -> SparkListing:
        """Return the listing of an InMemoryFileIndex."""
        snapshot = index.leafFiles()
        number = self._numbers.get(snapshot)
        with self._lock:
            found = self._listings.get(number) if number is not None else None
            if found is not None:
                self._listings.move_to_end(number)
                return found
        found = self._read(index)
        with self._lock:
            self._next += 1
            self._listings[self._next] = found
            self._numbers.put(snapshot, self._next)
            forget_oldest(self._listings, _LISTINGS_KEPT, _FILES_KEPT)
        return found

    def _read(self, index: Any) -> SparkListing:
        listed = listed_files(self._toolbox, index)
        return SparkListing(listed, listed.paths(), *listed.numbers())


class _OfFiles(Protocol):
    @property
    def files(self) -> int: ...


def forget_oldest(kept: OrderedDict[int, _Kept], most: int, most_files: int) -> None:
    """Keep the newest items: at most ``most``, fewer if they hold too many files, but always one."""
    files = sum(each.files for each in kept.values())
    while len(kept) > most or (len(kept) > 1 and files > most_files):
        files -= kept.popitem(last=False)[1].files
