"""The table ``events``: multi-value, raw, null, clustered and correlated columns in unequal segments."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pinot.filters.generated_table import GeneratedColumn, GeneratedTable, Rows

SEGMENT_ROWS = (60_000, 30_000, 20_000, 5_000, 300)
SEGMENT_DAYS = (30, 14, 9, 3, 1)
FIRST_DAY = 19_700
USERS = 30_000
ITEMS = 20_000
DEVICES = tuple(f"device-{letter}" for letter in "abcdefghijkl")
STATUSES = (200, 204, 301, 304, 404, 429, 500, 503)
VERSIONS = ("4.0", "4.1", "4.2", "5.0", "5.1", "6.0")
COUNTRIES = tuple(f"{first}{second}" for first in "ABCDEF" for second in "EKNRT")
CITIES = tuple(
    f"{kind} {number:02d}" for number in range(75) for kind in ("North", "New", "Saint", "Land's End")
)
TAGS = tuple(f"tag{number:02d}" for number in range(50))
CAMPAIGNS = tuple(f"{season}-{number:03d}" for season in ("spring", "autumn") for number in range(100))
REFERRERS = ("search", "mail", "social", "partner", "direct-ad", "app")
URLS = (
    *(f"/shop/cat{number % 20:02d}/item{number:04d}" for number in range(1_500)),
    *(f"/blog/{2019 + number % 5}/post-{number:03d}" for number in range(400)),
    *(f"/help/{word}" for word in ("search", "returns", "contact", "faq", "shop", "blog")),
    "/",
)

COLUMNS = (
    GeneratedColumn("daysSinceEpoch", "INT", "time", time_format="1:DAYS:EPOCH"),
    GeneratedColumn("tags", "STRING", is_multi_value=True),
    GeneratedColumn("itemIds", "INT", is_multi_value=True),
    GeneratedColumn("platform", "STRING"),
    GeneratedColumn("status", "INT"),
    GeneratedColumn("isBot", "BOOLEAN"),
    GeneratedColumn("campaign", "STRING"),
    GeneratedColumn("userId", "INT"),
    GeneratedColumn("country", "STRING"),
    GeneratedColumn("city", "STRING"),
    GeneratedColumn("device", "STRING"),
    GeneratedColumn("url", "STRING"),
    GeneratedColumn("appVersion", "STRING"),
    GeneratedColumn("referrer", "STRING"),
    GeneratedColumn("score", "INT"),
    GeneratedColumn("latencyMs", "INT", "metric"),
    GeneratedColumn("price", "DOUBLE", "metric", is_raw=True),
    GeneratedColumn("sizeBytes", "LONG", "metric", is_raw=True),
)


def events_table(seed: int) -> GeneratedTable:
    """Return the table that ``seed`` makes; the same one every time."""
    random = np.random.default_rng([seed, 1])
    segments = []
    first_day = FIRST_DAY
    for number, (rows, days) in enumerate(zip(SEGMENT_ROWS, SEGMENT_DAYS, strict=True)):
        segments.append(events_segment(random, number, rows, range(first_day, first_day + days)))
        first_day += days
    return GeneratedTable("events", COLUMNS, tuple(segments), "daysSinceEpoch", handles_nulls=True)


def drawn(
    random: np.random.Generator, values: Any, rows: int, skew: float = 0.0, p: Any = None
) -> npt.NDArray[Any]:
    """Return ``rows`` of ``values``, as frequent as ``p`` says, else as 1 / rank ** ``skew``."""
    weights = 1.0 / np.arange(1, len(values) + 1) ** skew if p is None else np.asarray(p, float)
    return np.asarray(values)[random.choice(len(values), rows, p=weights / weights.sum())]


def events_segment(random: np.random.Generator, number: int, rows: int, days: range) -> Rows:
    """Return one segment; ``number``: 0 to 4, which decides about its nulls and versions."""
    day = np.sort(drawn(random, days, rows))
    city = drawn(random, np.arange(len(CITIES)), rows, 0.8)
    campaigns = [CAMPAIGNS[position] for position in random.permutation(len(CAMPAIGNS))[:150]]
    no_referrer = random.random(rows) < (0.0 if number == 3 else 0.3)
    no_score = random.random(rows) < (0.05 if number in (0, 2) else 0.0)
    referrer = drawn(random, REFERRERS, rows, 0.7).tolist()
    score = random.integers(0, 101, rows).tolist()
    counts = drawn(random, (1, 2, 3, 4, 5, 12), rows, p=(30, 20, 20, 15, 12, 3))
    return {
        "daysSinceEpoch": day.tolist(),
        "tags": _tags(random, counts),
        "itemIds": _items(random, rows),
        "platform": drawn(random, ("web", "ios", "android"), rows, p=(70, 20, 10)).tolist(),
        "status": _statuses(random, day).tolist(),
        "isBot": ["true" if each else "false" for each in random.random(rows) < 0.06],
        "campaign": drawn(random, campaigns, rows, 0.5).tolist(),
        "userId": (1_000 + 7 * drawn(random, np.arange(USERS), rows, 0.5)).tolist(),
        "country": [COUNTRIES[each % len(COUNTRIES)] for each in city.tolist()],
        "city": [CITIES[each] for each in city.tolist()],
        "device": _runs(random, rows, 150.0),
        "url": drawn(random, URLS, rows, 0.6).tolist(),
        "appVersion": drawn(random, VERSIONS[number : number + 3], rows, 1.0).tolist(),
        "referrer": [None if gone else value for gone, value in zip(no_referrer, referrer, strict=True)],
        "score": [None if gone else value for gone, value in zip(no_score, score, strict=True)],
        "latencyMs": np.minimum(random.lognormal(4.5, 0.9, rows), 5_000).astype(int).tolist(),
        "price": np.round(random.gamma(2.0, 20.0, rows), 2).tolist(),
        "sizeBytes": (random.pareto(1.5, rows) * 2_000 + 200).astype(np.int64).tolist(),
    }


def _tags(random: np.random.Generator, counts: npt.NDArray[Any]) -> list[list[str]]:
    """Return that many different tags a row, frequent ones more often."""
    keys = random.gumbel(size=(len(counts), len(TAGS))) - np.log(np.arange(1, len(TAGS) + 1)) * 0.7
    order = np.argsort(-keys, axis=1)[:, : counts.max()].tolist()
    return [[TAGS[tag] for tag in row[:count]] for row, count in zip(order, counts.tolist(), strict=True)]


def _items(random: np.random.Generator, rows: int) -> list[list[int]]:
    counts = random.integers(1, 7, rows)
    items = (50_000 + drawn(random, np.arange(ITEMS), int(counts.sum()), 0.4)).tolist()
    ends = np.cumsum(counts).tolist()
    return [items[end - count : end] for end, count in zip(ends, counts.tolist(), strict=True)]


def _statuses(random: np.random.Generator, day: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a status a row; every seventh day fails a lot, and some hundred rows of it at a time."""
    usual = drawn(random, STATUSES, len(day), p=(70, 8, 5, 6, 6, 2, 2, 1))
    failing = drawn(random, (500, 503), len(day), p=(3, 1))
    outage = (day % 7 == 0) & (np.repeat(random.random(len(day) // 200 + 1), 200)[: len(day)] < 0.5)
    return np.where(outage & (random.random(len(day)) < 0.8), failing, usual)


def _runs(random: np.random.Generator, rows: int, mean_length: float) -> list[str]:
    lengths = random.geometric(1 / mean_length, rows // 50 + 20)
    values = drawn(random, DEVICES, len(lengths), 0.6)
    repeated = np.repeat(values, lengths)
    assert len(repeated) >= rows
    return repeated[:rows].tolist()
