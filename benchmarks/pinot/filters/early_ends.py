"""Segments that Pinot 0.11 visits for a query that may end before it has seen all rows.

A selection takes LIMIT rows of each segment and goes on to the next one until it has enough; one with ORDER
BY skips segments whose least (or greatest) value lies behind the rows found; a DISTINCT looks after each
10,000 matches whether it has LIMIT values. On two cores one thread goes through the segments, in an order
that follows from a hash of their names, so that what is expected is the mean over all orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, permutations, product
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


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """``limits``: matches that end a segment's scan, None for all. ``visits``: segments, by chance."""

    limits: tuple[int | None, ...]
    visits: tuple[tuple[frozenset[int], float], ...]

    def expected(self, entries: Callable[[int, int | None], float]) -> float:
        """Return the mean of the entries that the visited segments read; ``entries(segment, limit)``."""
        read = [entries(segment, limit) for segment, limit in enumerate(self.limits)]
        return sum(chance * sum(read[segment] for segment in visited) for visited, chance in self.visits)


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
        return EarlyEnd(everything, ((frozenset(), 1.0),))
    if query.is_distinct:
        if query.order:
            return EarlyEnd(everything, ((frozenset(range(len(segments))), 1.0),))
        return _distinct(query, segments)
    if not query.order:
        found = [min(len(segment.rows), query.limit) for segment in segments]
        return EarlyEnd((query.limit,) * len(segments), _until(found, query.limit))
    return _ordered(query, segments)


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
    visits = []
    for order in _orders([range(len(segments))]):
        merged: set[Any] = set()
        visited = []
        for number in order:
            visited.append(number)
            merged |= values[number]
            if len(merged) >= query.limit:
                break
        visits.append(frozenset(visited))
    return EarlyEnd(tuple(limits), _chances(visits))


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
        return EarlyEnd(limits, ((frozenset(range(len(segments))), 1.0),))
    ends = [segment.ends(first)[1 if descends else 0] for segment in segments]
    boundaries = []
    for segment in segments:
        values = sorted(segment.values(first, segment.rows), reverse=descends)
        boundaries.append(values[kept - 1] if len(values) >= kept else None)
    ranked = sorted(range(len(segments)), key=lambda number: ends[number], reverse=descends)
    ties = [list(those) for _, those in groupby(ranked, key=lambda number: ends[number])]
    visits = []
    for order in _orders(ties):
        boundary = None
        visited = []
        for number in order:
            if boundary is not None:
                is_behind = ends[number] < boundary if descends else ends[number] > boundary
                if is_behind or (ends[number] == boundary and len(query.order) == 1):
                    break
            visited.append(number)
            found = boundaries[number]
            if found is not None:
                nearer = max if descends else min
                boundary = found if boundary is None else nearer(boundary, found)
        visits.append(frozenset(visited))
    return EarlyEnd(limits, _chances(visits))


def _until(found: Sequence[int], limit: int) -> tuple[tuple[frozenset[int], float], ...]:
    visits = []
    for order in _orders([range(len(found))]):
        rows = 0
        visited = []
        for number in order:
            visited.append(number)
            rows += found[number]
            if rows >= limit:
                break
        visits.append(frozenset(visited))
    return _chances(visits)


def _orders(ties: Iterable[Iterable[int]]) -> Iterator[list[int]]:
    for parts in product(*(permutations(tie) for tie in ties)):
        yield [number for part in parts for number in part]


def _chances(visits: Sequence[frozenset[int]]) -> tuple[tuple[frozenset[int], float], ...]:
    return tuple((each, visits.count(each) / len(visits)) for each in dict.fromkeys(visits))
