"""The trees of one table, opened, and the files that they were built from."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

import pyarrow as pa

from starskip.errors import DamagedManifest, StaleTree, StarskipError, StorageError
from starskip.lake.table_format import format_above, refuse_format
from starskip.sql.sandboxed_duckdb import SandboxedDuckDB, locked_database
from starskip.sql.spelled_names import meant_table
from starskip.star_tree.build.source_files import (
    RecordedFile,
    known_files,
    settled_files,
    source_changes,
)
from starskip.star_tree.build.source_table import SourceTable, source_table
from starskip.star_tree.build.stored_sources import read_recorded
from starskip.star_tree.newest_values import NewestValues
from starskip.star_tree.scalar_expressions import ScalarExpressions
from starskip.star_tree.serving.star_tree import ScanRequest, StarTree
from starskip.star_tree.tree_artefact import ARTEFACT, TableTrees
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.snapshot import Snapshot

Result = TypeVar("Result")

UNCHANGED_FOR_SECONDS = 1.0
"""Seconds for which one check of the table's files holds: consecutive answers share it."""


_PARSED_QUERIES = 512
_REQUESTED_BYTES = 64 << 20


class AnsweringMemory:
    """Parsed queries, masks, and a database for expressions, which the answers of one opened table share.

    It is safe for threads. The database is opened when it is first asked for.

    ``requests``: the ScanRequest of a query, by its text and dialect, up to a number of bytes of masks.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.requests: NewestValues[tuple[str, str], ScanRequest] = NewestValues(_REQUESTED_BYTES)
        self._parsed: NewestValues[tuple[str, str], Any] = NewestValues(_PARSED_QUERIES)
        self._database: SandboxedDuckDB | None = None
        self._expressions: ScalarExpressions | None = None

    @property
    def database(self) -> SandboxedDuckDB:
        """Return the database that computes expressions."""
        with self._lock:
            if self._database is None:
                self._database = locked_database()
            return self._database

    @property
    def expressions(self) -> ScalarExpressions:
        """Return the expressions over dictionaries of dimensions."""
        database = self.database
        with self._lock:
            if self._expressions is None:
                self._expressions = ScalarExpressions(database)
            return self._expressions

    def parsed(self, sql: str, dialect: str, parse: Callable[[str, str], Any]) -> Any:
        """Return the result of ``parse``; recent texts are not parsed again."""
        found = self._parsed.get((sql, dialect))
        if found is None:
            found = parse(sql, dialect)
            self._parsed.keep((sql, dialect), found)
        return found


@dataclass(slots=True)
class TreeSet:
    """Trees of a table, in the order of their configurations: the first one that fits answers.

    ``answers_to``: the only name that may stand in FROM; None for any. It may be held open: ``current``
    returns the trees of a later refresh. It may be used by several threads at once.
    """

    table: str
    published: TableTrees
    trees: tuple[StarTree, ...]
    recorded: tuple[RecordedFile, ...]
    size_bytes: int
    answers_to: str | None = None
    clock: Callable[[], float] = time.monotonic
    wall_clock_ns: Callable[[], int] = time.time_ns
    memory: AnsweringMemory = field(default_factory=AnsweringMemory, repr=False, compare=False)
    _checked_at: float | None = field(default=None, init=False)
    _origin: _Origin | None = field(default=None, init=False, repr=False, compare=False)
    _newer: TreeSet | None = field(default=None, init=False, repr=False, compare=False)
    _looked_at: float | None = field(default=None, init=False, repr=False, compare=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def current(self, *, at_most_seconds_ago: float = UNCHANGED_FOR_SECONDS) -> TreeSet:
        """Return the currently published trees: these, or the trees of a later refresh by any process.

        Takes one listing of the store, shared by all calls within that time. Raises StarskipError if the
        table has no trees any more.
        """
        with self._lock:
            held, now = self._newer or self, self.clock()
            is_known = self._looked_at is not None and now - self._looked_at < at_most_seconds_ago
            if self._origin is None or is_known:
                return held
            if self._origin.newest() != self._origin.opened:
                origin, found = self._origin.opened_again(held.table)
                if found.published != held.published or found.answers_to != held.answers_to:
                    found.clock, found.wall_clock_ns = self.clock, self.wall_clock_ns
                    self._newer = found
                    held.forget()
                    held = found
                self._origin = origin
            self._looked_at = now
            return held

    def with_current(self, answer: Callable[[TreeSet], Result]) -> Result:
        """Return ``answer`` of the currently published trees.

        If these turn out to be stale or gone, and others were published meanwhile, ``answer`` is called once
        more.
        """
        trees = self.current()
        try:
            return answer(trees)
        except (StaleTree, StorageError):
            newer = self.current(at_most_seconds_ago=0.0)
            if newer is trees:
                raise
            return answer(newer)

    def forget(self) -> None:
        """Drop the caches; later answers read again."""
        self.memory = AnsweringMemory()
        for tree in self.trees:
            tree.documents.forget()

    @property
    def documents_total(self) -> int:
        """Return the documents of all trees."""
        return sum(tree.documents_total for tree in self.trees)

    def sources(self) -> SourceTable:
        """Return the table's present files; raises StaleTree if they differ from the recorded ones."""
        self.require_unchanged(at_most_seconds_ago=0.0)
        published = self.published
        return source_table(
            published.source_path,
            published.casts,
            known_files(self.recorded),
            file_format=published.asked_format,
            version=published.asked_version,
        )

    def require_unchanged(self, *, at_most_seconds_ago: float = UNCHANGED_FOR_SECONDS) -> None:
        """Raise StaleTree naming a file that was changed, added or removed since the trees were built."""
        now = self.clock()
        if self._checked_at is not None and now - self._checked_at < at_most_seconds_ago:
            return
        path = self.published.source_path
        observed_at_ns = self.wall_clock_ns()
        if self._checked_at is None:  # looks at each folder above, which is slow in an object store
            refuse_format(path, format_above(path))
        published = self.published
        changes = source_changes(
            path,
            self.recorded,
            file_format=published.asked_format,
            version=published.asked_version,
            column_ids=published.column_ids,
        )
        if not changes.is_none:
            words = [
                f"{kind}: {', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
                for kind, names in (
                    ("changed", changes.changed),
                    ("gone", changes.gone),
                    ("new", changes.added),
                )
                if names
            ]
            raise StaleTree(
                f"{path}: is not what the star-tree was built from ({'; '.join(words)}); "
                "refresh the tree (starskip star-tree refresh) and ask again",
                source=(*changes.changed, *changes.gone, *changes.added)[0],
            )
        self.recorded = settled_files(self.recorded, changes.unchanged, observed_at_ns=observed_at_ns)
        self._checked_at = now


def newest_snapshot(store: ArtefactStore) -> Snapshot | None:
    """Return the newest snapshot of all tables' trees, None if nothing was published.

    Raises DamagedManifest, which names the command that mends it, if no manifest is whole.
    """
    try:
        return store.snapshot(ARTEFACT, CURRENT)
    except DamagedManifest as error:
        raise DamagedManifest(
            f"{error.location}: the manifest of the star-trees at {store.storage.place} is damaged; refresh "
            "them (starskip star-tree refresh), which builds them anew",
            location=error.location,
        ) from error


def open_trees(store: ArtefactStore, table: str | None = None, *, by_any_name: bool = False) -> TreeSet:
    """Return the newest published trees of ``table``, which may be left out if only one table has trees.

    ``table`` is found like a name in FROM (query.asked_table). With ``by_any_name`` the trees answer whatever
    the query calls the table. Raises StarskipError if there are none, StorageError for damage.
    """
    return _opened(store, table, by_any_name)[1]


@dataclass(frozen=True, slots=True)
class _Origin:
    """The store of trees, and its newest manifest when they were opened."""

    store: ArtefactStore
    table: str | None
    by_any_name: bool
    opened: tuple[int, int] | None

    def newest(self) -> tuple[int, int] | None:
        return _newest(self.store)

    def opened_again(self, held: str) -> tuple[_Origin, TreeSet]:
        return _opened(self.store, self.table, self.by_any_name, held)


def _newest(store: ArtefactStore) -> tuple[int, int] | None:
    # A store that was begun anew repeats version numbers, but at other times.
    listed = store.chain(ARTEFACT, CURRENT).listed()
    return max(((version, found.modified_ns) for version, found in listed.items()), default=None)


def _opened(
    store: ArtefactStore, table: str | None, by_any_name: bool, held: str | None = None
) -> tuple[_Origin, TreeSet]:
    """Open the trees of ``table``; if it is None, of ``held`` if that has trees, else of the only table."""
    # Listed first, so that a commit between listing and reading leads to one more opening, and is not missed.
    newest = _newest(store)
    snapshot = newest_snapshot(store)
    tables = snapshot.tables if snapshot else ()
    if snapshot is None or not tables:
        raise StarskipError(
            f"{store.storage.place}: there is no star-tree; build one (starskip star-tree build)"
        )
    only = held if held in tables else tables[0] if len(tables) == 1 else None
    if table is None and only is None:
        raise StarskipError(f"{store.storage.place}: has star-trees of {', '.join(tables)}; name the table")
    name = only if table is None else meant_table(table, tables)
    if name is None:
        raise StarskipError(f"{store.storage.place}: has no star-tree of {table}, but of {', '.join(tables)}")
    trees = trees_of_part(store, name, snapshot.manifest.parts[name])
    if not by_any_name and (trees.published.is_named or len(tables) > 1):
        trees.answers_to = name
    origin = _Origin(store, table, by_any_name, newest)
    trees._origin = origin
    return origin, trees


def trees_of_part(store: ArtefactStore, table: str, part: Part) -> TreeSet:
    """Return the trees of a published part."""
    try:
        published = TableTrees.from_properties(part.properties)
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"{table}: its star-trees are of another version of Starskip; build them again", location=table
        ) from error
    files = part.by_name
    dictionaries = {name: files[file] for name, file in published.dictionaries.items()}
    types: dict[str, pa.DataType] = {each.name: each.type for each in published.schema}
    trees = tuple(StarTree(store.storage, record, types, dictionaries, files) for record in published.trees)
    recorded = read_recorded(store.storage, files[published.sources_file])
    size_bytes = sum(file.size_bytes for file in part.files)
    return TreeSet(table, published, trees, recorded, size_bytes)
