"""Columns of few values each, and random tables of them."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

_START = date(2024, 1, 30)
POOLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "d_int": (pa.int32(), [-7, -1, 0, 1, 2, 3, 40, 500]),
    "d_text": (
        pa.string(),
        ["", "a", "A", "ab", "abc", "a_c", "a%c", "*", "it's", "ß", "日本", "z\u0301", "😀"],
    ),
    "d_date": (pa.date32(), [_START + timedelta(days=17 * n) for n in range(9)]),
    "d_time": (
        pa.timestamp("us"),
        [datetime(2024, 1, 31, 22, 30) + timedelta(minutes=47 * n) for n in range(8)],
    ),
    "d_zone": (
        pa.timestamp("us", "UTC"),
        [datetime(2024, 2, 28, 9, tzinfo=UTC) + timedelta(hours=7 * n) for n in range(6)],
    ),
    "d_bool": (pa.bool_(), [True, False]),
    "d_dec": (pa.decimal128(9, 2), [Decimal(n) / 4 for n in range(-4, 6)]),
    "d_float": (pa.float64(), [-1.5, -0.0, 0.0, 0.25, 3.0, math.inf, math.nan]),
    "order by": (pa.int16(), [1, 2, 3]),
    "m_int": (pa.int64(), [-(2**62), -3, 0, 1, 7, 1000, 2**62, 2**63 - 1]),
    "m_small": (pa.int32(), list(range(-20, 21))),
    "m_dec": (pa.decimal128(15, 2), [Decimal(n) / 100 for n in range(-500, 2000, 37)]),
    "m_float": (pa.float64(), [n / 7 for n in range(-30, 31)]),
    "m_wild": (pa.float64(), [1.5, -2.5, math.inf, -math.inf, math.nan, 0.0, -0.0]),
    "m_text": (pa.string(), ["", "b", "B", "bb", "é", "日", "~"]),
    "m_date": (pa.date32(), [_START + timedelta(days=n) for n in range(0, 99, 7)]),
}


def random_table(rows: int, seed: int) -> pa.Table:
    """Rows of few values each, so that groups meet; columns with and without nulls."""
    chosen = random.Random(seed)
    columns = {}
    for name, (arrow_type, pool) in POOLS.items():
        few = chosen.sample(pool, chosen.randint(min(len(pool), chosen.choice([1, 4, 6])), min(len(pool), 8)))
        nulls = chosen.choice([0.0, 0.0, 0.1, 0.5])
        values = [None if chosen.random() < nulls else chosen.choice(few) for _ in range(rows)]
        columns[name] = pa.array(values, arrow_type)
    return pa.table(columns)
