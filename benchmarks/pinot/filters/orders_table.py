"""The table ``orders``: single-value columns, mostly independent of each other, sorted by a date."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from pinot.filters.events_table import drawn
from pinot.filters.generated_table import GeneratedColumn, GeneratedTable

SEGMENT_ROWS = (50_000, 30_000, 15_000, 5_000)
FIRST_DATE = datetime(2022, 1, 1, tzinfo=UTC)
DATES = 700
REGIONS = ("EU", "US", "APAC", "LATAM")
SHIP_MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-LOW", "5-NONE")
CITIES = tuple(
    f"{name}{number:02d}" for number in range(20) for name in ("Ulm", "Bern", "Lyon", "Oslo", "Turin")
)
WORDS = ("quick", "final", "bold", "express", "ironic", "pending", "special", "silent", "regular", "even")
COUPONS = ("WELCOME10", "SUMMER", "FRIENDS", "VIP", "SORRY5")
CATEGORY_WEIGHTS = (*(3.0,) * 3, 20.0, *(3.0,) * 3, 17.0, *(3.0,) * 3, 13.0, *(2.5,) * 8)
"""Categories 3, 7 and 11 make up half of the rows."""

WAREHOUSE_WEIGHTS = (12.5, 7.5, *(8.0,) * 10)
"""Warehouse 1 has 7.5 % of the rows."""

COLUMNS = (
    GeneratedColumn("orderDate", "STRING", "time", time_format="1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd"),
    GeneratedColumn("placedAt", "TIMESTAMP"),
    GeneratedColumn("category", "INT"),
    GeneratedColumn("warehouse", "INT"),
    GeneratedColumn("shipMode", "STRING"),
    GeneratedColumn("priority", "STRING"),
    GeneratedColumn("returnFlag", "STRING"),
    GeneratedColumn("region", "STRING"),
    GeneratedColumn("city", "STRING"),
    GeneratedColumn("clerk", "STRING"),
    GeneratedColumn("remark", "STRING"),
    GeneratedColumn("coupon", "STRING"),
    GeneratedColumn("isGift", "INT"),
    GeneratedColumn("supplierId", "INT"),
    GeneratedColumn("customerId", "INT"),
    GeneratedColumn("quantity", "INT", "metric"),
    GeneratedColumn("discount", "DOUBLE", "metric"),
    GeneratedColumn("totalPrice", "DOUBLE", "metric"),
    GeneratedColumn("weightGrams", "LONG", "metric"),
)


def orders_table(
    seed: int, segment_rows: Sequence[int] = SEGMENT_ROWS, dates: range = range(DATES)
) -> GeneratedTable:
    """Return the table that ``seed`` makes, the same one every time; ``dates``: days after the first one."""
    random = np.random.default_rng([seed, 2])
    rows = sum(segment_rows)
    ends = np.cumsum(segment_rows)
    segment = np.repeat(np.arange(len(segment_rows)), segment_rows)
    date = np.sort(drawn(random, dates, rows))
    second = random.integers(0, 86_400, rows)
    days = [(FIRST_DATE + timedelta(days=day)).strftime("%Y-%m-%d") for day in range(DATES)]
    has_coupon = random.random(rows) < 0.4
    words = drawn(random, WORDS, rows * 4).reshape(rows, 4).tolist()
    numbers = random.integers(0, 5_000, rows).tolist()
    columns = {
        "orderDate": [days[day] for day in date.tolist()],
        "placedAt": (int(FIRST_DATE.timestamp() * 1000) + date * 86_400_000 + second * 1000).tolist(),
        "category": drawn(random, np.arange(20), rows, p=CATEGORY_WEIGHTS).tolist(),
        "warehouse": drawn(random, np.arange(12), rows, p=WAREHOUSE_WEIGHTS).tolist(),
        "shipMode": drawn(random, SHIP_MODES, rows).tolist(),
        "priority": drawn(random, PRIORITIES, rows).tolist(),
        "returnFlag": drawn(random, ("N", "A", "R"), rows, p=(50, 25, 25)).tolist(),
        "region": np.where(segment % 2 == 1, "EU", drawn(random, REGIONS, rows, 0.8)).tolist(),
        "city": drawn(random, CITIES, rows, 0.7).tolist(),
        "clerk": [f"Clerk#{number:06d}" for number in random.integers(1, 1_001, rows).tolist()],
        "remark": [f"{' '.join(each)} {number}" for each, number in zip(words, numbers, strict=True)],
        "coupon": [
            value if given else None
            for given, value in zip(has_coupon, drawn(random, COUPONS, rows, 0.9).tolist(), strict=True)
        ],
        "isGift": (random.random(rows) < 0.1).astype(int).tolist(),
        "supplierId": random.integers(1, 501, rows).tolist(),
        "customerId": (3 * drawn(random, np.arange(8_000), rows, 0.4)).tolist(),
        "quantity": random.integers(1, 51, rows).tolist(),
        "discount": (random.integers(0, 11, rows) / 100).tolist(),
        "totalPrice": np.round(random.lognormal(5.0, 1.1, rows), 2).tolist(),
        "weightGrams": (random.gamma(3.0, 400.0, rows)).astype(np.int64).tolist(),
    }
    segments = tuple(
        {name: values[end - length : end] for name, values in columns.items()}
        for end, length in zip(ends.tolist(), segment_rows, strict=True)
    )
    return GeneratedTable("orders", COLUMNS, segments, "orderDate", handles_nulls=False)
