"""The trees of one table, opened, and the files that they were built from."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from starskip.artefacts.artefact_store import ArtefactStore
from starskip.artefacts.manifest import DataFile, Part
from starskip.errors import StaleTree, StarskipError, StorageError
from starskip.star_tree.build.source_files import (
    RecordedFile,
    read_recorded,
    settled_files,
    source_changes,
)
from starskip.star_tree.build.source_table import SourceTable, source_table
from starskip.star_tree.serving.answering_memory import AnsweringMemory
from starskip.star_tree.serving.star_tree import StarTree
from starskip.star_tree.tree_artefact import ARTEFACT, CURRENT, TableTrees

UNCHANGED_FOR_SECONDS = 1.0
"""How long the look at the table's files counts: answers that follow one another share it."""


@dataclass(slots=True)
class TreeSet:
    """All trees of a table, in the order of their configurations: the first one that fits answers."""

    table: str
    published: TableTrees
    trees: tuple[StarTree, ...]
    recorded: tuple[RecordedFile, ...]
    size_bytes: int
    clock: Callable[[], float] = time.monotonic
    wall_clock_ns: Callable[[], int] = time.time_ns
    memory: AnsweringMemory[Any] = field(default_factory=AnsweringMemory, repr=False, compare=False)
    _checked_at: float | None = field(default=None, init=False)

    @property
    def documents_total(self) -> int:
        """The documents of all trees."""
        return sum(tree.documents_total for tree in self.trees)

    def sources(self) -> SourceTable:
        """Return the table's files as they are now; raises StaleTree if they are not the recorded ones."""
        self.require_unchanged(at_most_seconds_ago=0.0)
        return source_table(self.published.source_path, self.published.casts)

    def require_unchanged(self, *, at_most_seconds_ago: float = UNCHANGED_FOR_SECONDS) -> None:
        """Raise StaleTree naming a file that was changed, added or removed since the trees were built."""
        now = self.clock()
        if self._checked_at is not None and now - self._checked_at < at_most_seconds_ago:
            return
        path = self.published.source_path
        observed_at_ns = self.wall_clock_ns()
        changes = source_changes(path, self.recorded)
        if not changes.is_none:
            told = [
                f"{kind}: {', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
                for kind, names in (
                    ("changed", changes.changed),
                    ("gone", changes.gone),
                    ("new", changes.added),
                )
                if names
            ]
            raise StaleTree(
                f"{path}: is not what the star-tree was built from ({'; '.join(told)}); "
                "refresh the tree (starskip star-tree refresh) and ask again",
                source=(*changes.changed, *changes.gone, *changes.added)[0],
            )
        self.recorded = settled_files(self.recorded, observed_at_ns=observed_at_ns)
        self._checked_at = now


def open_trees(store: ArtefactStore, table: str | None = None) -> TreeSet:
    """Return the newest published trees of ``table``, which may be left out where there is one only.

    Raises StarskipError if there are none, StorageError for damage.
    """
    snapshot = store.snapshot(ARTEFACT, CURRENT)
    tables = snapshot.tables if snapshot else ()
    if snapshot is None or not tables:
        raise StarskipError(
            f"{store.storage.place}: there is no star-tree; build one (starskip star-tree build)"
        )
    if table is None and len(tables) > 1:
        raise StarskipError(f"{store.storage.place}: has star-trees of {', '.join(tables)}; name the table")
    name = tables[0] if table is None else table
    if name not in tables:
        raise StarskipError(f"{store.storage.place}: has no star-tree of {name}, but of {', '.join(tables)}")
    return trees_of_part(store, name, snapshot.manifest.parts[name])


def trees_of_part(store: ArtefactStore, table: str, part: Part) -> TreeSet:
    """Return the trees that a published part holds."""
    try:
        published = TableTrees.from_properties(part.properties)
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"{table}: its star-trees are of another version of Starskip; build them again", location=table
        ) from error
    files: dict[str, DataFile] = {file.name: file for file in part.files}
    dictionaries = {name: files[file] for name, file in published.dictionaries.items()}
    types: dict[str, pa.DataType] = {each.name: each.type for each in published.schema}
    trees = tuple(StarTree(store.storage, record, types, dictionaries) for record in published.trees)
    recorded = read_recorded(store.storage, published.sources_file)
    size_bytes = sum(file.size_bytes for file in part.files)
    return TreeSet(table, published, trees, recorded, size_bytes)
