"""Generates the table and the conjunctions of part 2: columns that follow, oppose or ignore each other.

A conjunction has a kind, which gives it two columns at least: independent ones, correlated ones (a range of
each around the values of one row), anti-correlated ones (ranges around one number, where one column is high
as the other is low), skewed ones (a few values have most rows), or a text and a box. Others come from all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path as Folder
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SPAN = 100_000
INDEXES = (
    *(f"btree:{name}" for name in ("a", "b", "like_a", "near_a", "against_a", "skew", "few", "rare")),
    "rtree:lng,lat",
    "ngram:message",
)
KINDS: Mapping[str, tuple[str, ...]] = {
    "independent": ("a", "b", "rare"),
    "correlated": ("a", "like_a", "near_a", "zone"),
    "anti-correlated": ("a", "against_a"),
    "skewed": ("skew", "few", "word"),
    "text and box": ("word", "box", "zone"),
}
_COLUMNS = ("a", "b", "like_a", "near_a", "against_a", "skew", "few", "rare", "text", "box")
_SELDOM = 0.15
_WORDS = 2_000


@dataclass(frozen=True, slots=True)
class Conjunction:
    """A query's WHERE, and the kind of its columns."""

    kind: str
    where: str


def write_rows(folder: Folder, rows: int, row_group_rows: int) -> pa.Table:
    """Write the table and return its columns but for the payload."""
    random = np.random.default_rng(2008)
    a = random.integers(0, SPAN, rows)
    words = np.array(
        ["".join(map(chr, random.integers(97, 123, random.integers(4, 9)))) for _ in range(_WORDS)]
    )
    picked = words[np.minimum(random.zipf(1.2, (rows, 5)) - 1, _WORDS - 1)]
    is_near = random.random(rows) < 0.2
    columns = {
        "id": np.arange(rows),
        "a": a,
        "b": random.integers(0, SPAN, rows),
        "like_a": np.clip(a + random.integers(-500, 500, rows), 0, SPAN),
        "near_a": np.clip(a + random.integers(-8_000, 8_000, rows), 0, SPAN),
        "against_a": SPAN - a,
        "skew": np.minimum(random.zipf(1.3, rows), SPAN),
        "few": np.minimum(random.geometric(0.5, rows), 8),
        "rare": random.integers(0, rows // 20 + 1, rows),
        "lng": np.where(is_near, random.normal(-118.2, 0.5, rows), random.uniform(-180, 180, rows)),
        "lat": np.where(is_near, random.normal(34.0, 0.5, rows), random.uniform(-60, 60, rows)),
        "message": [
            f"{' '.join(row)} zone{zone:02}" for row, zone in zip(picked.tolist(), a // 2_500, strict=True)
        ],
    }
    table = pa.table(columns)
    letters = random.integers(97, 123, (rows, 100), np.uint8)
    offsets = pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * 100)
    payload = pa.StringArray.from_buffers(rows, offsets, pa.py_buffer(letters.tobytes()))
    folder.mkdir(parents=True, exist_ok=True)
    whole = table.append_column("payload", payload)
    pq.write_table(whole, folder / "0.parquet", row_group_size=row_group_rows, write_page_index=True)
    return table


def conjunction(random: Random, table: pa.Table) -> Conjunction:
    """Return a query of 2 to 6 predicates, each of which an index serves."""
    kind = random.choice(list(KINDS))
    size = random.randrange(2, 7)
    core = random.sample(KINDS[kind], random.randrange(2, min(size, len(KINDS[kind])) + 1))
    taken = {_column_of(each) for each in core}
    others = [each for each in _COLUMNS if each not in taken]
    names = [*core, *random.sample(others, max(0, min(size, len(_COLUMNS)) - len(taken)))]
    # All predicates hold of one row, or each holds of a row of its own.
    is_together = kind in ("correlated", "anti-correlated") or random.random() < 0.5
    row = _row(random, table)
    legs = [_predicate(name, random, row if is_together else _row(random, table), kind) for name in names]
    return Conjunction(kind, " AND ".join(legs))


def _column_of(name: str) -> str:
    return "text" if name in ("word", "zone") else name


def _row(random: Random, table: pa.Table) -> Mapping[str, Any]:
    found: Mapping[str, Any] = table.slice(random.randrange(table.num_rows), 1).to_pylist()[0]
    return found


def _predicate(name: str, random: Random, row: Mapping[str, Any], kind: str) -> str:
    if name == "against_a" and kind == "anti-correlated":
        # Around the value of the column that it opposes: few rows are high in both.
        return _range(name, row["a"], random)
    make = _OTHERS.get(name)
    return make(random, row) if make else _number(name, random, row)


def _number(name: str, random: Random, row: Mapping[str, Any]) -> str:
    if random.random() < _SELDOM:
        return f"{name} = {row[name]}"
    return _range(name, row[name], random)


def _range(name: str, value: int, random: Random) -> str:
    width = int(SPAN * 10 ** random.uniform(-4, -0.3))
    low = value - random.randrange(width + 1)
    if random.random() < _SELDOM:
        return random.choice((f"{name} >= {low}", f"{name} < {low + width}"))
    return f"{name} BETWEEN {low} AND {low + width}"


def _rare(random: Random, row: Mapping[str, Any]) -> str:
    if random.random() < 0.5:
        return f"rare = {row['rare']}"
    return f"rare IN ({', '.join(str(row['rare'] + step * 7) for step in range(random.randrange(2, 9)))})"


def _skew(random: Random, row: Mapping[str, Any]) -> str:
    if random.random() < 0.3:
        return f"skew >= {random.choice((10, 100, 1_000, 10_000))}"
    return f"skew = {random.choice((1, 2, 3, 10, 100, row['skew']))}"


def _few(random: Random, row: Mapping[str, Any]) -> str:
    return f"few {random.choice(('=', '>='))} {random.choice((row['few'], random.randrange(1, 9)))}"


def _word(random: Random, row: Mapping[str, Any]) -> str:
    word = random.choice(row["message"].split()[:-1])
    start = random.randrange(len(word) - 3)
    return f"message LIKE '%{random.choice((word, word[start:]))}%'"


def _zone(_: Random, row: Mapping[str, Any]) -> str:
    return f"message LIKE '%{row['message'].split()[-1]}%'"


def _text(random: Random, row: Mapping[str, Any]) -> str:
    return random.choice((_word, _word, _zone))(random, row)


def _box(random: Random, row: Mapping[str, Any]) -> str:
    width = 10 ** random.uniform(-0.5, 2.2)
    lng, lat = row["lng"] - width * random.random(), row["lat"] - width / 2 * random.random()
    return (
        f"lng >= {lng:.4f} AND lng <= {lng + width:.4f} AND lat >= {lat:.4f} AND lat <= {lat + width / 2:.4f}"
    )


_OTHERS: Mapping[str, Callable[[Random, Mapping[str, Any]], str]] = {
    "rare": _rare,
    "skew": _skew,
    "few": _few,
    "word": _word,
    "zone": _zone,
    "text": _text,
    "box": _box,
}
