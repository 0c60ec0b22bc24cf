"""The generated tables ``events`` and ``orders``, with segments of a million rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from pinot.filters.events_table import FIRST_DAY, events_segment, events_table
from pinot.filters.generated_table import GeneratedTable, Rows
from pinot.filters.orders_table import DATES, orders_table

_EVENT_DAYS = 10
_NULL_PATTERNS = 4


@dataclass(frozen=True, slots=True)
class LargeTable:
    """A generated table with large segments.

    ``small``: the same columns with few rows, from which queries take their literals. ``segments``: makes as
    many, of so many rows each. ``trees``: star-trees of it. ``plain``: queries as dashboards ask them.
    """

    small: GeneratedTable
    segments: Callable[[int, int], Iterator[Rows]]
    trees: tuple[Mapping[str, object], ...]
    plain: tuple[str, ...]


def _events(seed: int) -> LargeTable:
    def segments(rows: int, count: int) -> Iterator[Rows]:
        random = np.random.default_rng([seed, 3])
        for number in range(count):
            first = FIRST_DAY + number * _EVENT_DAYS
            yield events_segment(random, number % _NULL_PATTERNS, rows, range(first, first + _EVENT_DAYS))

    return LargeTable(events_table(seed), segments, _EVENT_TREES, _EVENT_QUERIES)


def _orders(seed: int) -> LargeTable:
    def segments(rows: int, count: int) -> Iterator[Rows]:
        ends = [DATES * number // count for number in range(count + 1)]
        for number, (start, end) in enumerate(pairwise(ends)):
            (found,) = orders_table(seed * 1_000 + number, (rows,), range(start, end)).segments
            yield found

    return LargeTable(orders_table(seed), segments, _ORDER_TREES, _ORDER_QUERIES)


def _tree(dimensions: tuple[str, ...], *pairs: str) -> Mapping[str, object]:
    return {
        "dimensionsSplitOrder": list(dimensions),
        "skipStarNodeCreationForDimensions": [],
        "functionColumnPairs": ["COUNT__*", *pairs],
        "maxLeafRecords": 10_000,
    }


_EVENT_TREES = (
    _tree(("country", "platform", "status"), "SUM__latencyMs"),
    _tree(("daysSinceEpoch", "device", "platform", "isBot"), "SUM__price", "SUM__latencyMs"),
)
_ORDER_TREES = (
    _tree(("category", "warehouse", "priority"), "SUM__totalPrice"),
    _tree(("shipMode", "region", "orderDate"), "SUM__quantity", "SUM__totalPrice"),
)
_EVENT_QUERIES = (
    "SELECT country, COUNT(*), SUM(latencyMs) FROM events WHERE platform = {platform} GROUP BY country",
    "SELECT COUNT(*) FROM events WHERE country = {country} AND status = {status}",
    "SELECT SUM(latencyMs) FROM events WHERE country IN ({country}, {country})",
    "SELECT device, SUM(price) FROM events WHERE daysSinceEpoch >= {daysSinceEpoch} GROUP BY device",
    "SELECT daysSinceEpoch, COUNT(*) FROM events WHERE device = {device} AND isBot = false "
    "GROUP BY daysSinceEpoch LIMIT 100",
    "SELECT COUNT(*), MAX(latencyMs) FROM events WHERE userId = {userId}",
    "SELECT city, COUNT(*) FROM events WHERE url = {url} GROUP BY city LIMIT 20",
    "SELECT AVG(price) FROM events WHERE campaign = {campaign} AND latencyMs > {latencyMs}",
)
_ORDER_QUERIES = (
    "SELECT category, COUNT(*), SUM(totalPrice) FROM orders WHERE warehouse = {warehouse} GROUP BY category",
    "SELECT COUNT(*) FROM orders WHERE priority = {priority} AND category = {category}",
    "SELECT SUM(totalPrice) FROM orders WHERE category IN ({category}, {category})",
    "SELECT shipMode, SUM(quantity) FROM orders WHERE orderDate >= {orderDate} GROUP BY shipMode",
    "SELECT region, SUM(quantity) FROM orders WHERE shipMode = {shipMode} GROUP BY region",
    "SELECT COUNT(*), MAX(totalPrice) FROM orders WHERE customerId = {customerId}",
    "SELECT city, COUNT(*) FROM orders WHERE clerk = {clerk} GROUP BY city LIMIT 20",
    "SELECT AVG(totalPrice) FROM orders WHERE supplierId = {supplierId} AND quantity > {quantity}",
)

LARGE_TABLES: Mapping[str, Callable[[int], LargeTable]] = {"events": _events, "orders": _orders}
