"""A table with its secondary indexes, opened to answer queries in one process.

Each query sees the table's files as they are now: what an index knows of a file counts only if the file is
the one that was indexed; new and changed files are scanned beside it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from starskip.errors import ConfigError, printable
from starskip.indexes.secondary.access_paths import (
    Path,
    PathMapping,
    WithoutPath,
    access_paths,
    path_indexes,
)
from starskip.indexes.secondary.cost import Cost
from starskip.indexes.secondary.entries import addresses_in, file_of, row_of
from starskip.indexes.secondary.fetch import Wanted, fetch_rows
from starskip.indexes.secondary.lifecycle import existing_indexes
from starskip.indexes.secondary.plan import SCAN, Plan, choose_plan, forced_plan
from starskip.indexes.secondary.postings import PostingReader
from starskip.indexes.secondary.read_rows import FetchCounts
from starskip.indexes.secondary.row_filter import columns_in
from starskip.indexes.secondary.settings import SecondarySettings
from starskip.indexes.secondary.spatial_functions import CONTAINS, DISTANCE
from starskip.indexes.secondary.table_schema import field_values
from starskip.indexes.secondary.table_state import OpenedTable, TableState
from starskip.indexes.secondary.where_clause import where_expression
from starskip.predicates.column_name import column_name, column_path
from starskip.predicates.expression import Call, Expression, Literal, nodes

_SLOW = frozenset({CONTAINS, DISTANCE, "Levenshtein"})
"""Functions that cost more of a row than reading it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query, or their number alone, and how they were found."""

    rows: pa.Table
    count: int
    stats: Mapping[str, Any]
    plan: Plan


@dataclass(frozen=True, slots=True)
class _Question:
    """A condition bound to the table's columns, with the paths that serve it.

    ``columns``: those that are fetched; ``fields``: the columns and fields of structs that are answered.
    """

    state: TableState
    condition: Expression
    mapping: PathMapping
    columns: tuple[str, ...]
    fields: tuple[tuple[str, ...], ...]


@dataclass
class IndexedTable:
    """Answers queries; what was read of indexes and footers stays in memory for the next one."""

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
        """Return the rows that satisfy a condition, exactly those of a scan, in any order.

        ``columns``: also fields of structs, ``p.z``, and names in backticks.
        """
        return self.answer(where, columns, limit=limit, path=path).rows

    def explain(self, where: str | Expression, columns: Sequence[str] | None = None) -> Plan:
        """Return all candidates with their estimates, the chosen one and the reason; no row is fetched."""
        question = self._question(where, columns)
        return self._plan(question, PostingReader(question.state.segments), (), is_count=False)

    def answer(
        self,
        where: str | Expression,
        columns: Sequence[str] | None = None,
        *,
        limit: int | None = None,
        path: Sequence[str] = (),
        is_count: bool = False,
    ) -> Answer:
        """Return the rows that satisfy a condition, or with ``is_count`` their number, and statistics.

        ``path``: the indexes to intersect in place of what would be chosen, or ``scan``. Raises
        UnsupportedQuery, ConfigError and SourceError.
        """
        began = time.perf_counter()
        question = self._question(where, () if is_count else columns)
        reader = PostingReader(question.state.segments)
        plan = self._plan(question, reader, path, is_count=is_count)
        counts = FetchCounts()
        residual = question.mapping.residual(plan.paths)
        found = 0
        if is_count and plan.rows is not None and not residual:
            found = _live_rows(question.state, plan.rows)
            pieces: list[pa.Table] = []
            found += sum(map(_rows_of, _beside(question, counts, is_count=True)))
        else:
            pieces = []
            for piece in _fetched(question, plan, residual, counts, is_count=is_count):
                wanted = piece if limit is None else piece.slice(0, limit - found)
                found += _rows_of(wanted)
                if not is_count:
                    pieces.append(wanted)
                if limit is not None and found >= limit:
                    break
        schema = pa.schema([question.state.schema.columns.field(name) for name in question.columns])
        rows = _of_fields(pa.concat_tables(pieces) if pieces else schema.empty_table(), question.fields)
        stats = {
            "path": list(plan.chosen),
            "rows": found,
            "candidates_read": {name: read.entries for name, read in sorted(reader.read.items())},
            "row_groups_read": counts.row_groups,
            "pages_read": counts.pages,
            "row_groups_total": question.state.row_groups,
            "bytes_read": counts.bytes + sum(read.bytes for read in reader.read.values()),
            "bytes_total": question.state.bytes_total,
            "ms": round((time.perf_counter() - began) * 1000, 3),
        }
        return Answer(rows, found, stats, plan)

    def _question(self, where: str | Expression, columns: Sequence[str] | None) -> _Question:
        state = self.opened.now()
        names = state.schema.columns.names
        fields = tuple((name,) for name in names) if columns is None else _resolved(columns, state)
        condition = where_expression(where, state.schema) if isinstance(where, str) else where
        fetched = tuple(dict.fromkeys(path[0] for path in fields))
        return _Question(state, condition, access_paths(condition, state.indexes), fetched, fields)

    def _plan(
        self, question: _Question, reader: PostingReader, forced: Sequence[str], *, is_count: bool
    ) -> Plan:
        if forced:
            return _forced(question.mapping.paths, forced, reader)
        if isinstance(question.condition, Literal) and question.condition.python is True:
            return Plan((), SCAN, "all rows are asked for")
        read = tuple(dict.fromkeys([*question.columns, *columns_in(question.condition)]))
        functions = sum(isinstance(each, Call) and each.name in _SLOW for each in nodes(question.condition))
        cost = Cost(
            question.state.layout(read),
            self.settings,
            frozenset(question.columns),
            frozenset(columns_in(question.condition)),
            functions,
        )
        is_covered = is_count and not question.mapping.residual(question.mapping.paths)
        return choose_plan(question.mapping, reader, cost, is_covered=is_covered)


def open_table(
    path: str,
    *,
    metadata_root: str | None = None,
    settings: SecondarySettings | None = None,
    file_format: str | None = None,
    version: int | None = None,
) -> IndexedTable:
    """Open a table of which there are secondary indexes.

    ``file_format``: what the table is kept as, in place of what was found when they were made. ``version``:
    of a Delta table that version, in place of the newest at each query; what is not indexed of it is scanned.

    Raises SourceError where there are none, and StorageError for metadata that cannot be read.
    """
    existing_indexes(path, metadata_root)
    opened = OpenedTable(path, metadata_root, file_format, version)
    return IndexedTable(opened, settings or SecondarySettings())


def _forced(paths: Sequence[Path], forced: Sequence[str], reader: PostingReader) -> Plan:
    """Return the plan of all paths whose indexes are among those asked for, in the order of those."""
    if tuple(forced) == SCAN:
        return Plan((), SCAN, "asked for")
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
    return forced_plan(chosen, reader)


def _fetched(
    question: _Question, plan: Plan, residual: Sequence[Expression], counts: FetchCounts, *, is_count: bool
) -> Iterator[pa.Table]:
    state = question.state
    if plan.rows is None:
        wanted = _wanted(question, (question.condition,), is_count=is_count)
        for file in state.indexed_files():
            yield from fetch_rows(file, None, wanted, counts)
    else:
        wanted = _wanted(question, residual, is_count=is_count)
        for segment, bitmap in plan.rows.items():
            addresses = addresses_in(bitmap)
            files = file_of(addresses)
            for position in np.unique(files).tolist():
                known = state.file(segment, position)
                start, end = np.searchsorted(files, [position, position + 1])
                if known is not None:
                    yield from fetch_rows(known, row_of(addresses[start:end]), wanted, counts)
    yield from _beside(question, counts, is_count=is_count)


def _beside(question: _Question, counts: FetchCounts, *, is_count: bool) -> Iterator[pa.Table]:
    """Yield the rows of new and changed files, which are scanned."""
    wanted = _wanted(question, (question.condition,), is_count=is_count)
    for file in question.state.beside:
        yield from fetch_rows(file, None, wanted, counts)


def _wanted(question: _Question, predicates: Sequence[Expression], *, is_count: bool) -> Wanted:
    columns = question.columns
    if is_count or not columns:
        # Rows are counted on a column, the narrowest that there is in any case: that of a predicate.
        of_predicates = [name for each in predicates for name in columns_in(each)]
        columns = tuple([*columns, *of_predicates, question.state.schema.columns.names[0]][:1])
    return Wanted(question.state.schema, columns, tuple(predicates))


def _live_rows(state: TableState, rows: Mapping[str, BitMap64]) -> int:
    live = {segment.name: segment.all_rows for segment in state.segments}
    return sum(bitmap.intersection_cardinality(live[name]) for name, bitmap in rows.items())


def _rows_of(rows: pa.Table) -> int:
    return int(rows.num_rows)


def _of_fields(rows: pa.Table, fields: Sequence[tuple[str, ...]]) -> pa.Table:
    """Return columns and fields of structs, these by their dotted names."""
    if all(len(path) == 1 for path in fields):
        return rows
    names = [path[0] if len(path) == 1 else column_name(path) for path in fields]
    return pa.table([field_values(rows, path) for path in fields], names=names)


def _resolved(columns: Sequence[str], state: TableState) -> tuple[tuple[str, ...], ...]:
    """Return the paths of columns and of fields of structs, in any case of their letters."""
    known = state.schema.types()
    small: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for path in known:
        small.setdefault(tuple(part.lower() for part in path), []).append(path)
    found: dict[tuple[str, ...], None] = {}
    for name in columns:
        # A name may be quoted as in SQL, or be that of a column as the table has it.
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
