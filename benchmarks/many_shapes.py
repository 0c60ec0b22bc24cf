"""Logs of as many distinct query shapes as asked for, as programs write them.

Each query of the sample's two tables has its own columns in its own order, generated aliases, a comment of
the program that wrote it, aggregations or a selection, and one to five predicates over the table's columns
with literals from its rows. Each shape comes once; a fifth as many further records ask busy ones again. What
a query scanned is drawn from a heavy tail: a few shapes scan most of the entries, as in logs of users.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.sql.normalize_sql import normalize_sql

_BUSY_SHAPES = 300
_VALUES = 200


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    values: tuple[str, ...]
    is_number: bool


@dataclass(frozen=True, slots=True)
class LoggedQuery:
    """A query of the log and what its broker counted."""

    table: str
    text: str
    rows_total: int
    entries: int


class ManyShapes:
    """Draws queries of the tables below ``segments``; the same ones for the same seed."""

    def __init__(self, segments: Path, seed: int) -> None:
        self._draw = random.Random(seed)
        self._tables = dict(_tables(segments))

    def queries(self, shapes: int) -> Iterator[LoggedQuery]:
        """Yield ``shapes`` queries of distinct skeletons, and a fifth as many that repeat busy ones."""
        seen: set[int] = set()
        busy: list[Callable[[], LoggedQuery]] = []
        while len(seen) < shapes:
            again = self._shape()
            query = again()
            key = hash(normalize_sql(query.text).skeleton)
            if key in seen:
                continue
            seen.add(key)
            if len(busy) < _BUSY_SHAPES:
                busy.append(again)
            yield query
            if self._draw.random() < 0.2:
                # Of the k-th busiest shape one query in k: the first one is asked most.
                yield busy[min(int(len(busy) ** self._draw.random()) - 1, len(busy) - 1)]()

    def _shape(self) -> Callable[[], LoggedQuery]:
        """Return what draws queries of one shape, each with other literals."""
        draw = self._draw
        table = "lineitem" if draw.random() < 0.5 else "airlineStats"
        columns, rows = self._tables[table]
        selected, behind = self._select_list(columns)
        chosen = draw.sample(columns, min(int(draw.paretovariate(1.2)) + 1, 5))
        predicates = [(column, self._predicate(column)) for column in chosen]
        joint = draw.choice((" AND ", " AND ", " AND ", " OR "))
        mean_entries = rows * len(chosen) * draw.paretovariate(1.1) / 20

        def query() -> LoggedQuery:
            where = joint.join(predicate() for _, predicate in predicates)
            comment = f"/* app:orders,request:{draw.getrandbits(32):08x} */ "
            text = f"{comment}SELECT {selected} FROM {table} WHERE {where}{behind}"
            entries = int(min(mean_entries * draw.uniform(0.5, 1.5), 3 * rows))
            return LoggedQuery(table, text, rows, entries)

        return query

    def _select_list(self, columns: list[_Column]) -> tuple[str, str]:
        draw = self._draw
        named = draw.sample(columns, draw.randint(1, 6))
        if draw.random() < 0.4:
            aliased = (f"{c.name} AS {c.name}{number}_{draw.randrange(3)}_" for number, c in enumerate(named))
            order = f" ORDER BY {named[0].name}" if draw.random() < 0.5 else ""
            return ", ".join(aliased), f"{order} LIMIT {draw.randint(1, 1000)}"
        numbers = [column for column in columns if column.is_number]
        measures = [
            f"{draw.choice(('SUM', 'MIN', 'MAX', 'AVG'))}({c.name}) AS agg_{number}"
            for number, c in enumerate(draw.sample(numbers, draw.randint(1, 3)))
        ]
        keys = ", ".join(column.name for column in named[:3])
        return f"{keys}, {', '.join(measures)}", f" GROUP BY {keys} LIMIT {draw.randint(1, 1000)}"

    def _predicate(self, column: _Column) -> Callable[[], str]:
        draw = self._draw

        def literal() -> str:
            return draw.choice(column.values)

        form = draw.randrange(6)
        if form == 0:
            return lambda: f"{column.name} IN ({', '.join(literal() for _ in range(draw.randint(2, 9)))})"
        if form == 1:
            return lambda: "{} BETWEEN {} AND {}".format(column.name, *sorted((literal(), literal())))
        operator = ("=", "=", ">=", "<>")[form - 2]
        return lambda: f"{column.name} {operator} {literal()}"


def _tables(segments: Path) -> Iterator[tuple[str, tuple[list[_Column], int]]]:
    for table in ("lineitem", "airlineStats"):
        files = list_segments(str(segments), [table])
        facts = read_segment_facts(files[0])
        types = {column.name: column.data_type for column in facts.columns if "$" not in column.name}
        window = read_row_window(files[0], sorted(types), max_rows=10_000)
        columns = []
        for name, column in sorted(window.columns.items()):
            values = column.dictionary if column.dictionary is not None else column.values
            assert values is not None
            some = values.take(np.linspace(0, len(values) - 1, min(_VALUES, len(values)), dtype=np.int64))
            is_number = types[name] in ("INT", "LONG", "FLOAT", "DOUBLE")
            columns.append(_Column(name, tuple(_sql(v, is_number) for v in some.to_pylist()), is_number))
        yield table, (columns, len(files) * window.segment_rows)


def _sql(value: object, is_number: bool) -> str:
    return str(value) if is_number else "'" + str(value).replace("'", "''") + "'"
