"""Tables of a few small files with the values that are hardest to compare, written without Spark."""

from __future__ import annotations

import csv
import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

ROWS_OF_A_FILE = 10_000
"""The column ``row`` tells the file, too: it is the file's number times this and the position."""
FORMATS = ("parquet", "orc", "json", "csv")
ZONES = ("UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Pacific/Apia")

_EPOCH = datetime(1970, 1, 1)
_TEXTS = (
    *("", " ", "a", "A", "aa", "ab", "abc", "b", "ä", "Ä", "ß", "é", "e\u0301", "z", "zebra", "10", "9"),
    *("😀", "😀😀", "\uffff", "\U0010ffff", "\ue000x", "日本", "a%b", "a_b", "a\\b", "null", "-1"),
    *("x" * 40, "ab" * 60),
)
_INSTANTS = (
    # The hours that New York and Berlin have twice, and those that they lack.
    *("2026-11-01 05:30:00", "2026-11-01 06:30:00", "2026-10-25 00:30:00", "2026-10-25 01:30:00"),
    *("2026-03-08 06:59:59.999999", "2026-03-08 07:00:00", "2011-12-30 12:00:00"),
    *("0001-01-01 00:00:00", "1582-10-04 00:00:00", "1582-10-15 00:00:00", "1883-11-18 17:00:00"),
    *("1899-12-31 23:59:59.999999", "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999"),
    *("2024-02-29 12:34:56.789012", "2038-01-19 03:14:08", "9999-12-31 23:59:59.999999"),
)


def _micros(text: str) -> int:
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True)
class ColumnKind:
    """``literal`` writes a value as Spark's SQL; ``values`` are drawn from a table's own few of them."""

    arrow: pa.DataType
    sql: str
    values: Callable[[random.Random], Any]
    literal: Callable[[Any], str]


def _float(rng: random.Random) -> float:
    special = (0.0, -0.0, float("nan"), float("inf"), float("-inf"))
    return rng.choice((*special, 0.1, 1.5, -2.5, 1e-40, 3e38, 16777217.0))


def _double(rng: random.Random) -> float:
    return rng.choice((_float(rng), 1e300, -1e300, 5e-324, 0.1 + 0.2, 9007199254740993.0))


def _float_literal(kind: str) -> Callable[[float], str]:
    return lambda value: f"{kind}({str(value)!r})"


def _text_literal(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


KINDS: dict[str, ColumnKind] = {
    "tiny": ColumnKind(
        pa.int8(), "tinyint", lambda rng: rng.choice((-128, -1, 0, 1, 2, 127)), lambda v: f"{v}Y"
    ),
    "i": ColumnKind(pa.int32(), "int", lambda rng: rng.randint(-5, 20), str),
    "big": ColumnKind(
        pa.int64(),
        "bigint",
        lambda rng: rng.choice((-(2**63), 2**63 - 1, 2**53 + 1, 0, -1, rng.randint(-50, 50))),
        lambda v: f"bigint('{v}')",
    ),
    "f": ColumnKind(pa.float32(), "float", _float, _float_literal("float")),
    "d": ColumnKind(pa.float64(), "double", _double, _float_literal("double")),
    "dec": ColumnKind(
        pa.decimal128(10, 2),
        "decimal(10,2)",
        lambda rng: Decimal(
            rng.choice((0, -1, 1, 150, -99999999_99, 99999999_99, rng.randint(-500, 500)))
        ).scaleb(-2),
        lambda v: f"cast('{v}' as decimal(10,2))",
    ),
    "wide": ColumnKind(
        pa.decimal128(38, 6),
        "decimal(38,6)",
        lambda rng: Decimal(rng.choice((0, 1, -1, 10**30, -(10**30), 10**37))).scaleb(-6),
        lambda v: f"cast('{v:f}' as decimal(38,6))",
    ),
    "s": ColumnKind(pa.string(), "string", lambda rng: rng.choice(_TEXTS), _text_literal),
    "u": ColumnKind(pa.string(), "string", lambda rng: rng.choice(_TEXTS), _text_literal),
    "raw": ColumnKind(
        pa.binary(),
        "binary",
        lambda rng: rng.choice((b"", b"\x00", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"ab", b"abc")),
        lambda v: f"X'{v.hex()}'",
    ),
    "flag": ColumnKind(pa.bool_(), "boolean", lambda rng: rng.random() < 0.5, lambda v: str(v).lower()),
    "day": ColumnKind(
        pa.date32(),
        "date",
        lambda rng: rng.choice(
            (0, -1, -141428, -141427, -719162, 20000, 20001, 2932896, rng.randint(-400, 400))
        ),
        lambda v: f"date_from_unix_date({v})",
    ),
    "ts": ColumnKind(
        pa.timestamp("us", "UTC"),
        "timestamp",
        lambda rng: _micros(rng.choice(_INSTANTS)),
        lambda v: f"timestamp_micros({v})",
    ),
    "ntz": ColumnKind(
        pa.timestamp("us"),
        "timestamp_ntz",
        lambda rng: _micros(rng.choice(_INSTANTS)),
        lambda v: f"timestamp_ntz'{_EPOCH + timedelta(microseconds=v)}'",
    ),
}
NESTED = {"n.x": "big", "n.`y z`": "s", "n.deep.q": "i"}
"""Fields of the struct ``n`` and the kinds of their values."""
_NOT_IN = {"csv": {"raw"}, "json": {"raw"}, "orc": {"ntz"}}


@dataclass
class RandomTable:
    """``values``: those of each column or field, by its name in SQL; ``kinds``: what they are."""

    path: Path
    file_format: str
    zone: str
    kinds: dict[str, ColumnKind] = field(default_factory=dict)
    values: dict[str, list[Any]] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)

    @property
    def nested(self) -> bool:
        return self.file_format != "csv"

    def schema(self) -> str:
        columns = ["`row` int"]
        columns += [f"`{name}` {kind.sql}" for name, kind in self.kinds.items() if "." not in name]
        if self.nested:
            columns.append("n struct<x: bigint, `y z`: string, deep: struct<q: int>>")
        return ", ".join(columns)

    def read(self, spark: SparkSession) -> DataFrame:
        reader = spark.read.format(self.file_format).options(**self.options)
        return reader.schema(self.schema()).load(str(self.path))


def random_table(rng: random.Random, folder: Path, file_format: str | None = None) -> RandomTable:
    """Write a table whose files hold few values each, so that there is something to skip."""
    made = RandomTable(folder, file_format or rng.choice(FORMATS), rng.choice(ZONES))
    absent = _NOT_IN.get(made.file_format, set())
    made.kinds = {name: kind for name, kind in KINDS.items() if name not in absent}
    if made.nested:
        made.kinds |= {name: KINDS[kind] for name, kind in NESTED.items()}
    if made.file_format == "csv":
        made.options = {"nullValue": "\\N", "emptyValue": "", "escape": '"', "multiLine": "true"}
    made.values = {name: [] for name in made.kinds}
    folder.mkdir(parents=True)
    for number in range(rng.randint(3, 7)):
        columns = {name: _column(rng, kind, count) for name, kind, count in _sizes(rng, made)}
        for name, column in columns.items():
            made.values[name].extend(value for value in column if value is not None)
        _write(made, folder / f"part-{number}.{made.file_format}", number, columns)
    return made


def _sizes(rng: random.Random, table: RandomTable) -> list[tuple[str, ColumnKind, int]]:
    rows = rng.choice((0, 1, 2, 5, 9))
    return [(name, kind, rows) for name, kind in table.kinds.items()]


def _column(rng: random.Random, kind: ColumnKind, rows: int) -> list[Any]:
    few = [kind.values(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
    nulls = rng.choice((0.0, 0.0, 0.2, 1.0))
    return [None if rng.random() < nulls else rng.choice(few) for _ in range(rows)]


def _write(table: RandomTable, path: Path, number: int, columns: dict[str, list[Any]]) -> None:
    rows = len(next(iter(columns.values())))
    ids = [number * ROWS_OF_A_FILE + at for at in range(rows)]
    if table.file_format in ("parquet", "orc"):
        _write_arrow(table, path, ids, columns)
    elif table.file_format == "json":
        lines = [
            json.dumps(_document({name: column[at] for name, column in columns.items()}, ids[at], table))
            for at in range(rows)
        ]
        path.write_text("".join(line + "\n" for line in lines))
    else:
        with path.open("w", newline="") as out:
            writer = csv.writer(out)
            for at in range(rows):
                cells = (_text(table.kinds[name], column[at], table) for name, column in columns.items())
                writer.writerow([ids[at], *("\\N" if cell is None else cell for cell in cells)])
    old_s = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    os.utime(path, (old_s, old_s))


def _write_arrow(table: RandomTable, path: Path, ids: list[int], columns: dict[str, list[Any]]) -> None:
    arrays = {name: _array(table.kinds[name].arrow, column) for name, column in columns.items()}
    if table.file_format == "orc":
        # Spark's own timestamps there have no zone, and no parts of seconds before 1970.
        whole = [
            each if each is None or each > 0 else each // 1_000_000 * 1_000_000 for each in columns["ts"]
        ]
        arrays["ts"] = _array(pa.timestamp("us"), whole)
    inner = pa.StructArray.from_arrays([arrays.pop("n.deep.q")], ["q"])
    fields = [arrays.pop("n.x"), arrays.pop("n.`y z`"), inner]
    struct = pa.StructArray.from_arrays(fields, ["x", "y z", "deep"])
    rows = pa.table({"row": pa.array(ids, pa.int32()), **arrays, "n": struct})
    if table.file_format == "orc":
        orc.write_table(rows, path)
    else:
        pq.write_table(rows, path, row_group_size=max(1, len(ids) // 2), write_page_index=len(ids) % 2 == 1)


def _array(kind: pa.DataType, values: list[Any]) -> pa.Array:
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)


def _text(kind: ColumnKind, value: Any, table: RandomTable) -> Any:
    if value is None:
        return None
    if kind.sql == "date":
        return str((_EPOCH + timedelta(days=value)).date())
    if kind.sql == "timestamp":
        # Without an offset: what instant it is depends on the session's zone.
        return str(_EPOCH + timedelta(microseconds=value))
    if kind.sql == "timestamp_ntz":
        return (_EPOCH + timedelta(microseconds=value)).isoformat()
    if kind.sql in ("float", "double"):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), value)
    return f"{value:f}" if isinstance(value, Decimal) else value


def _document(row: dict[str, Any], identity: int, table: RandomTable) -> dict[str, Any]:
    document: dict[str, Any] = {"row": identity}
    for name, value in row.items():
        written = _text(table.kinds[name], value, table)
        at = document
        *above, last = [part.strip("`") for part in name.split(".")]
        for part in above:
            at = at.setdefault(part, {})
        if written is not None:
            at[last] = written
    return document
