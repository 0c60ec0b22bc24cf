"""Early ends: how far Pinot 0.11 reads segments for a query that may end before it has seen all rows.

A selection takes LIMIT rows of each segment and goes on to the next one until it has enough; one with ORDER
BY takes the segments by their least (or greatest) values, and leaves out those that lie behind the rows
found; a DISTINCT looks after each 10,000 matches whether it has LIMIT values. One thread goes through the
segments in an order that is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import sqlglot
from sqlglot import exp
from starskip.sql.pinot_dialect import PinotDialect
from starskip.tables.row_window import RowWindow

BLOCK_ROWS = 10_000
Mask = npt.NDArray[np.bool_]
Order = Sequence[int]


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """``limits``: by segment, matches that end its scan, None for all.

    ``visited``: an order of the segments -> those that are read.
    """

    limits: tuple[int | None, ...]
    visited: Callable[[Order], Order]

    def entries(self, order: Order, read: Callable[[int, int | None], float]) -> float:
        """Return the entries that the visited segments read; ``read(segment, limit)``."""
        return sum(read(number, self.limits[number]) for number in self.visited(order))


class Segment:
    """The rows of a segment that pass the filter."""

    def __init__(self, window: RowWindow, mask: Mask, sorted_columns: frozenset[str]) -> None:
        self.window = window
        self.rows = np.flatnonzero(mask)
        self.sorted_columns = sorted_columns

    def values(self, column: str, rows: npt.NDArray[np.int64]) -> list[Any]:
        found = self.window.columns[column]
        distinct = found.dictionary if found.dictionary is not None else found.values
        assert distinct is not None
        if found.offsets is None:
            texts: list[Any] = distinct.take(pa.array(found.codes[rows])).to_pylist()
            return texts
        lists = (found.codes[found.offsets[row] : found.offsets[row + 1]] for row in rows)
        return [tuple(distinct.take(pa.array(codes)).to_pylist()) for codes in lists]

    def ends(self, column: str) -> tuple[Any, Any]:
        found = self.window.columns[column]
        distinct = found.dictionary if found.dictionary is not None else found.values
        assert distinct is not None
        ordered = distinct.sort()
        return ordered[0].as_py(), ordered[-1].as_py()


class _Query:
    def __init__(self, sql: str) -> None:
        self._select = sqlglot.parse_one(sql, dialect=PinotDialect)

    @cached_property
    def limit(self) -> int:
        found = self._select.args.get("limit")
        return int(found.expression.this) if found else 10

    @cached_property
    def offset(self) -> int:
        found = self._select.args.get("offset")
        return int(found.expression.this) if found else 0

    @property
    def is_distinct(self) -> bool:
        return self._select.args.get("distinct") is not None

    @property
    def columns(self) -> list[str]:
        return [item.name for item in self._select.expressions]

    @cached_property
    def order(self) -> list[tuple[str | None, bool]]:
        """Each expression's column, None for a function, and whether it descends."""
        found = self._select.args.get("order")
        ordered = found.expressions if found else []
        return [
            (each.this.name if isinstance(each.this, exp.Column) else None, bool(each.args.get("desc")))
            for each in ordered
        ]


def early_end(sql: str, segments: Sequence[Segment]) -> EarlyEnd:
    """Return how far ``sql``, a selection or a DISTINCT, goes."""
    query = _Query(sql)
    everything: tuple[int | None, ...] = (None,) * len(segments)
    if query.limit == 0:
        return EarlyEnd(everything, lambda _: ())
    if query.is_distinct:
        return EarlyEnd(everything, lambda order: order) if query.order else _distinct(query, segments)
    if not query.order:
        return _unordered(query, segments)
    return _ordered(query, segments)


def _unordered(query: _Query, segments: Sequence[Segment]) -> EarlyEnd:
    def visited(order: Order) -> Order:
        rows = 0
        for position, number in enumerate(order, 1):
            rows += len(segments[number].rows)
            if rows >= query.limit:
                return order[:position]
        return order

    return EarlyEnd((query.limit,) * len(segments), visited)


def _distinct(query: _Query, segments: Sequence[Segment]) -> EarlyEnd:
    limits: list[int | None] = []
    values = []
    for segment in segments:
        seen: set[Any] = set()
        limit: int | None = None
        for start in range(0, len(segment.rows), BLOCK_ROWS):
            rows = segment.rows[start : start + BLOCK_ROWS]
            seen.update(zip(*(segment.values(column, rows) for column in query.columns), strict=True))
            if len(seen) >= query.limit:
                limit = start + BLOCK_ROWS
                break
        limits.append(limit)
        values.append(seen)

    def visited(order: Order) -> Order:
        merged: set[Any] = set()
        for position, number in enumerate(order, 1):
            merged |= values[number]
            if len(merged) >= query.limit:
                return order[:position]
        return order

    return EarlyEnd(tuple(limits), visited)


def _ordered(query: _Query, segments: Sequence[Segment]) -> EarlyEnd:
    kept = query.limit + query.offset
    names = [name for name, _ in query.order]
    is_plain = not any(descends for _, descends in query.order)
    limits = tuple(
        kept if is_plain and all(name in segment.sorted_columns for name in names) else None
        for segment in segments
    )
    first, descends = query.order[0]
    if first is None or any(segment.window.columns[first].offsets is not None for segment in segments):
        return EarlyEnd(limits, lambda order: order)
    ends = [segment.ends(first)[1 if descends else 0] for segment in segments]
    values = [sorted(segment.values(first, segment.rows), reverse=descends)[:kept] for segment in segments]

    def visited(order: Order) -> Order:
        # Segments of the same least (or greatest) value stay in the order that is told.
        ranked = sorted(order, key=ends.__getitem__, reverse=descends)
        merged: list[Any] = []
        for position, number in enumerate(ranked):
            # The thread knows its own rows of each segment, and those of all but the last merged.
            known = [merged, *(values[each] for each in ranked[:position])]
            boundaries = [these[kept - 1] for these in known if len(these) >= kept]
            if boundaries:
                boundary = max(boundaries) if descends else min(boundaries)
                is_behind = ends[number] < boundary if descends else ends[number] > boundary
                if is_behind or (ends[number] == boundary and len(query.order) == 1):
                    return ranked[:position]
            if position:
                merged = sorted(merged + values[ranked[position - 1]], reverse=descends)[:kept]
        return ranked

    return EarlyEnd(limits, visited)
