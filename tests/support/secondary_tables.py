"""Random tables with secondary indexes, random conditions, and DuckDB's scan of the same files."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from starskip.indexes.secondary import build_run, entries, merge_segments, run_files, run_reader
from starskip.indexes.secondary.lifecycle import create_indexes, refresh_indexes
from starskip.indexes.skipping.metadata.refresh_metadata import Clock

INDEXES = (
    "btree:n",
    "btree:x",
    "btree:s",
    "btree:d",
    "btree:m",
    "btree:t",
    "btree:flag",
    "btree:p.z",
    "ngram:s",
    "ngram:s:2",
    "rtree:lat,lng",
)
CLOCK = Clock(lambda: datetime.now(UTC), lambda seconds: None)
_EPOCH_S = 1_700_000_000
_LETTERS = "aab bcé𝄞"
_WORDS = ["", "a", "ab", "abc", "abab", "b c", "é", "abcé", "aaaaaaa", "bca bca bca", "a" * 300, "𝄞ab"]
Random = random.Random


def some_text(draw: Random) -> str:
    """A text of few letters, now and then a long one."""
    if draw.random() < 0.3:
        return draw.choice(_WORDS)
    return "".join(draw.choice(_LETTERS) for _ in range(draw.randrange(12)))


def rows_of(draw: Random, count: int, first_id: int, *, is_older: bool = False) -> pa.Table:
    """Rows of all types with nulls, NaN and duplicates; older files lack a column and are narrower."""

    def column(kind: pa.DataType, value: Callable[[], Any], nulls: float = 0.15) -> pa.Array:
        return pa.array([None if draw.random() < nulls else value() for _ in range(count)], kind)

    def number() -> float:
        odd = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0]
        return draw.choice(odd) if draw.random() < 0.2 else draw.randrange(-40, 40) / 4

    fields = {
        "id": pa.array(range(first_id, first_id + count), pa.int64()),
        "n": column(pa.int16() if is_older else pa.int32(), lambda: draw.randrange(-6, 7)),
        "x": column(pa.float64(), number),
        "s": column(pa.string(), lambda: some_text(draw)),
        "d": column(pa.date32(), lambda: date(2026, 1, 1) + timedelta(days=draw.randrange(30))),
        "t": column(pa.timestamp("us"), lambda: datetime(2026, 1, 1) + timedelta(hours=draw.randrange(50))),
        "flag": column(pa.bool_(), lambda: draw.random() < 0.5),
        "p": column(
            pa.struct([("z", pa.int64()), ("w", pa.string())]),
            lambda: {"z": None if draw.random() < 0.2 else draw.randrange(5), "w": "w"},
        ),
        "lat": column(pa.float64(), lambda: draw.choice([float("nan"), draw.uniform(-5, 5)]), 0.1),
        "lng": column(pa.float64(), lambda: draw.uniform(-5, 5), 0.1),
    }
    if not is_older:
        fields["m"] = column(pa.decimal128(10, 2), lambda: Decimal(draw.randrange(-500, 500)) / 100)
    return pa.table(fields)


@dataclass
class RandomTable:
    """A folder of files that are written, changed and removed; each has a time of its own, long ago."""

    folder: Path
    draw: Random
    next_id: int = 0
    ticks: int = 0
    names: list[str] = field(default_factory=list)

    def write(self, name: str, *, is_older: bool = False) -> None:
        """Write or overwrite a file, which may be empty."""
        count = self.draw.choice([0, 1, self.draw.randrange(2, 40), self.draw.randrange(40, 120)])
        rows = rows_of(self.draw, count, self.next_id, is_older=is_older)
        self.next_id += count
        path = self.folder / name
        pq.write_table(rows, path, row_group_size=self.draw.choice([7, 16, 50, 1000]), **self._pages())
        self.ticks += 1
        os.utime(path, (_EPOCH_S + self.ticks, _EPOCH_S + self.ticks))
        if name not in self.names:
            self.names.append(name)

    def _pages(self) -> dict[str, Any]:
        """Options of a file whose pages hold few rows and are indexed, or of one without a page index."""
        if self.draw.random() < 0.3:
            return {}
        return {
            "write_page_index": True,
            "data_page_size": 1,
            "write_batch_size": self.draw.choice([1, 3, 8]),
            "data_page_version": self.draw.choice(["1.0", "2.0"]),
            "use_dictionary": self.draw.random() < 0.5,
            "compression": self.draw.choice(["snappy", "zstd", "none"]),
        }

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self.folder / name).unlink()
        self.names.remove(name)

    def change(self) -> None:
        """Add, overwrite and remove some files."""
        for _ in range(self.draw.randrange(1, 4)):
            action = self.draw.choice(["add", "overwrite", "remove"])
            if action == "add" or len(self.names) < 3:
                self.write(f"f{self.ticks}.parquet", is_older=self.draw.random() < 0.2)
            elif action == "overwrite":
                self.write(self.draw.choice(self.names[1:]))
            else:
                self.remove(self.draw.choice(self.names[1:]))


def random_table(folder: Path, seed: int, indexes: tuple[str, ...] = INDEXES) -> RandomTable:
    """A table with indexes, of which files may have been added, changed or removed since."""
    table = RandomTable(folder, Random(seed))
    table.write("first.parquet")
    for number in range(table.draw.randrange(1, 4)):
        table.write(f"g{number}.parquet", is_older=table.draw.random() < 0.3)
    create_indexes(str(folder), indexes, clock=CLOCK)
    for _ in range(table.draw.randrange(3)):
        table.change()
        if table.draw.random() < 0.5:
            refresh_indexes(str(folder), clock=CLOCK)
    return table


@contextmanager
def small_blocks(draw: Random) -> Iterator[None]:
    """Cut runs in small blocks, and keep few entries as lists, so that small tables have many of both."""
    with pytest.MonkeyPatch.context() as patch:
        rows, together = draw.choice([1, 3, 8, 64]), draw.choice([1, 2, 16])
        patch.setattr(build_run, "BLOCK_ROWS", rows)
        patch.setattr(run_files, "BLOCK_ROWS", rows)
        patch.setattr(run_files, "BITMAPS_TOGETHER", together)
        patch.setattr(run_reader, "BITMAPS_TOGETHER", together)
        patch.setattr(entries, "LONG_LIST_ENTRIES", draw.choice([1, 2, 24]))
        patch.setattr(build_run, "STOP_LEAST_ROWS", draw.choice([1, 20, 1000]))
        patch.setattr(merge_segments, "RUN_BYTES", draw.choice([1, 500, 20_000]))
        patch.setattr(build_run, "BYTES_AT_ONCE", draw.choice([64, 1 << 20]))
        yield


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


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _leaf(draw: Random) -> Condition:
    sign = draw.choice(["=", "<", "<=", ">", ">=", "<>"])
    word = some_text(draw).replace("_", "")
    makers: list[Callable[[], Condition]] = [
        lambda: Condition.same(f"n {sign} {draw.randrange(-7, 8)}"),
        lambda: Condition.same(f"n {sign} {draw.randrange(-70, 80) / 10}"),
        lambda: Condition.same(f"n BETWEEN {draw.randrange(-7, 3)} AND {draw.randrange(-3, 7)}"),
        lambda: Condition.same(f"n IN ({draw.randrange(-7, 8)}, {draw.choice(['NULL', '3', '3.5', '99'])})"),
        lambda: Condition.same(f"n IS {draw.choice(['', 'NOT '])}NULL"),
        lambda: Condition(f"n <=> {(k := draw.choice(['2', 'NULL', '2.5']))}", f"n IS NOT DISTINCT FROM {k}"),
        lambda: Condition.same(f"x {sign} {draw.choice(['1.5', '0', '-0.0', '1e300'])}"),
        lambda: Condition.same(f"x {sign} CAST('{draw.choice(['NaN', 'Infinity', '-Infinity'])}' AS DOUBLE)"),
        lambda: Condition.same(f"x >= {draw.randrange(-9, 2)} AND x < {draw.randrange(0, 9)}"),
        lambda: Condition.same(f"s {sign} {_quoted(word)}"),
        lambda: Condition.same(f"s IN ({_quoted(word)}, {_quoted(some_text(draw))}, 'ab')"),
        lambda: Condition.same(f"s LIKE {_quoted(word + '%')}"),
        lambda: Condition.same(f"s LIKE {_quoted('%' + word + '%')}"),
        lambda: Condition.same(f"s LIKE {_quoted(word[:3] + '%' + word[3:] + '_')}"),
        lambda: Condition.same(f"contains(s, {_quoted(word[:4])})"),
        lambda: Condition(f"startswith(s, {_quoted(word[:2])})", f"starts_with(s, {_quoted(word[:2])})"),
        lambda: Condition(
            f"levenshtein(s, {_quoted(word)}) <= {(k := draw.randrange(4))}",
            f"distance_of(s, {_quoted(word)}) <= {k}",
        ),
        lambda: Condition.same(f"d {sign} DATE'2026-01-{draw.randrange(1, 31):02}'"),
        lambda: Condition.same(f"d >= '2026-01-{draw.randrange(1, 31):02}'"),
        lambda: Condition.same(
            f"t {sign} TIMESTAMP_NTZ'2026-01-0{draw.randrange(1, 4)} {draw.randrange(24):02}:00:00'"
        ),
        lambda: Condition.same(f"m {sign} {draw.randrange(-500, 500) / 100}"),
        lambda: Condition.same(f"m {sign} {draw.randrange(-5000, 5000) / 1000}"),
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
    ]
    return draw.choice(makers)()


def random_condition(draw: Random, depth: int = 3) -> Condition:
    """A tree of AND, OR and NOT."""
    if depth == 0 or draw.random() < 0.25:
        return _leaf(draw)
    if draw.random() < 0.2:
        inner = random_condition(draw, depth - 1)
        return Condition(f"NOT ({inner.spark})", f"NOT ({inner.duck})")
    parts = [random_condition(draw, depth - 1) for _ in range(draw.choice([2, 2, 3]))]
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
    return float(shapely.from_wkt(wkt).distance(shapely.Point(lng, lat)))


class Truth:
    """DuckDB's scan of the files that a table has now."""

    def __init__(self, folder: Path) -> None:
        self._connection = duckdb.connect()
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
