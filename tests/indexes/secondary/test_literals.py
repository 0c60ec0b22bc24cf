"""Literals of other types and casts of them mean what Spark 4.1 (ANSI mode) makes of them, or are refused."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.errors import ConfigError, UnsupportedQuery
from starskip.indexes.secondary import IndexedTable, open_table
from starskip.indexes.secondary.lifecycle import create_indexes

SPARKS_ANSWERS = [
    ("i = CAST(2.7 AS INT)", [0]),
    ("i = CAST(-2.7 AS INT)", [4]),
    ("i = INT(2.7)", [0]),
    ("i = CAST(' 2 ' AS INT)", [0]),
    ("i = CAST(2.7e0 AS INT)", [0]),
    ("i = CAST(true AS INT)", []),
    ("i = BIGINT(3.9)", [1]),
    ("f = CAST('0.1' AS FLOAT)", [0]),
    ("f = CAST(0.1 AS FLOAT)", [0]),
    ("f = CAST(16777217 AS FLOAT)", [1]),
    ("f = FLOAT(16777217)", [1]),
    ("f = 0.1F", [0]),
    ("x = 0.1F", [1]),
    ("x < 0.1F", [0]),
    ("x = CAST(0.1 AS FLOAT)", [1]),
    ("x = CAST('1e400' AS DOUBLE)", [5]),
    ("x = CAST(' Infinity ' AS DOUBLE)", [5]),
    ("x = '1e400'", [5]),
    ("d = CAST(1.239 AS DECIMAL(3,1))", [1]),
    ("d = CAST(1.15 AS DECIMAL(3,1))", [1]),
    ("d = CAST('1.15' AS DECIMAL(3,1))", [1]),
    ("d = CAST(1.15e0 AS DECIMAL(3,1))", [1]),
    ("d = CAST(2.45 AS DECIMAL(3,1))", [2]),
    ("d = CAST(2.6 AS DECIMAL)", [3]),
    ("d = CAST(-1.239 AS DECIMAL(5,2))", [4]),
    ("d = CAST(-1.235 AS DECIMAL(5,2))", [4]),
    ("f = 16777217", []),
    ("f = 16777216", [1]),
    ("f > 16777216", [4, 5]),
    ("f < 16777217", [0, 1, 2, 3]),
    ("f <= 16777216.5", [0, 1, 2, 3]),
    ("f IN (16777217, 3)", [3]),
    ("f IN (0.1)", []),
    ("f IN (0.1F, 3)", [0, 3]),
    ("f = '0.1'", []),
    ("f > '0.1'", [0, 1, 2, 3, 4, 5]),
    ("f = 0.1", []),
    ("f < 0.1", []),
    ("f = 1e300", []),
    ("f < 1e300", [0, 1, 2, 3]),
    ("f < -1e300", []),
    ("f >= 1e300", [4, 5]),
    ("i = 3Y", [1]),
    ("i = 3S", [1]),
    ("i = 3L", [1]),
    ("d = 0.1BD", [0]),
    ("d = -1.24BD", [4]),
    ("x = 2.5D", [2]),
    ("l = 9007199254740992", [1]),
    ("l > 9007199254740992.5", [0, 2, 5]),
    ("l = 9007199254740993e0", [0, 1]),
    ("l <=> 9007199254740993e0", [0, 1]),
    ("l <> 9007199254740993e0", [2, 3, 4, 5]),
    ("l < 9007199254740993e0", [3, 4]),
    ("l <= 9007199254740993e0", [0, 1, 3, 4]),
    ("l > 9007199254740992e0", [2, 5]),
    ("l IN (9007199254740993e0, 3)", [0, 1, 3]),
    ("l IN (9007199254740993, 3e0)", [0, 1, 3]),
    ("l IN (9007199254740993, NULL, 3e0)", [0, 1, 3]),
    ("l NOT IN (9007199254740993, 3e0)", [2, 4, 5]),
    ("l < 1e18", [0, 1, 3, 4, 5]),
    ("l < 1e19", [0, 1, 2, 3, 4, 5]),
    ("l >= -1e30", [0, 1, 2, 3, 4, 5]),
    ("l = 9223372036854775807e0", [2]),
    ("l > CAST('NaN' AS DOUBLE)", []),
    ("l < CAST('NaN' AS DOUBLE)", [0, 1, 2, 3, 4, 5]),
    ("l < CAST('Infinity' AS DOUBLE)", [0, 1, 2, 3, 4, 5]),
    ("l <=> CAST('NaN' AS DOUBLE)", []),
    ("d = 2.5e0", [2]),
    ("d = '2.5'", [2]),
    ("d = '2.50'", [2]),
    ("d > '1.2'", [2, 3, 5]),
    ("d = 1.2e0", [1]),
    ("d < 0.1e0", [4]),
    ("d IN ('2.5', 1.2)", [1, 2]),
    ("d IN (2.5e0, NULL)", [2]),
    ("d = 0.1F", []),
    ("d < 0.1F", [0, 4]),
    ("i = '99999999999'", []),
    ("i < '99999999999'", [0, 1, 2, 3, 4, 5]),
    ("i = ' 3 '", [1]),
    ("i IN ('3', 0)", [1, 3]),
    ("i IN ('3', 2.0)", [0, 1]),
    ("i IN ('3.0', 2.0)", [0, 1]),
    ("i IN (2.7, 3)", [1]),
    ("i <=> CAST(NULL AS INT)", []),
    ("s = CAST('b' AS STRING)", [1]),
    ("s = CAST(10 AS STRING)", [2]),
    ("s = STRING(10)", [2]),
    ("s = CAST(DATE'2026-01-01' AS STRING)", [0]),
    ("s = CAST('abc' AS VARCHAR(2))", [4]),
    ("s = r'a\\bc'", [5]),
    ("s = 'a\\\\bc'", [5]),
    ("s = 'a' 'bc'", [4]),
    ('s = "abc"', [4]),
    ("s = concat('a', 'bc')", [4]),
    ("s LIKE 'a%' ESCAPE '/'", [4, 5]),
    ("s LIKE '_'", [1, 3]),
    ("b = X'1'", [2]),
    ("b = X'61'", [1]),
    ("b = 'a'", [1]),
    ("b = CAST('a' AS BINARY)", [1]),
    ("b > X'00'", [1, 2, 3, 4]),
    ("x IS DISTINCT FROM 2.5", [0, 1, 3, 4, 5]),
    ("x IS NOT DISTINCT FROM 2.5", [2]),
    ("g IS DISTINCT FROM true", [1, 2, 4]),
    ("f IS DISTINCT FROM 16777217", [0, 1, 2, 3, 4, 5]),
    ("g = CAST('yes' AS BOOLEAN)", [0, 3, 5]),
    ("g = CAST(2 AS BOOLEAN)", [0, 3, 5]),
    ("dt = '2026-1-1'", [1]),
    ("dt = DATE('2026-01-01')", [1]),
    ("dt = CAST('2026-01-01 ' AS DATE)", [1]),
    ("dt = CAST(TIMESTAMP'2026-01-01 10:00:00' AS DATE)", [1]),
    ("i < 12345678901234567890123456789012345678", [0, 1, 2, 3, 4, 5]),
    ("x = 9007199254740993", []),
    ("x = -0.0", []),
    ("i BETWEEN '2' AND '3'", [0, 1]),
    ("i = +3", [1]),
    ("i = -(-3)", [1]),
    ("x = CAST(1 AS DOUBLE)", []),
]
SPARK_RAISES = [
    "i = CAST('2.7' AS INT)",
    "i = CAST(1e10 AS INT)",
    "i = TINYINT(300)",
    "x = CAST('1_0' AS DOUBLE)",
    "x = 1e400",
    "d = CAST(99.96 AS DECIMAL(3,1))",
    "i = 300Y",
    "d = 'x'",
    "i = '3.0'",
    "i = '99999999999999999999'",
    "i > '2.5'",
    "s LIKE 'a' ESCAPE 'ab'",
    "s LIKE 'a%' ESCAPE ''",
    "b = 0x1",
    "dt = CAST('2026-W01-4' AS DATE)",
    "dt = DATE'20260101'",
    "i = 123456789012345678901234567890123456789",
    "x < 12345678901234567890123456789012345678.5",
    "i = N'3'",
]
"""Conditions over the table below with the ids that Spark 4.1.1 answered."""


def _rows() -> pa.Table:
    inf, nan = float("inf"), float("nan")
    days = pa.array([20000, 20454, 20455, None, 1, 2], pa.int32())
    decimals = pa.array(["0.1", "1.2", "2.5", "3.0", "-1.24", "999.99"])
    return pa.table(
        {
            "id": range(6),
            "i": pa.array([2, 3, 16777217, 0, -2, 2147483647], pa.int32()),
            "f": pa.array([0.1, 16777216.0, 2.5, 3.0, nan, inf], pa.float32()),
            "x": [0.1, float(np.float32(0.1)), 2.5, 1.2, nan, inf],
            "d": decimals.cast(pa.decimal128(5, 2)),
            "s": ["2026-01-01", "b", "10", "é", "abc", "a\\bc"],
            "l": [9007199254740993, 9007199254740992, 2**63 - 1, 3, -(2**63), 9007199254740994],
            "b": [b"", b"a", b"\x01", b"ab", b"\xff", None],
            "g": [True, False, None, True, False, True],
            "dt": days.cast(pa.date32()),
        }
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexedTable]:
    folder = tmp_path_factory.mktemp("literals") / "t"
    yield _indexed(folder, _rows(), [f"btree:{name}" for name in ("i", "f", "x", "d", "s", "l", "b", "dt")])


def _indexed(folder: Path, rows: pa.Table, indexes: list[str]) -> IndexedTable:
    folder.mkdir(parents=True)
    pq.write_table(rows, folder / "a.parquet")
    os.utime(folder / "a.parquet", (1_700_000_000, 1_700_000_000))
    create_indexes(str(folder), indexes)
    return open_table(str(folder))


def _ids(table: IndexedTable, where: str, path: list[str]) -> list[int]:
    return sorted(table.query(where, ["id"], path=path)["id"].to_pylist())


def _forced(table: IndexedTable, where: str) -> list[str]:
    """The index of the condition's column, where a path serves it."""
    chosen = f"btree:{where.removeprefix('NOT ').split()[0]}"
    try:
        table.query(where, ["id"], path=[chosen])
    except ConfigError:
        return ["scan"]
    return [chosen]


@pytest.mark.parametrize(("where", "ids"), SPARKS_ANSWERS)
def test_a_literal_means_what_spark_makes_of_it(table: IndexedTable, where: str, ids: list[int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _ids(table, where, ["scan"]) == ids
        assert _ids(table, where, _forced(table, where)) == ids
        assert table.answer(where, is_count=True).count == len(ids)


@pytest.mark.parametrize("where", SPARK_RAISES)
def test_what_spark_raises_for_is_refused(table: IndexedTable, where: str) -> None:
    with pytest.raises(UnsupportedQuery):
        table.query(where)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("s ILIKE 'A%'", "s ILIKE 'A%': is no condition that is evaluated here"),
        ("s RLIKE 'a'", "s RLIKE 'a': this function is not evaluated here"),
        ("f = 1e39F", "is no literal that is evaluated here, or out of range"),
        ("i = TRY_CAST('x' AS INT)", "TRY_CAST('x' AS INT): is no literal"),
        ("b = 0x1", "0x1: write bytes as X'1F'"),
        ("s LIKE 'a' ESCAPE 'ab'", "takes one character"),
        ("ST_Contains(ST_GeomFromText(), x, x)", "ST_GeomFromText('…')"),
        ("ST_Contains()", "write ST_Contains(ST_GeomFromText('…'), lng, lat)"),
        ("ST_Distance(ST_Point('a', 1), x, x) < 1", "takes two numbers: ST_Point(lng, lat)"),
        ("ST_Distance(ST_Point(1, 1), x, x) < 'a'", "ST_Distance is double and not compared with 'a'"),
        ("levenshtein(s, 'a') < 'a'", "levenshtein is int and not compared with 'a'"),
    ],
)
def test_what_is_refused_is_named(table: IndexedTable, where: str, message: str) -> None:
    with pytest.raises(UnsupportedQuery) as raised:
        table.query(where)
    assert message in str(raised.value)


def test_types_without_an_order_are_compared_with_nothing(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "id": [1, 2],
            "l": pa.array([[1], None]),
            "ma": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
            "n": pa.nulls(2),
            "h": pa.array([np.float16(1), None], pa.float16()),
            "du": pa.array([1, None], pa.duration("us")),
            "ti": pa.array([1, None], pa.time64("us")),
            "p": pa.array([{"z": 1}, None]),
        }
    )
    table = _indexed(tmp_path / "t", rows, ["btree:id"])
    for name in rows.column_names[1:]:
        for condition in (f"{name} = 1", f"{name} IN (1, 2)", f"{name} > '1'", f"{name} <=> NULL"):
            with pytest.raises(UnsupportedQuery, match=f"^{name} is .*, whose values are not compared here"):
                table.query(condition, ["id"])
    for name in rows.column_names[1:]:
        expected = [1, 2] if name == "n" else [2]
        assert _ids(table, f"{name} IS NULL", []) == expected


_BOXES = [
    "x >= CAST('NaN' AS DOUBLE) AND x BETWEEN 1 AND 5 AND y BETWEEN 0 AND 2",
    "x BETWEEN 1 AND 5 AND x = CAST('NaN' AS DOUBLE) AND y BETWEEN 0 AND 2",
    "x > CAST('Infinity' AS DOUBLE) AND x <= CAST('Infinity' AS DOUBLE) AND y BETWEEN 0 AND 2",
    "x >= CAST('Infinity' AS DOUBLE) AND x <= CAST('Infinity' AS DOUBLE) AND y BETWEEN 0 AND 2",
    "x > CAST('Infinity' AS DOUBLE) AND x < CAST('NaN' AS DOUBLE) AND y BETWEEN 0 AND 2",
    "x >= CAST('-Infinity' AS DOUBLE) AND x < 3 AND y BETWEEN 0 AND 2",
    "x > CAST('-Infinity' AS DOUBLE) AND x < CAST('NaN' AS DOUBLE) AND y BETWEEN 0 AND 2",
    "x >= CAST('-Infinity' AS DOUBLE) AND x < CAST('-Infinity' AS DOUBLE) AND y BETWEEN 0 AND 2",
    "x >= 1 AND x < CAST('NaN' AS DOUBLE) AND y BETWEEN 0 AND 2",
    "x > 5 AND x < 2 AND y BETWEEN 0 AND 2",
    "x BETWEEN 2 AND 3 AND y BETWEEN 1 AND CAST('Infinity' AS DOUBLE)",
]


@pytest.mark.parametrize("where", _BOXES)
def test_boxes_with_nan_and_infinities_have_the_points_of_a_scan(tmp_path: Path, where: str) -> None:
    inf = float("inf")
    places = [2.0, 3.0, inf, float("nan"), -1.0, None, -inf, 1.0, -0.0]
    rows = pa.table({"id": range(9), "x": places, "y": [1.0, inf, *[1.0] * 7]})
    table = _indexed(tmp_path / "t", rows, ["rtree:x,y"])
    duck = duckdb.connect()
    duck.register("t", rows)
    expected = [row[0] for row in duck.execute(f"SELECT id FROM t WHERE {where} ORDER BY id").fetchall()]
    assert _ids(table, where, ["scan"]) == expected
    assert _ids(table, where, ["rtree:x,y"]) == expected


@pytest.mark.parametrize("bound", ["x <= CAST('NaN' AS DOUBLE)", "x = CAST('NaN' AS DOUBLE)"])
def test_an_r_tree_serves_no_bound_that_nan_satisfies(tmp_path: Path, bound: str) -> None:
    rows = pa.table({"id": range(3), "x": [2.0, float("nan"), 3.0], "y": [1.0] * 3})
    table = _indexed(tmp_path / "t", rows, ["rtree:x,y"])
    with pytest.raises(ConfigError):
        table.query(f"{bound} AND x >= 1 AND y BETWEEN 0 AND 2", path=["rtree:x,y"])
    assert 1 in _ids(table, f"{bound} AND x >= 1 AND y BETWEEN 0 AND 2", [])
