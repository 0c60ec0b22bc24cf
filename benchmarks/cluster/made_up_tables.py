"""Tables of a made-up cluster: columns with their values, shapes of queries, and how often each is asked.

A few tables have most segments and a few most queries, by Zipf's law, and not the same ones. A value's share
of the rows is known, so that what a query scans is computed, and its literals follow what rows hold.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import cache
from itertools import accumulate, pairwise

import numpy as np

FIRST_NIGHT, SECOND_NIGHT = date(2026, 11, 18), date(2026, 11, 19)
TIME_COLUMN, METRIC = "ts", "amount"
SPAN_MS = 30 * 24 * 3_600_000
"""Milliseconds that the segments of a table cover, up to the end of the first night's day."""
END_MS = int(datetime.combine(SECOND_NIGHT, time(), UTC).timestamp()) * 1000
_ZIPF = 1.1
_RECENT_HOURS = (1, 6, 24, 72, 168)
_MOST_VALUES = 3_000
_SUBJECTS = "events,orders,clicks,sessions,payments,shipments,reviews,searches,carts,logins,refunds,ads"
_COLUMNS = (
    "country,user_id,event_type,device,city,campaign,os_version,browser,status,price,product,category,store,"
    "channel,language,plan,tier,partner,referrer,session_id"
)


@dataclass(frozen=True, slots=True)
class Column:
    """A dimension.

    ``shares``: share of the rows of each value, and ``up_to`` their sums; ``popular``: values, the most
    frequent first.
    """

    name: str
    is_number: bool
    step: int
    shares: Sequence[float]
    popular: Sequence[int]
    up_to: Sequence[float]

    def stored(self, value: int) -> str | int:
        """Return a value as rows hold it."""
        return 1_000 + value * self.step if self.is_number else f"{self.name}_{value:04}"

    def literal(self, value: int) -> str:
        return str(self.stored(value)) if self.is_number else f"'{self.stored(value)}'"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A comparison in a filter, without its literals."""

    column: Column
    operator: str

    def asked(self, draw: random.Random) -> tuple[str, float]:
        """Return the predicate with literals, frequent values most, and the share of rows that match."""
        column, count = self.column, len(self.column.shares)
        if self.operator == "IN":
            ranks = {int(count * draw.random() ** 2) for _ in range(draw.randint(2, 6))}
            values = [column.popular[rank] for rank in sorted(ranks)]
            listed = ", ".join(map(column.literal, values))
            return f"{column.name} IN ({listed})", min(sum(column.shares[each] for each in values), 1.0)
        if self.operator == "BETWEEN":
            low = int(count * draw.random())
            high = min(low + int(count * 0.2 * draw.random()), count - 1)
            share = column.up_to[high] - column.up_to[low] + column.shares[low]
            return f"{column.name} BETWEEN {column.literal(low)} AND {column.literal(high)}", share
        value = column.popular[int(count * draw.random() ** 2)]
        share = column.shares[value] if self.operator == "=" else 1.0 - column.up_to[value]
        return f"{column.name} {self.operator} {column.literal(value)}", max(share, 0.0)


@dataclass(frozen=True, slots=True)
class Shape:
    """A form of queries.

    ``hours``: the last hours that it asks for, None for all; ``read``: columns that are read of a match.
    """

    before: str
    predicates: tuple[Predicate, ...]
    joint: str
    hours: int | None
    behind: str
    read: int


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table; ``asked``: its share of the queries. Its first shapes are asked most."""

    number: int
    name: str
    columns: tuple[Column, ...]
    segments: int
    new_segments: int
    segment_rows: int
    shapes: tuple[Shape, ...]
    asked: float

    @property
    def width_ms(self) -> int:
        """Return the milliseconds that a segment covers."""
        return SPAN_MS // self.segments

    def segments_on(self, day: date) -> int:
        """Return the number of segments on the day of one of the nights."""
        return self.segments + (self.new_segments if day > FIRST_NIGHT else 0)


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """The size of a cluster: ``segments`` of all tables, and log ``records`` of a night."""

    tables: int
    segments: int
    records: int
    seed: int = 1

    @property
    def name(self) -> str:
        return f"{self.tables}-tables-{self.segments}-segments-{self.records}-records-seed-{self.seed}"


@cache
def made_up_tables(size: ClusterSize) -> tuple[Table, ...]:
    """Return the tables of a cluster, the same ones for the same size and seed."""
    shares = zipf(size.tables)
    segments = _apportioned(size.segments, shares, least=1)
    new = _apportioned(max(size.segments // 100, 1), shares, least=0)
    asked = list(shares)
    random.Random(size.seed).shuffle(asked)
    return tuple(
        _table(size.seed, number, segments[number], new[number], asked[number])
        for number in range(size.tables)
    )


def zipf(count: int) -> Sequence[float]:
    """Return shares of the whole by rank."""
    weights = [1 / (rank + 1) ** _ZIPF for rank in range(count)]
    return [weight / sum(weights) for weight in weights]


def _apportioned(total: int, shares: Sequence[float], least: int) -> list[int]:
    spare = total - least * len(shares)
    bounds = [0, *(round(spare * part) for part in accumulate(shares))]
    return [least + high - low for low, high in pairwise(bounds)]


def _table(seed: int, number: int, segments: int, new_segments: int, asked: float) -> Table:
    draw = random.Random(seed * 1_000_003 + number)
    name = f"{draw.choice(_SUBJECTS.split(','))}_{number:03}"
    columns = tuple(_column(each, draw) for each in draw.sample(_COLUMNS.split(","), draw.randint(6, 13)))
    shapes: dict[str, Shape] = {}
    wanted = round(8 * 12 ** draw.random())
    while len(shapes) < wanted:
        shape = _shape(name, columns, draw)
        predicates = [(each.column.name, each.operator) for each in shape.predicates]
        shapes[f"{shape.before} {predicates} {shape.joint} {shape.hours is None} {shape.behind}"] = shape
    rows = draw.randint(300, 1_500)
    return Table(number, name, columns, segments, new_segments, rows, tuple(shapes.values()), asked)


def _column(name: str, draw: random.Random) -> Column:
    count = round(2 * (_MOST_VALUES / 2) ** draw.random())
    skew = draw.choice((0.0, 0.5, 1.0))
    weights = np.arange(1, count + 1, dtype=float) ** -skew
    popular = np.random.default_rng(draw.getrandbits(32)).permutation(count)
    shares = np.empty(count)
    shares[popular] = weights / weights.sum()
    is_number = draw.random() < 0.5
    return Column(
        name, is_number, draw.randint(1, 9), shares.tolist(), popular.tolist(), np.cumsum(shares).tolist()
    )


def _shape(table: str, columns: Sequence[Column], draw: random.Random) -> Shape:
    chosen = draw.sample(columns, min(draw.choice((0, 1, 1, 1, 2, 2, 2, 3, 4)), len(columns)))
    predicates = tuple(Predicate(each, _operator(each, draw)) for each in chosen)
    hours = draw.choice(_RECENT_HOURS) if draw.random() < 0.5 or not chosen else None
    joint = " OR " if len(chosen) > 1 and hours is None and draw.random() < 0.15 else " AND "
    keys = [each.name for each in draw.sample(columns, draw.randint(0, 2))]
    function = draw.choice((f"SUM({METRIC})", f"MAX({METRIC})", f"AVG({METRIC})", "COUNT(*)"))
    limit = draw.choice((10, 50, 100, 1_000))
    if keys:
        listed = ", ".join(keys)
        before, behind = f"SELECT {listed}, {function} FROM {table}", f" GROUP BY {listed} LIMIT {limit}"
    else:
        before, behind = f"SELECT {function} FROM {table}", ""
    read = len(keys) + (function != "COUNT(*)")
    return Shape(before, predicates, joint, hours, behind, read)


def _operator(column: Column, draw: random.Random) -> str:
    forms = ("=", "=", "IN", ">", "BETWEEN") if column.is_number else ("=", "=", "IN")
    return draw.choice(forms)
