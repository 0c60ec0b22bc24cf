"""Fetch rows at addresses: only the row groups that hold some, only the columns asked for, until a limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.indexes.secondary.read_rows import DataFileOfTable, read_row_groups, together
from starskip.indexes.secondary.row_filter import columns_in, row_filter
from starskip.indexes.secondary.table_schema import TableSchema
from starskip.predicates.expression import Call, Expression

_ROWS_AT_ONCE = 1 << 20
"""Rows of neighbouring row groups that are read in one request."""


@dataclass
class FetchCounts:
    """What a fetch has read of the table."""

    row_groups: int = 0
    bytes: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns of the answer, and the predicates that its rows must still satisfy."""

    schema: TableSchema
    columns: tuple[str, ...]
    predicates: tuple[Expression, ...]

    @property
    def read_columns(self) -> tuple[str, ...]:
        """The columns to read, those of the predicates too."""
        of_predicates = [name for each in self.predicates for name in columns_in(each)]
        return tuple(dict.fromkeys([*self.columns, *of_predicates]))

    def kept(self, rows: pa.Table, places: npt.NDArray[np.int64] | None) -> pa.Table:
        """Return the rows at places that satisfy the predicates, with the columns of the answer.

        Columns of the predicates are taken first, and all others only of the rows that are left.
        """
        if not self.predicates:
            found = rows.select(list(self.columns))
            return found if places is None else found.take(pa.array(places))
        condition = reduce(lambda one, two: Call("And", (one, two)), self.predicates)
        asked = rows.select(list(columns_in(condition)) or list(self.columns))
        if places is None:
            return rows.select(list(self.columns)).filter(row_filter(condition, asked))
        holds = row_filter(condition, asked.take(pa.array(places)))
        return rows.select(list(self.columns)).take(pa.array(places).filter(holds))


def fetch_rows(
    file: DataFileOfTable, positions: npt.NDArray[np.int64] | None, wanted: Wanted, counts: FetchCounts
) -> Iterator[pa.Table]:
    """Yield the rows of a file at rising positions, of all rows for None, that satisfy the predicates.

    Raises SourceError naming a file that cannot be read.
    """
    row_counts = file.row_group_rows()
    starts = np.cumsum(row_counts) - row_counts
    if positions is None:
        groups = np.arange(len(row_counts))
    else:
        groups = np.unique(np.searchsorted(starts, positions, side="right") - 1)
    for piece in together(groups.tolist(), row_counts, _ROWS_AT_ONCE):
        counts.row_groups += len(piece)
        rows, size = read_row_groups(file, piece, wanted.schema, wanted.read_columns)
        counts.bytes += size
        places = None if positions is None else _places(positions, piece, starts, row_counts)
        kept = wanted.kept(rows, places)
        counts.rows += kept.num_rows
        if kept.num_rows:
            yield kept


def _places(
    positions: npt.NDArray[np.int64], groups: Sequence[int], starts: Any, row_counts: Any
) -> npt.NDArray[np.int64]:
    """Return where the positions of some row groups lie in the rows of these groups, one after the other."""
    found = []
    before = 0
    for group in groups:
        start, count = int(starts[group]), int(row_counts[group])
        first, last = np.searchsorted(positions, [start, start + count])
        found.append(positions[first:last] - start + before)
        before += count
    return np.concatenate(found)
