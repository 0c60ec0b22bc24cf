"""A table with its secondary indexes, opened to answer queries in one process.

Each query sees the table's current files: an index's entries for a file count only if the file is unchanged
since it was indexed; new and changed files are scanned as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.errors import ConfigError, printable
from starskip.predicates.column_name import column_name, column_path
from starskip.predicates.expression import Expression, Literal
from starskip.secondary.access_paths import (
    Path,
    PathMapping,
    RangePath,
    WithoutPath,
    access_paths,
    path_indexes,
)
from starskip.secondary.cost import Cost
from starskip.secondary.covered_rows import covered_rows, is_covering
from starskip.secondary.data_file import DataFileOfTable
from starskip.secondary.entries import addresses_in, file_of, row_of
from starskip.secondary.fetch import GrowingReads, Wanted, fetch_of_files, fetch_rows
from starskip.secondary.lifecycle import existing_indexes
from starskip.secondary.plan import Plan, choose_plan, forced_plan
from starskip.secondary.plan_search import SCAN
from starskip.secondary.postings import PostingReader
from starskip.secondary.read_rows import FetchCounts, FileRows
from starskip.secondary.row_filter import columns_in
from starskip.secondary.settings import SecondarySettings
from starskip.secondary.table_schema import field_values
from starskip.secondary.table_view import OpenedTable, TableView
from starskip.secondary.weighed_lists import WeighedLists, Window
from starskip.storage.files.bytes_read import BytesRead, counted_bytes

_EVERY = 1 << 62
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a query, or only their number, and how they were found."""

    rows: pa.Table
    count: int
    stats: Mapping[str, Any]
    plan: Plan


@dataclass(frozen=True, slots=True)
class _Question:
    """A condition bound to the table's columns, with the paths that serve it.

    ``columns``: the columns to fetch; ``fields``: the columns and fields of structs of the answer.
    """

    state: TableView
    condition: Expression
    mapping: PathMapping
    columns: tuple[str, ...]
    fields: tuple[tuple[str, ...], ...]

    def cost(self, settings: SecondarySettings) -> Cost:
        """Return the cost model of reading the table."""
        read = tuple(dict.fromkeys([*self.columns, *columns_in(self.condition)]))
        return Cost(self.state.layout(read), settings, frozenset(self.columns), self.mapping.conjuncts)

    def covering(self, paths: Sequence[Path]) -> Path | None:
        """Return the first path whose keys are the whole answer, except for files without index."""
        schema = self.state.schema.columns
        for path in paths:
            is_exact = isinstance(path, RangePath) and not self.mapping.residual([path])
            if is_exact and is_covering(path, self.columns, schema, self.state.segments):
                return path
        return None


@dataclass
class IndexedTable:
    """Answers queries; blocks of indexes and footers stay in memory for the next query."""

    opened: OpenedTable
    settings: SecondarySettings = field(default_factory=SecondarySettings)

    def query(
        self,
        where: str | Expression,
        columns: Sequence[str] | None = None,
        *,
        limit: int | None = None,
        path: Sequence[str] = (),
    ) -> pa.Table:
        """Return the rows that satisfy a condition, exactly a scan's rows, in any order.

        ``columns``: also fields of structs, ``p.z``, and names in backticks.
        """
        return self.answer(where, columns, limit=limit, path=path).rows

    def explain(self, where: str | Expression, columns: Sequence[str] | None = None) -> Plan:
        """Return all candidates with their estimates, the chosen one and the reason; no row is fetched."""
        question = self._question(where, columns)
        return self._plan(question, PostingReader(question.state.segments), (), None, is_count=False)

    def answer(
        self,
        where: str | Expression,
        columns: Sequence[str] | None = None,
        *,
        limit: int | None = None,
        path: Sequence[str] = (),
        is_count: bool = False,
    ) -> QueryResult:
        """Return the rows that satisfy a condition, or with ``is_count`` their number, and statistics.

        ``path``: forces the indexes to intersect, or ``scan``. Raises UnsupportedQuery, ConfigError and
        SourceError.
        """
        with counted_bytes() as beside:
            return self._answer(where, columns, limit, path, beside, is_count=is_count)

    def _answer(
        self,
        where: str | Expression,
        columns: Sequence[str] | None,
        limit: int | None,
        path: Sequence[str],
        beside: BytesRead,
        *,
        is_count: bool,
    ) -> QueryResult:
        """``beside``: the bytes of footers and indexes, which are counted where they are read."""
        began = time.perf_counter()
        question = self._question(where, () if is_count else columns)
        reader = PostingReader(question.state.segments)
        plan = self._plan(question, reader, path, limit, is_count=is_count)
        fetch = _Fetch(question, reader, limit, self.settings, is_count=is_count)
        found = 0
        pieces: list[pa.Table] = []
        for count, rows_of_piece in fetch.found(plan) if limit != 0 else ():
            kept = count if limit is None else min(count, limit - found)
            found += kept
            if rows_of_piece is not None and not is_count:
                pieces.append(rows_of_piece.slice(0, kept))
            if limit is not None and found >= limit:
                break
        schema = pa.schema([question.state.schema.columns.field(name) for name in question.columns])
        rows = _of_fields(pa.concat_tables(pieces) if pieces else schema.empty_table(), question.fields)
        stats = {
            "path": list(plan.chosen),
            "rows": found,
            "candidates_read": {name: read.entries for name, read in sorted(reader.read.items())},
            "row_groups_read": fetch.counts.row_groups,
            "pages_read": fetch.counts.pages,
            "row_groups_total": question.state.row_groups,
            "bytes_read": fetch.counts.bytes + beside.bytes,
            "bytes_total": question.state.bytes_total,
            "ms": round((time.perf_counter() - began) * 1000, 3),
        }
        return QueryResult(rows, found, stats, plan)

    def _question(self, where: str | Expression, columns: Sequence[str] | None) -> _Question:
        state = self.opened.now()
        names = state.schema.columns.names
        fields = tuple((name,) for name in names) if columns is None else _resolved(columns, state)
        fetched = tuple(dict.fromkeys(path[0] for path in fields))
        if isinstance(where, str):
            return _Question(state, *state.condition(where), fetched, fields)
        return _Question(state, where, access_paths(where, state.indexes), fetched, fields)

    def _plan(
        self,
        question: _Question,
        reader: PostingReader,
        forced: Sequence[str],
        limit: int | None,
        *,
        is_count: bool,
    ) -> Plan:
        if forced:
            chosen = _forced(question.mapping.paths, forced)
            is_covered = len(chosen) == 1 and not is_count and question.covering(chosen) is not None
            if not chosen:
                return Plan((), SCAN, "asked for")
            return forced_plan(chosen, reader, in_steps=limit is not None or is_covered)
        if isinstance(question.condition, Literal) and question.condition.python is True:
            return Plan((), SCAN, "all rows are asked for")
        cost = question.cost(self.settings)
        covering = None if is_count else question.covering(question.mapping.paths)
        covered: Sequence[Path] = () if covering is None else (covering,)
        if is_count and not question.mapping.residual(question.mapping.paths):
            covered = question.mapping.paths
        return choose_plan(
            question.mapping, reader, cost, covered=covered, with_rows=not is_count, limit=limit
        )


def open_table(
    path: str,
    *,
    metadata_root: str | None = None,
    settings: SecondarySettings | None = None,
    file_format: str | None = None,
    version: int | None = None,
) -> IndexedTable:
    """Open a table that has secondary indexes.

    ``file_format``: the table's format, instead of the one found when the indexes were made. ``version``: a
    version of a Delta table, instead of the newest at each query; its files that are not indexed are scanned.

    Raises SourceError for a table that has no secondary indexes or cannot have any, and StorageError for
    metadata that cannot be read.
    """
    metadata = existing_indexes(path, metadata_root, file_format)
    opened = OpenedTable(path, metadata, metadata_root, file_format, version)
    return IndexedTable(opened, settings or SecondarySettings())


def _forced(paths: Sequence[Path], forced: Sequence[str]) -> list[Path]:
    """Return the paths that use only ``forced`` indexes, in their order; none for a scan."""
    if tuple(forced) == SCAN:
        return []
    chosen = [each for each in paths if set(path_indexes(each)) <= set(forced)]
    used = {name for each in chosen for name in path_indexes(each)}
    for name in forced:
        if name not in used:
            served = sorted({" with ".join(path_indexes(each)) for each in paths})
            raise ConfigError(
                f"{printable(name)} serves no predicate"
                f"{' with these indexes' if len(set(forced)) > 1 else ' alone'}; "
                f"there are: {', '.join([*served, *SCAN])}",
                setting="path",
            )
    chosen.sort(key=lambda each: (isinstance(each, WithoutPath), min(map(forced.index, path_indexes(each)))))
    return chosen


@dataclass
class _Fetch:
    """Finds the rows of a plan, or counts them, until a limit."""

    question: _Question
    reader: PostingReader
    limit: int | None
    settings: SecondarySettings
    is_count: bool
    counts: FetchCounts = field(default_factory=FetchCounts)

    def __post_init__(self) -> None:
        """Set a slow pace where a limit may end the fetch."""
        self.pace = None if self.limit is None else GrowingReads(self.limit)

    def found(self, plan: Plan) -> Iterator[tuple[int, pa.Table | None]]:
        """Yield numbers of rows, with the rows themselves where they were fetched."""
        state = self.question.state
        residual = self.question.mapping.residual
        covering = self.question.covering(plan.paths) if not self.is_count and len(plan.paths) == 1 else None
        if not plan.paths:
            for file in state.indexed_files():
                yield from self._rows(file, None, (self.question.condition,))
        elif self.is_count and not residual(plan.paths):
            live = {segment.name: segment.all_rows for segment in state.segments}
            for window in self._windows(plan, weighed=None):
                yield window.rows.intersection_cardinality(live[window.segment]), None
        elif covering is not None:
            schema = pa.schema([state.schema.columns.field(name) for name in self.question.columns])
            for keys in covered_rows(covering, self.reader, schema.field(0).type):
                yield len(keys), pa.table([keys] * len(schema), schema=schema)
        else:
            for window in self._windows(plan, self._weighed(plan)):
                yield from self._rows_at(window)
        for file in state.beside:
            yield from self._rows(file, None, (self.question.condition,))

    def _rows_at(self, window: Window) -> Iterator[tuple[int, pa.Table]]:
        """Yield the rows of a window that satisfy the predicates that its paths leave open."""
        addresses = addresses_in(window.rows)
        files = file_of(addresses)
        begin = np.flatnonzero(np.diff(files, prepend=-1))
        at = ((int(files[start]), start, end) for start, end in pairwise([*begin.tolist(), len(files)]))
        known = ((self.question.state.file(window.segment, file), start, end) for file, start, end in at)
        parts = (
            FileRows(file, row_of(addresses[start:end])) for file, start, end in known if file is not None
        )
        left = self.question.mapping.residual(window.paths)
        if self.pace is not None:
            for part in parts:
                yield from self._rows(part.file, part.positions, left)
            return
        wanted = _wanted(self.question, left, is_count=self.is_count)
        for rows in fetch_of_files(parts, wanted, self.counts):
            yield rows.num_rows, rows

    def _windows(self, plan: Plan, weighed: WeighedLists | None) -> Iterable[Window]:
        if plan.rows is not None:
            return (Window(segment, rows, plan.paths) for segment, rows in plan.rows.items())
        return self.reader.windows(plan.paths, _EVERY if self.limit is None else self.limit, weighed)

    def _weighed(self, plan: Plan) -> WeighedLists | None:
        """Return the weights for lists that a limit may make superfluous; None where all are read anyway."""
        if self.limit is None or plan.rows is not None or len(plan.paths) < 2:
            return None
        cost, mapping = self.question.cost(self.settings), self.question.mapping

        def piece_ms(path: Path) -> float:
            whole_ms = cost.gather(self.reader.reads(path))
            return whole_ms / max(self.reader.pieces(path), 1)

        def fetch_ms(window: Window) -> float:
            units = cost.layout.units_holding({window.segment: window.rows})
            return cost.fetch(units, len(window.rows), mapping.residual(window.paths), 1.0)

        return WeighedLists(piece_ms, fetch_ms)

    def _rows(
        self, file: DataFileOfTable, positions: Positions | None, predicates: Sequence[Expression]
    ) -> Iterator[tuple[int, pa.Table]]:
        wanted = _wanted(self.question, predicates, is_count=self.is_count)
        for rows in fetch_rows(file, positions, wanted, self.counts, self.pace):
            yield rows.num_rows, rows


def _wanted(question: _Question, predicates: Sequence[Expression], *, is_count: bool) -> Wanted:
    columns = question.columns
    if is_count or not columns:
        # Rows are counted on one column: a predicate's, since that is read in any case.
        of_predicates = [name for each in predicates for name in columns_in(each)]
        columns = tuple([*columns, *of_predicates, question.state.schema.columns.names[0]][:1])
    return Wanted(question.state.schema, columns, tuple(predicates))


def _of_fields(rows: pa.Table, fields: Sequence[tuple[str, ...]]) -> pa.Table:
    """Return columns, and fields of structs by their dotted names."""
    if all(len(path) == 1 for path in fields):
        return rows
    names = [path[0] if len(path) == 1 else column_name(path) for path in fields]
    return pa.table([field_values(rows, path) for path in fields], names=names)


def _resolved(columns: Sequence[str], state: TableView) -> tuple[tuple[str, ...], ...]:
    """Return the paths of columns and of fields of structs; case does not matter."""
    known = state.schema.types()
    small: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for path in known:
        small.setdefault(tuple(part.lower() for part in path), []).append(path)
    found: dict[tuple[str, ...], None] = {}
    for name in columns:
        # A name may be quoted as in SQL, or be a column's exact name.
        readings = tuple(dict.fromkeys([*_parsed(name), (name,)]))
        near = [each for path in readings for each in small.get(tuple(map(str.lower, path)), ())]
        exact = next((path for path in readings if path in known), None)
        if exact is None and len(near) > 1:
            raise ConfigError(f"several columns are called {printable(name, 200)}", setting="columns")
        if exact is None and not near:
            raise ConfigError(f"the table has no column {printable(name, 200)}", setting="columns")
        path = near[0] if exact is None else exact
        if path in found:
            raise ConfigError(f"column {printable(name, 200)} is asked for twice", setting="columns")
        found[path] = None
    return tuple(found)


def _parsed(name: str) -> list[tuple[str, ...]]:
    try:
        return [column_path(name)]
    except ConfigError:
        return []
