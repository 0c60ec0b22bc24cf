"""Fetch rows at addresses: only the pages that hold some, only the requested columns, until a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.lake.parquet.parquet_pages import Numbers
from starskip.predicates.expression import Call, Expression
from starskip.secondary.data_file import DataFileOfTable
from starskip.secondary.read_rows import (
    ROWS_AT_ONCE,
    FetchCounts,
    FileRows,
    read_positions,
    read_row_groups,
    together,
)
from starskip.secondary.row_batches import read_stripes
from starskip.secondary.row_filter import columns_in, row_filter
from starskip.secondary.table_schema import TableSchema


@dataclass
class GrowingReads:
    """Reads of a fetch that ends with ``rows``: a row group first, then twice as many at each read."""

    rows: int
    row_groups: int = 1

    def pieces(self, groups: Sequence[int], row_counts: Numbers) -> Iterator[list[int]]:
        """Cut row groups into pieces that are read at once, as long as rows are missing."""
        at = 0
        while at < len(groups) and self.rows > 0:
            some = groups[at : at + self.row_groups]
            at += len(some)
            self.row_groups *= 2
            for piece in together(some, row_counts, ROWS_AT_ONCE):
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
    pace: GrowingReads | None = None,
) -> Iterator[pa.Table]:
    """Yield the rows of a file at rising positions, of all rows for None, that satisfy the predicates.

    ``pace``: for a fetch that may end early; the result may have more rows than the pace's limit. Raises
    SourceError naming a file that cannot be read.
    """
    if file.is_orc:
        yield from _of_stripes(file, positions, wanted, counts, pace)
        return
    row_counts = file.row_group_rows()
    if positions is None:
        groups = list(range(len(row_counts)))
    else:
        if pace is not None and not wanted.predicates:
            positions = positions[: pace.rows]
        groups = FileRows(file, positions).row_groups().tolist()
    ends = np.cumsum(row_counts)
    for piece in (
        together(groups, row_counts, ROWS_AT_ONCE) if pace is None else pace.pieces(groups, row_counts)
    ):
        counts.row_groups += len(piece)
        if positions is None:
            kept = _scanned(file, piece, row_counts, wanted, counts)
        else:
            first, last = np.searchsorted(positions, [ends[piece[0]] - row_counts[piece[0]], ends[piece[-1]]])
            kept = _looked_up([FileRows(file, positions[first:last])], wanted, counts)
        counts.rows += kept.num_rows
        if pace is not None:
            pace.rows -= kept.num_rows
        if kept.num_rows:
            yield kept


def fetch_of_files(parts: Iterable[FileRows], wanted: Wanted, counts: FetchCounts) -> Iterator[pa.Table]:
    """Yield the rows of files that satisfy the predicates; several files are read at once.

    Raises SourceError naming a file that cannot be read.
    """
    held: list[FileRows] = []
    rows = 0
    for part in parts:
        if part.file.is_orc:
            yield from _of_stripes(part.file, part.positions, wanted, counts, None)
            continue
        if held and rows + len(part.positions) > ROWS_AT_ONCE:
            yield _looked_up(held, wanted, counts)
            held, rows = [], 0
        held.append(part)
        rows += len(part.positions)
        counts.row_groups += len(part.row_groups())
    if held:
        yield _looked_up(held, wanted, counts)


def _of_stripes(
    file: DataFileOfTable,
    positions: npt.NDArray[np.int64] | None,
    wanted: Wanted,
    counts: FetchCounts,
    pace: GrowingReads | None,
) -> Iterator[pa.Table]:
    """Read the stripes of an ORC file that hold positions, until a limit."""
    if pace is not None and positions is not None and not wanted.predicates:
        positions = positions[: pace.rows]
    if (pace is not None and pace.rows <= 0) or (positions is not None and not len(positions)):
        return
    names = tuple(dict.fromkeys([*wanted.predicate_columns, *wanted.columns]))
    for start, stripe in read_stripes(file, wanted.schema, names, positions):
        counts.row_groups += 1
        rows = stripe
        if positions is not None:
            first, last = np.searchsorted(positions, [start, start + stripe.num_rows])
            rows = stripe.take(pa.array(positions[first:last] - start))
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
    file: DataFileOfTable, groups: Sequence[int], row_counts: Numbers, wanted: Wanted, counts: FetchCounts
) -> pa.Table:
    """Read whole row groups."""
    first = wanted.predicate_columns or wanted.columns
    asked, size = read_row_groups(file, groups, wanted.schema, first)
    counts.bytes += size
    if not wanted.predicates:
        return asked.select(list(wanted.columns))
    starts = np.cumsum(row_counts) - row_counts
    every = np.concatenate([np.arange(row_counts[group]) + starts[group] for group in groups])
    return _completed([FileRows(file, every)], asked, wanted, counts)


def _looked_up(parts: Sequence[FileRows], wanted: Wanted, counts: FetchCounts) -> pa.Table:
    """Read rows of files at their positions."""
    if not wanted.predicates:
        return read_positions(parts, wanted.schema, wanted.columns, counts)
    first = wanted.predicate_columns or wanted.columns[:1]
    asked = read_positions(parts, wanted.schema, first, counts)
    return _completed(parts, asked, wanted, counts)


def _completed(parts: Sequence[FileRows], asked: pa.Table, wanted: Wanted, counts: FetchCounts) -> pa.Table:
    """Filter rows by the predicates' columns, and read all other columns only for the rows that stay."""
    holds = wanted.holds(asked)
    mask = np.asarray(holds.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
    first = asked.column_names
    asked = asked.filter(holds)
    rest = [name for name in wanted.columns if name not in first]
    if rest and asked.num_rows:
        others = read_positions(_kept(parts, mask), wanted.schema, rest, counts)
        asked = asked.select([name for name in wanted.columns if name in first])
        for name in rest:
            asked = asked.append_column(others.schema.field(name), others[name])
    elif rest:
        return pa.schema([wanted.schema.columns.field(name) for name in wanted.columns]).empty_table()
    return asked.select(list(wanted.columns))


def _kept(parts: Sequence[FileRows], mask: npt.NDArray[np.bool_]) -> list[FileRows]:
    found = []
    before = 0
    for part in parts:
        kept = part.positions[mask[before : before + len(part.positions)]]
        before += len(part.positions)
        if len(kept):
            found.append(FileRows(part.file, kept))
    return found
