"""Random conditions on random tables, as Spark SQL and as DuckDB, and DuckDB's scan of the same files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import shapely
from secondary_tables import BYTES, Random, some_text
from sql_literals import quoted


@dataclass(frozen=True)
class Condition:
    """A condition as Spark SQL, and as DuckDB has it."""

    spark: str
    duck: str

    @classmethod
    def same(cls, text: str) -> Condition:
        return cls(text, text)


_POLYGONS = (
    "POLYGON ((-2 -2, 3 -2, 3 3, -2 3, -2 -2))",
    "POLYGON ((0 -4, 4 4, -4 4, 0 -4))",
    "POLYGON ((-4 -4, 4 -4, 4 4, -4 4, -4 -4), (-1 -1, 1 -1, 1 1, -1 1, -1 -1))",
)


_WIDE_RANGES = [
    "n >= -5",
    "x > -8",
    "s >= ''",
    "d >= DATE'2026-01-03'",
    "t < TIMESTAMP_NTZ'2026-01-02 20:00:00'",
    "m > -4",
    "p.z < 4",
    "flag >= false",
]
_GREATEST = "1.7976931348623157e308"
"""The greatest double; infinity and NaN are above it."""
_FLOATS = ["0.10000000149011612", "1.25", "16777216", "-2.5e0", "-1"]
_UNSIGNED = ["-1", "0", "1", "7", "9223372036854775808", "18446744073709551615", "NULL"]
_ZONED_TIMES = ["2026-01-01 05:00:00Z", "2026-01-01 23:00:00+02:00", "2026-01-02 00:30:00-01:00"]


def _pair(draw: Random, column: str, sign: str, of_duck: str, values: list[tuple[str, str]]) -> Condition:
    """A comparison with one of some literals, each as Spark and as DuckDB writes it."""
    spark, duck = draw.choice(values)
    return Condition(f"{column} {sign} {spark}", f"{of_duck} {sign} {duck}")


def _odd_box(draw: Random) -> str:
    """Bounds of both coordinates, several of one; only infinities and NaN are beyond some bounds."""
    odd = [_GREATEST, f"-{_GREATEST}"]

    def bounds(column: str) -> list[str]:
        low, high = (
            draw.choice(odd) if draw.random() < 0.3 else f"{draw.uniform(-5, 5):.3f}" for _ in range(2)
        )
        found = [f"{column} {draw.choice(['>', '>='])} {low}", f"{column} {draw.choice(['<', '<='])} {high}"]
        if draw.random() < 0.4:
            found.append(f"{column} {draw.choice(['<', '<=', '>', '>=', '='])} {draw.choice(odd)}")
        return found

    parts = [*bounds("lat"), *bounds("lng")]
    draw.shuffle(parts)
    return " AND ".join(parts)


def _blob(value: bytes) -> str:
    return "'" + "".join(f"\\x{each:02X}" for each in value) + "'::BLOB"


def _leaf(draw: Random) -> Condition:
    sign = draw.choice(["=", "<", "<=", ">", ">=", "<>"])
    word = some_text(draw).replace("_", "")
    makers: list[Callable[[], Condition]] = [
        lambda: Condition.same(f"n {sign} {draw.randrange(-7, 8)}"),
        lambda: Condition.same(f"n BETWEEN {draw.randrange(-7, 3)} AND {draw.randrange(-3, 7)}"),
        lambda: Condition.same(f"n IN ({draw.randrange(-7, 8)}, {draw.choice(['NULL', '3', '99'])})"),
        lambda: Condition.same(f"n IS {draw.choice(['', 'NOT '])}NULL"),
        lambda: Condition(f"n <=> {(k := draw.choice(['2', 'NULL', '99']))}", f"n IS NOT DISTINCT FROM {k}"),
        lambda: Condition.same(f"x {sign} {draw.choice(['1.5', '0', '-0.0', '1e300', '0.1', '16777217'])}"),
        lambda: Condition.same(f"x {sign} {draw.choice(['', '-'])}{_GREATEST}"),
        lambda: Condition.same(f"x >= {draw.randrange(-9, 2)} AND x < {draw.randrange(0, 9)}"),
        lambda: Condition.same(f"s {sign} {quoted(word)}"),
        lambda: Condition.same(f"s IN ({quoted(word)}, {quoted(some_text(draw))}, 'ab')"),
        lambda: Condition.same(f"s LIKE {quoted(word + '%')}"),
        lambda: Condition.same(f"s LIKE {quoted('%' + word + '%')}"),
        lambda: Condition.same(f"s LIKE {quoted(word[:3] + '%' + word[3:] + '_')}"),
        lambda: Condition.same(f"contains(s, {quoted(word[:4])})"),
        lambda: Condition(f"startswith(s, {quoted(word[:2])})", f"starts_with(s, {quoted(word[:2])})"),
        lambda: Condition(
            f"levenshtein(s, {quoted(word)}) <= {(k := draw.randrange(4))}",
            f"distance_of(s, {quoted(word)}) <= {k}",
        ),
        lambda: Condition.same(f"d {sign} DATE'2026-01-{draw.randrange(1, 31):02}'"),
        lambda: Condition.same(f"d >= '2026-01-{draw.randrange(1, 31):02}'"),
        lambda: Condition.same(
            f"t {sign} TIMESTAMP_NTZ'2026-01-0{draw.randrange(1, 4)} {draw.randrange(24):02}:00:00'"
        ),
        lambda: Condition.same(f"m {sign} {draw.randrange(-500, 500) / 100}"),
        lambda: Condition.same(f"m {sign} {draw.randrange(-5, 6)}"),
        lambda: Condition.same(draw.choice(["flag", "flag = false", "NOT flag", "flag IS NULL"])),
        lambda: Condition.same(f"p.z {sign} {draw.randrange(5)}"),
        lambda: Condition.same(draw.choice(["p.z IS NULL", "p.z IS NOT NULL"])),
        lambda: Condition.same(
            f"lat BETWEEN {draw.uniform(-5, 2):.3f} AND {draw.uniform(-2, 5):.3f} "
            f"AND lng > {draw.uniform(-5, 1):.3f} AND lng <= {draw.uniform(-1, 5):.3f}"
        ),
        lambda: Condition.same(f"lat {sign} {draw.uniform(-5, 5):.3f}"),
        lambda: Condition(
            f"ST_Contains(ST_GeomFromText('{(p := draw.choice(_POLYGONS))}'), lng, lat)",
            f"lies_in('{p}', lng, lat)",
        ),
        lambda: Condition(
            f"ST_Distance(ST_GeomFromText('POINT (1 -1)'), lng, lat) {(o := draw.choice(['<', '<=', '>']))} "
            f"{(k := round(draw.uniform(0, 4), 3))}",
            f"far_from('POINT (1 -1)', lng, lat) {o} {k}",
        ),
        lambda: Condition.same(f"id {sign} {draw.randrange(300)}"),
        lambda: Condition.same(_odd_box(draw)),
        # DuckDB takes a literal for a float where Spark takes both for doubles.
        lambda: _pair(draw, "f", sign, "f::DOUBLE", [(k, k) for k in _FLOATS]),
        lambda: Condition(
            f"f IN ({(k := draw.choice(['0.5', '0.25, NULL', '16777216, 1.5']))})", f"f::DOUBLE IN ({k})"
        ),
        lambda: _pair(draw, "u", sign, "u::DECIMAL(38,2)", [(k, k) for k in _UNSIGNED]),
        lambda: _pair(draw, "b", sign, "b", [(f"X'{k.hex()}'", _blob(k)) for k in BYTES]),
        lambda: _pair(
            draw, "tz", sign, "tz", [(f"TIMESTAMP'{k}'", f"TIMESTAMPTZ'{k}'") for k in _ZONED_TIMES]
        ),
    ]
    return draw.choice(makers)()


def _asks_for(text: str, columns: frozenset[str]) -> bool:
    return bool(columns & set(re.findall(r"\w+", re.sub(r"'[^']*'", "", text))))


def random_condition(draw: Random, depth: int = 3, without: frozenset[str] = frozenset()) -> Condition:
    """A tree of AND, OR and NOT, or ranges of several columns that many rows share.

    ``without``: columns that are not asked for.
    """
    if draw.random() < 0.2:
        wide = [each for each in _WIDE_RANGES if not _asks_for(each, without)]
        return Condition.same(" AND ".join(draw.sample(wide, min(len(wide), draw.choice([2, 2, 3])))))
    if depth == 0 or draw.random() < 0.25:
        leaf = _leaf(draw)
        while _asks_for(leaf.duck, without):
            leaf = _leaf(draw)
        return leaf
    if draw.random() < 0.2:
        inner = random_condition(draw, depth - 1, without)
        return Condition(f"NOT ({inner.spark})", f"NOT ({inner.duck})")
    parts = [random_condition(draw, depth - 1, without) for _ in range(draw.choice([2, 2, 3]))]
    word = draw.choice([" AND ", " AND ", " OR "])
    return Condition(
        "(" + word.join(each.spark for each in parts) + ")",
        "(" + word.join(each.duck for each in parts) + ")",
    )


def _plain_distance(one: str | None, other: str | None) -> int | None:
    if one is None or other is None:
        return None
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        before, row[0] = row[0], place
        for at, wanted in enumerate(other, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (letter != wanted))
    return row[-1]


def _lies_in(wkt: str, lng: float | None, lat: float | None) -> bool | None:
    if lng is None or lat is None:
        return None
    point = shapely.Point(lng, lat)
    return bool(shapely.from_wkt(wkt).contains(point)) if np.isfinite([lng, lat]).all() else False


def _far_from(wkt: str, lng: float | None, lat: float | None) -> float | None:
    if lng is None or lat is None:
        return None
    if np.isnan([lng, lat]).any():
        # NaN is the greatest value, but DuckDB takes a NaN of a Python function for null.
        return 1e308
    if not np.isfinite([lng, lat]).all():
        return float("inf")
    return float(shapely.from_wkt(wkt).distance(shapely.Point(lng, lat)))


class Truth:
    """DuckDB's scan of the files that a table has now."""

    def __init__(self, folder: Path) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("SET TimeZone = 'UTC'")
        kinds: list[tuple[str, Callable[..., Any], list[str], str]] = [
            ("distance_of", _plain_distance, ["VARCHAR", "VARCHAR"], "INTEGER"),
            ("lies_in", _lies_in, ["VARCHAR", "DOUBLE", "DOUBLE"], "BOOLEAN"),
            ("far_from", _far_from, ["VARCHAR", "DOUBLE", "DOUBLE"], "DOUBLE"),
        ]
        for name, function, takes, gives in kinds:
            self._connection.create_function(name, function, takes, gives, null_handling="special")
        self._connection.execute(
            f"CREATE TABLE t AS SELECT * FROM read_parquet('{folder}/*.parquet', union_by_name = true)"
        )

    def ids(self, condition: Condition) -> list[int]:
        """The ids of the rows that satisfy a condition, sorted."""
        text = condition.duck.replace("TIMESTAMP_NTZ'", "TIMESTAMP'")
        found = self._connection.execute(f"SELECT id FROM t WHERE {text} ORDER BY id").fetchall()
        return [row[0] for row in found]

    def close(self) -> None:
        self._connection.close()
