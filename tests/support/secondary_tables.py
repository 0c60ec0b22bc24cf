"""Random tables with secondary indexes, random conditions, and DuckDB's scan of the same files."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
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
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import shapely
from avro_tables import write_avro
from pyarrow import orc
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
    "btree:f",
    "btree:u",
    "btree:b",
    "btree:tz",
    "ngram:s",
    "ngram:s:2",
    "rtree:lat,lng",
)
CLOCK = Clock(lambda: datetime.now(UTC), lambda seconds: None)
_EPOCH_S = 1_700_000_000
_LETTERS = "aab bcé𝄞"
_WORDS = ["", "a", "ab", "abc", "abab", "b c", "é", "abcé", "aaaaaaa", "bca bca bca", "a" * 300, "𝄞ab"]
_BYTES = [b"", b"\x00", b"a", b"ab", b"\xff", b"\xff\xff"]
_FAR = [float("inf"), float("-inf")]
_START = datetime(2026, 1, 1, tzinfo=UTC)
Random = random.Random


def some_text(draw: Random) -> str:
    """A text of few letters, now and then a long one."""
    if draw.random() < 0.3:
        return draw.choice(_WORDS)
    return "".join(draw.choice(_LETTERS) for _ in range(draw.randrange(12)))


WITHOUT = {
    "parquet": frozenset[str](),
    "orc": frozenset({"t"}),
    "avro": frozenset[str](),
    "json": frozenset({"d", "t", "m", "f", "u", "b", "tz"}),
    "csv": frozenset({"n", "x", "d", "t", "m", "flag", "p", "lat", "lng", "f", "u", "b", "tz", "id"}),
}
"""Columns that are not asked for by format: it has no such type, or another one in its place."""


def indexes_of(file_format: str) -> tuple[str, ...]:
    """The indexes of columns that are asked for."""
    return tuple(each for each in INDEXES if not set(re.split(r"[:,.]", each)[1:]) & WITHOUT[file_format])


def rows_of(draw: Random, count: int, first_id: int, *, is_older: bool = False) -> pa.Table:
    """Rows of all types with nulls, NaN and duplicates; older files lack a column and are narrower."""

    def column(kind: pa.DataType, value: Callable[[], Any], nulls: float = 0.15) -> pa.Array:
        return pa.array([None if draw.random() < nulls else value() for _ in range(count)], kind)

    def number() -> float:
        odd = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0]
        return draw.choice(odd) if draw.random() < 0.2 else draw.randrange(-40, 40) / 4

    def place() -> float:
        return draw.choice(_FAR) if draw.random() < 0.05 else draw.uniform(-5, 5)

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
        "lat": column(pa.float64(), lambda: draw.choice([float("nan"), place()]), 0.1),
        "lng": column(pa.float64(), place, 0.1),
        "f": column(pa.float32(), lambda: np.float32(draw.choice([number(), 0.1, 16777216.0]))),
        "u": column(pa.uint64(), lambda: draw.choice([0, 1, 2, 7, 2**63, 2**64 - 1])),
        "b": column(pa.binary(), lambda: draw.choice(_BYTES)),
        "tz": column(pa.timestamp("us", "UTC"), lambda: _START + timedelta(hours=draw.randrange(50))),
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
    file_format: str = "parquet"

    def write(self, name: str, *, is_older: bool = False) -> None:
        """Write or overwrite a file, which may be empty."""
        count = self.draw.choice([0, 1, self.draw.randrange(2, 40), self.draw.randrange(40, 120)])
        if self.file_format == "json" and not self.names:
            # Values tell the types, which are wanted of all columns that are indexed.
            count = self.draw.randrange(40, 120)
        rows = rows_of(self.draw, count, self.next_id, is_older=is_older)
        self.next_id += count
        path = self.folder / name
        if self.file_format == "json":
            rows = _without_odd_numbers(rows)
        elif self.file_format == "csv":
            at = rows.column_names.index("s")
            rows = rows.set_column(at, "s", pc.if_else(pc.equal(rows["s"], ""), None, rows["s"]))
        if self.file_format == "parquet":
            pq.write_table(rows, path, row_group_size=self.draw.choice([7, 16, 50, 1000]), **self._pages())
        else:
            write_rows(rows, path, self.file_format, self.draw)
            pq.write_table(rows, self.truth / f"{name}.parquet")
        self.ticks += 1
        os.utime(path, (_EPOCH_S + self.ticks, _EPOCH_S + self.ticks))
        if name not in self.names:
            self.names.append(name)

    @property
    def truth(self) -> Path:
        """The folder of Parquet files with the same rows."""
        if self.file_format == "parquet":
            return self.folder
        found = self.folder.with_name(f"{self.folder.name}-truth")
        found.mkdir(exist_ok=True)
        return found

    def _suffix(self) -> str:
        """The end of a file's name; some texts are compressed."""
        packed = ".gz" if self.file_format in ("json", "csv") and self.draw.random() < 0.3 else ""
        return f"{self.file_format}{packed}"

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
        if self.file_format != "parquet":
            (self.truth / f"{name}.parquet").unlink()
        self.names.remove(name)

    def change(self) -> None:
        """Add, overwrite and remove some files."""
        for _ in range(self.draw.randrange(1, 4)):
            action = self.draw.choice(["add", "overwrite", "remove"])
            if action == "add" or len(self.names) < 3:
                self.write(f"f{self.ticks}.{self._suffix()}", is_older=self.draw.random() < 0.2)
            elif action == "overwrite":
                self.write(self.draw.choice(self.names[1:]))
            else:
                self.remove(self.draw.choice(self.names[1:]))


def random_table(
    folder: Path, seed: int, indexes: tuple[str, ...] | None = None, file_format: str = "parquet"
) -> RandomTable:
    """A table with indexes, of which files may have been added, changed or removed since."""
    table = RandomTable(folder, Random(seed), file_format=file_format)
    table.write(f"first.{file_format}")
    for number in range(table.draw.randrange(1, 4)):
        table.write(f"g{number}.{table._suffix()}", is_older=table.draw.random() < 0.3)
    chosen = indexes_of(file_format) if indexes is None else indexes
    create_indexes(str(folder), chosen, clock=CLOCK, file_format=file_format, options=OPTIONS[file_format])
    for _ in range(table.draw.randrange(3)):
        table.change()
        if table.draw.random() < 0.5:
            refresh_indexes(str(folder), clock=CLOCK)
    return table


OPTIONS: dict[str, dict[str, str]] = {
    "parquet": {},
    "orc": {},
    "avro": {},
    "json": {},
    "csv": {"header": "true"},
}
"""Options of the reader by format."""


def write_rows(rows: pa.Table, path: Path, file_format: str, draw: Random) -> None:
    """Write rows as files of a format, with what its readers must get right."""
    if file_format == "orc":
        # It has no unsigned numbers, and Spark reads no times with a zone; stripes end with a batch only.
        for name, kind in {"u": pa.decimal128(20, 0), "tz": pa.timestamp("us")}.items():
            rows = rows.set_column(rows.column_names.index(name), name, rows[name].cast(kind))
        stripe_size = draw.choice([64, 1 << 20])
        orc.write_table(rows, path, batch_size=draw.choice([1, 8, 32]), stripe_size=stripe_size)
        return
    if file_format == "csv":
        lines = ["id,s\n", *(_csv_line(row, draw) for row in rows.select(["id", "s"]).to_pylist())]
        # The header may be all there is, and not even that in a file of no bytes.
        content = "".join(lines).encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        return
    if file_format == "avro":
        write_avro(rows, path, draw)
        return
    kept = [name for name in rows.column_names if name not in WITHOUT["json"]]
    lines = [_json_line(row, draw) for row in rows.select(kept).to_pylist()]
    content = "".join(lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def _csv_line(row: dict[str, Any], draw: Random) -> str:
    """A row as a line, with lines of blanks before it now and then; an empty text is null in a CSV file."""
    before, after = draw.choice(["", "", "", "\n", " \t\n"]), draw.choice(["\n", "\n", "\r\n"])
    text = row["s"]
    written = draw.choice(["", '""']) if text is None else draw.choice([text, f'"{text}"'])
    return f"{before}{row['id']},{written}{after}"


def _without_odd_numbers(rows: pa.Table) -> pa.Table:
    """The rows with nulls for NaN and infinities, which JSON has not."""
    columns = [
        pc.if_else(pc.is_finite(column), column, None) if pa.types.is_floating(column.type) else column
        for column in rows.columns
    ]
    return pa.table(columns, names=rows.column_names)


def _json_line(row: dict[str, Any], draw: Random) -> str:
    """A row as a line, whose nulls may be left out, with empty lines before it now and then."""
    kept = {name: value for name, value in row.items() if value is not None or draw.random() < 0.5}
    before, after = draw.choice(["", "", "", "\n", " \t\n"]), draw.choice(["\n", "\n", "\r\n"])
    return before + json.dumps(kept, ensure_ascii=draw.random() < 0.5) + after


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
_FLOAT_TENTH = "0.10000000149011612::DOUBLE"
_WHOLE_CASTS = [
    ("CAST(2.7 AS INT)", "2"),
    ("CAST(-2.7 AS INT)", "-2"),
    ("CAST(3.9e0 AS BIGINT)", "3"),
    ("CAST(' -4 ' AS SMALLINT)", "-4"),
    ("CAST(NULL AS INT)", "NULL"),
    ("3Y", "3"),
    ("2.5e0", "2.5"),
    ("CAST('NaN' AS DOUBLE)", "CAST('NaN' AS DOUBLE)"),
    ("-1e300", "-1e300"),
]
_DECIMAL_CASTS = [
    ("CAST(1.235 AS DECIMAL(5,2))", "1.24"),
    ("CAST(-1.235 AS DECIMAL(5,2))", "-1.24"),
    ("CAST('2.5' AS DECIMAL(3,0))", "3"),
    ("-0.75BD", "-0.75"),
    ("'1.5'", "1.5"),
]
_FLOATS = [
    ("0.1F", _FLOAT_TENTH),
    ("CAST('0.1' AS FLOAT)", _FLOAT_TENTH),
    ("CAST(0.1 AS FLOAT)", _FLOAT_TENTH),
    ("0.1", "0.1::DOUBLE"),
    ("1.25F", "1.25"),
    ("16777217", "16777217"),
    ("CAST(16777217 AS FLOAT)", "16777216"),
    ("1e300", "1e300"),
    ("CAST('-Infinity' AS FLOAT)", "CAST('-Infinity' AS DOUBLE)"),
    ("CAST('NaN' AS FLOAT)", "CAST('NaN' AS DOUBLE)"),
]
_UNSIGNED = ["-1", "0", "1", "2.5", "7", "9223372036854775808", "18446744073709551615", "NULL"]
_ZONED_TIMES = ["2026-01-01 05:00:00Z", "2026-01-01 23:00:00+02:00", "2026-01-02 00:30:00-01:00"]


def _pair(draw: Random, column: str, sign: str, of_duck: str, values: list[tuple[str, str]]) -> Condition:
    """A comparison with one of some literals, each as Spark and as DuckDB writes it."""
    spark, duck = draw.choice(values)
    return Condition(f"{column} {sign} {spark}", f"{of_duck} {sign} {duck}")


def _odd_box(draw: Random) -> str:
    """Bounds of both coordinates, several of one, NaN and infinities among them."""
    odd = [f"CAST('{each}' AS DOUBLE)" for each in ("NaN", "Infinity", "-Infinity")]

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
        lambda: Condition.same(_odd_box(draw)),
        lambda: _pair(draw, "n", sign, "n", _WHOLE_CASTS),
        lambda: _pair(draw, "m", sign, "m", _DECIMAL_CASTS),
        lambda: _pair(draw, "x", sign, "x", _FLOATS),
        # DuckDB takes a literal for a float where Spark takes both for doubles.
        lambda: _pair(draw, "f", sign, "f::DOUBLE", _FLOATS),
        lambda: Condition(
            f"f IN ({(k := draw.choice(['0.1', '0.25, NULL', '16777217, 1.5']))})", f"f::DOUBLE IN ({k})"
        ),
        lambda: _pair(draw, "u", sign, "u::DECIMAL(38,2)", [(k, k) for k in _UNSIGNED]),
        lambda: _pair(draw, "b", sign, "b", [(f"X'{k.hex()}'", _blob(k)) for k in _BYTES]),
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
