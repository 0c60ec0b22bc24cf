"""Find the tables with metadata that a relation's paths belong to, with answers cached for a second."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from starskip.file_metadata.metadata_location import metadata_location
from starskip.file_metadata.metadata_storage import files_root, metadata_storage
from starskip.file_metadata.open_metadata import ParseIndex, metadata_chain, read_metadata
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.table_state import ARTEFACT
from starskip.skipping.registry import index_from_specification
from starskip.storage.encryption.keyring import Keyring

_ANSWER_LASTS_S = 1.0
ROOTS_ASKED_EACH = 8
"""With more roots, such as the partitions that Spark chose, only their tables are looked up."""
_OPEN_LASTS_S = 60.0
"""Seconds after which metadata is opened again: a rewritten table may have the same version."""
_MOST_TABLES = 64
_TABLES_KEPT = 256
_changes = itertools.count()
_changed = next(_changes)


def metadata_changed() -> None:
    """Invalidate the caches of all finders in this process, after it has written metadata."""
    global _changed
    _changed = next(_changes)


@dataclass(frozen=True, slots=True)
class _Answer:
    at_s: float
    opened_s: float
    changed: int
    version: int | None
    metadata: TableMetadata | None


class TableFinder:
    """``clock`` returns monotonic seconds; ``artefact`` and ``parse``: the family's."""

    def __init__(
        self,
        clock: Callable[[], float],
        artefact: str = ARTEFACT,
        parse: ParseIndex = index_from_specification,
    ) -> None:
        """Start with an empty cache."""
        self._clock = clock
        self._artefact, self._parse = artefact, parse
        self._answers: dict[str, _Answer] = {}
        self.keyring: Keyring | None = None
        """The keys of encrypted metadata; None stands for the environment's keys."""
        self.given: dict[str, TableMetadata] = {}
        """Metadata that is in no store, by the table's path."""
        self._lock = threading.Lock()

    def find(self, roots: Iterable[str], metadata_root: str | None) -> list[TableMetadata]:
        """Return the metadata of the tables in, at or above ``roots``, paths as Hadoop writes them.

        Raises StorageError if existing metadata cannot be read.
        """
        given = dict.fromkeys(root.rstrip("/") for root in roots)
        found: dict[int, TableMetadata] = {}
        looked_for = []
        for root in given:
            table = _table_of_partition(root)
            own = (root,) if len(given) <= ROOTS_ASKED_EACH else ()
            looked_for.append((*own, table, _parent(table)))
        for candidates in list(dict.fromkeys(looked_for))[:_MOST_TABLES]:
            for candidate in dict.fromkeys(candidates):
                metadata = self._metadata(candidate, metadata_root)
                if metadata is not None:
                    found[id(metadata)] = metadata
                    break
        return list(found.values())

    def forget(self) -> None:
        """Clear the cache."""
        with self._lock:
            self._answers.clear()

    def _metadata(self, path: str, metadata_root: str | None) -> TableMetadata | None:
        if path in self.given:
            return self.given[path]
        if not path.rpartition("/")[2]:
            return None
        is_skipping = self._artefact == ARTEFACT
        location = metadata_location(path, metadata_root if is_skipping else files_root(metadata_root))
        now_s, changed = self._clock(), _changed
        with self._lock:
            known = self._answers.get(location)
        if known and known.changed == changed and now_s - known.at_s < _ANSWER_LASTS_S:
            return known.metadata
        storage = metadata_storage(location, patience_s=0)
        version = max(metadata_chain(storage, self._artefact).listed(), default=None)
        opened_s = now_s
        if version is None:
            metadata = None
        elif (
            known is not None
            and (known.version, known.changed) == (version, changed)
            and (now_s - known.opened_s < _OPEN_LASTS_S)
        ):
            metadata, opened_s = known.metadata, known.opened_s
        else:
            metadata = _same(known, read_metadata(storage, self._artefact, self._parse, self.keyring))
        with self._lock:
            if len(self._answers) >= _TABLES_KEPT:
                self._answers.clear()
            self._answers[location] = _Answer(now_s, opened_s, changed, version, metadata)
        return metadata


def _same(known: _Answer | None, opened: TableMetadata | None) -> TableMetadata | None:
    """Return the cached metadata, with its cached columns, if the opened metadata is the same."""
    before = known.metadata if known else None
    if before is None or opened is None:
        return opened
    is_same = (before.version, before.identity) == (opened.version, opened.identity)
    is_same = is_same and before.unlocked.locked == opened.unlocked.locked
    return before if is_same else opened


def _parent(path: str) -> str:
    return path.rstrip("/").rpartition("/")[0]


def _table_of_partition(path: str) -> str:
    """Return ``t`` for ``t/year=2026/month=1``; a partition's file is recognised by its parent."""
    path = path.rstrip("/")
    folder = path
    if "=" in _parent(path).rpartition("/")[2]:
        folder = _parent(path)
    while "=" in folder.rpartition("/")[2]:
        path = folder = _parent(folder)
    return path
