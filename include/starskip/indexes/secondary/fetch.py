"""Fetch rows at addresses: only the pages that hold some, only the columns asked for, until a limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.indexes.secondary.data_file import DataFileOfTable
from starskip.indexes.secondary.read_pieces import read_pieces
from starskip.indexes.secondary.read_rows import FetchCounts, read_positions, read_row_groups, together
from starskip.indexes.secondary.row_filter import columns_in, row_filter
from starskip.indexes.secondary.table_schema import TableSchema
from starskip.lake.parquet_pages import Numbers
from starskip.predicates.expression import Call, Expression

_ROWS_AT_ONCE = 1 << 20
"""Rows of neighbouring row groups that are read in one request."""


@dataclass
class Pace:
    """Pace of a fetch that ends with ``rows``: a row group first, then twice as many at each read."""

    rows: int
    row_groups: int = 1

    def pieces(self, groups: Sequence[int], row_counts: Numbers) -> Iterator[list[int]]:
        """Cut row groups into what is read at once, as long as rows are missing."""
        at = 0
        while at < len(groups) and self.rows > 0:
            some = groups[at : at + self.row_groups]
            at += len(some)
            self.row_groups *= 2
            for piece in together(some, row_counts, _ROWS_AT_ONCE):
                if self.rows > 0:
                    yield piece


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns of the answer, and the predicates that its rows must still satisfy."""

    schema: TableSchema
    columns: tuple[str, ...]
    predicates: tuple[Expression, ...]

    @property
    def predicate_columns(self) -> tuple[str, ...]:
        """The columns of the predicates."""
        return tuple(dict.fromkeys(name for each in self.predicates for name in columns_in(each)))

    def holds(self, rows: pa.Table) -> pa.Array:
        """Return which rows satisfy the predicates."""
        return row_filter(reduce(lambda one, two: Call("And", (one, two)), self.predicates), rows)


def fetch_rows(
    file: DataFileOfTable,
    positions: npt.NDArray[np.int64] | None,
    wanted: Wanted,
    counts: FetchCounts,
    pace: Pace | None = None,
) -> Iterator[pa.Table]:
    """Yield the rows of a file at rising positions, of all rows for None, that satisfy the predicates.

    ``pace``: how it goes on where it ends early; it may give more rows than that asks for.
    Raises SourceError naming a file that cannot be read.
    """
    if file.is_pieced:
        yield from _of_pieces(file, positions, wanted, counts, pace)
        return
    row_counts = file.row_group_rows()
    starts = np.cumsum(row_counts) - row_counts
    if positions is None:
        groups = np.arange(len(row_counts))
    else:
        if pace is not None and not wanted.predicates:
            positions = positions[: pace.rows]
        begin = np.searchsorted(positions, starts)
        groups = np.flatnonzero(np.diff(begin, append=len(positions)))
    listed = groups.tolist()
    for piece in (
        together(listed, row_counts, _ROWS_AT_ONCE) if pace is None else pace.pieces(listed, row_counts)
    ):
        counts.row_groups += len(piece)
        if positions is None:
            kept = _scanned(file, {group: int(row_counts[group]) for group in piece}, wanted, counts)
        else:
            kept = _looked_up(file, _by_group(positions, piece, starts, row_counts), wanted, counts)
        counts.rows += kept.num_rows
        if pace is not None:
            pace.rows -= kept.num_rows
        if kept.num_rows:
            yield kept


def _of_pieces(
    file: DataFileOfTable,
    positions: npt.NDArray[np.int64] | None,
    wanted: Wanted,
    counts: FetchCounts,
    pace: Pace | None,
) -> Iterator[pa.Table]:
    """Read a file from its beginning, without stripes and blocks that hold no position, until a limit."""
    if pace is not None and positions is not None and not wanted.predicates:
        positions = positions[: pace.rows]
    if (pace is not None and pace.rows <= 0) or (positions is not None and not len(positions)):
        return
    names = tuple(dict.fromkeys([*wanted.predicate_columns, *wanted.columns]))
    last_unit = None
    for piece in read_pieces(file, wanted.schema, names, positions):
        counts.row_groups += piece.unit != last_unit
        last_unit = piece.unit
        rows = piece.rows
        if positions is not None:
            first, last = np.searchsorted(positions, [piece.start, piece.start + rows.num_rows])
            rows = rows.take(pa.array(positions[first:last] - piece.start))
        if wanted.predicates:
            rows = rows.filter(wanted.holds(rows))
        counts.rows += rows.num_rows
        if rows.num_rows:
            yield rows.select(list(wanted.columns))
        if pace is not None:
            pace.rows -= rows.num_rows
            if pace.rows <= 0:
                return


def _scanned(
    file: DataFileOfTable, groups: Mapping[int, int], wanted: Wanted, counts: FetchCounts
) -> pa.Table:
    """Read whole row groups; ``groups`` tells their rows."""
    first = wanted.predicate_columns or wanted.columns
    asked, size = read_row_groups(file, list(groups), wanted.schema, first)
    counts.bytes += size
    if not wanted.predicates:
        return asked.select(list(wanted.columns))
    every = {group: np.arange(rows) for group, rows in groups.items()}
    return _completed(file, every, asked, wanted, counts)


def _looked_up(
    file: DataFileOfTable, groups: Mapping[int, Numbers], wanted: Wanted, counts: FetchCounts
) -> pa.Table:
    """Read rows at positions of row groups."""
    if not wanted.predicates:
        return read_positions(file, groups, wanted.schema, wanted.columns, counts)
    first = wanted.predicate_columns or wanted.columns[:1]
    asked = read_positions(file, groups, wanted.schema, first, counts)
    return _completed(file, groups, asked, wanted, counts)


def _completed(
    file: DataFileOfTable,
    groups: Mapping[int, Numbers],
    asked: pa.Table,
    wanted: Wanted,
    counts: FetchCounts,
) -> pa.Table:
    """Filter rows by the columns of the predicates, and read all other columns only of what these leave."""
    holds = wanted.holds(asked)
    mask = np.asarray(holds.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
    first = asked.column_names
    asked = asked.filter(holds)
    rest = [name for name in wanted.columns if name not in first]
    if rest and asked.num_rows:
        others = read_positions(file, _kept(groups, mask), wanted.schema, rest, counts)
        asked = asked.select([name for name in wanted.columns if name in first])
        for name in rest:
            asked = asked.append_column(others.schema.field(name), others[name])
    elif rest:
        return pa.schema([wanted.schema.columns.field(name) for name in wanted.columns]).empty_table()
    return asked.select(list(wanted.columns))


def _kept(groups: Mapping[int, Numbers], mask: npt.NDArray[np.bool_]) -> dict[int, Numbers]:
    found = {}
    before = 0
    for group, positions in groups.items():
        kept = positions[mask[before : before + len(positions)]]
        before += len(positions)
        if len(kept):
            found[group] = kept
    return found


def _by_group(
    positions: npt.NDArray[np.int64], groups: Sequence[int], starts: Numbers, row_counts: Numbers
) -> dict[int, Numbers]:
    """Return positions in a file as positions in its row groups."""
    found = {}
    for group in groups:
        start, count = int(starts[group]), int(row_counts[group])
        first, last = np.searchsorted(positions, [start, start + count])
        found[group] = positions[first:last] - start
    return found
