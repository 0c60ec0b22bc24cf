"""Literals mean what Spark 4.1 (ANSI mode) makes of them; those of other types, and casts, are refused."""

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
from secondary_tables import ids_where
from sqlglot import exp
from starskip.errors import ConfigError, UnsupportedQuery
from starskip.secondary import IndexedTable, open_table, where_clause
from starskip.secondary.lifecycle import create_indexes
from starskip.secondary.literal_values import Value, literal_value

SPARKS_ANSWERS = [
    ("i = 3", [1]),
    ("i = +3", [1]),
    ("i = -(-3)", [1]),
    ("i IN (3, -2, NULL)", [1, 4]),
    ("i NOT IN (3, -2)", [0, 2, 3, 5]),
    ("i <=> NULL", []),
    ("i > 2147483646", [5]),
    ("l = 9007199254740992", [1]),
    ("l IN (9007199254740993, 3)", [0, 3]),
    ("l > -9223372036854775808", [0, 1, 2, 3, 5]),
    ("f = 16777216", [1]),
    ("f > 16777216", [4, 5]),
    ("f <= 2.5", [0, 2]),
    ("f = 2.5e0", [2]),
    ("f IN (2.5, 3, NULL)", [2, 3]),
    ("f = 0.10000000149011612", [0]),
    ("f > 0.10000000149011612", [1, 2, 3, 4, 5]),
    ("x = 2.5", [2]),
    ("x = 2.5e0", [2]),
    ("x = 0.1", [0]),
    ("x = 0.10000000149011612", [1]),
    ("x >= 2", [2, 4, 5]),
    ("x IN (1.2, 1, 2.5e0)", [2, 3]),
    ("x > 1.7976931348623157e308", [4, 5]),
    ("x = 9007199254740993", []),
    ("x = -0.0", []),
    ("x IS DISTINCT FROM 2.5", [0, 1, 3, 4, 5]),
    ("x IS NOT DISTINCT FROM 2.5", [2]),
    ("d = 2.5", [2]),
    ("d = 2.500", [2]),
    ("d = -1.24", [4]),
    ("d = 3", [3]),
    ("d > 1.2", [2, 3, 5]),
    ("d IN (2.5, 3, NULL)", [2, 3]),
    ("s = r'a\\bc'", [5]),
    ("s = 'a\\\\bc'", [5]),
    ("s = 'a' 'bc'", [4]),
    ('s = "abc"', [4]),
    ("s = concat('a', 'bc')", [4]),
    ("s LIKE 'a%' ESCAPE '/'", [4, 5]),
    ("s LIKE '_'", [1, 3]),
    ("b = X'1'", [2]),
    ("b = X'61'", [1]),
    ("b > X'00'", [1, 2, 3, 4]),
    ("g = true", [0, 3, 5]),
    ("g IS DISTINCT FROM true", [1, 2, 4]),
    ("dt = '2026-1-1'", [1]),
    ("dt = '2026-01-01 '", [1]),
    ("dt >= DATE'2026-01-02'", [2]),
    ("dt IN ('2026-01-01', DATE'2026-01-02')", [1, 2]),
    ("dt = DATE('2026-01-01')", [1]),
    ("t = '2026-01-01'", [1]),
    ("t >= DATE'2026-01-01'", [1, 2]),
    ("t > TIMESTAMP'2026-01-01 00:00:00'", [2]),
    ("t = TIMESTAMP'2026-01-01 02:00:00+02:00'", [1]),
]
"""Conditions over the table below with the ids that Spark 4.1.1 answers in UTC."""
CASTS = "casts and suffixes of numbers are not evaluated here; write a literal of the column's type"
MOMENT = "TIMESTAMP '2026-01-01 17:00:00'"
REFUSED = [
    ("i = '3'", "i is INT: write a whole number of its range, such as 7, not '3'"),
    ("i < 2.5", "i is INT: write a whole number of its range, such as 7, not 2.5"),
    ("i IN (3, 1e2)", "i is INT: write a whole number of its range, such as 7, not 100.0"),
    ("i < 99999999999", "i is INT: write a whole number of its range, such as 7, not 99999999999"),
    ("i BETWEEN 1 AND true", "i is INT: write a whole number of its range, such as 7, not True"),
    ("l < 1e18", "l is BIGINT: write a whole number of its range"),
    ("l = 9223372036854775808", "l is BIGINT: write a whole number of its range"),
    ("f = 0.1", "f is FLOAT: write 0.10000000149011612, the nearest number that floats have, not 0.1"),
    ("f < 16777217", "f is FLOAT: write 16777216.0, the nearest number that floats have, not 16777217"),
    ("f > 1e300", "f is FLOAT: write a number that floats have, such as 0.5, not 1e+300"),
    ("x = '2.5'", "x is DOUBLE: write a number such as 0.5, not '2.5'"),
    ("d = 2.555", "d is DECIMAL(5,2): write a number with no more digits than it has, such as 7, not 2.555"),
    ("d < 1000", "d is DECIMAL(5,2): write a number with no more digits than it has, such as 7, not 1000"),
    ("d = 2.5e0", "d is DECIMAL(5,2): write a number with no more digits than it has, such as 7, not 2.5"),
    ("d = '2.5'", "d is DECIMAL(5,2): write a number with no more digits than it has, such as 7, not '2.5'"),
    ("w = 2.500", "w is DECIMAL(38,2): write a number with no more digits than it has, such as 7, not 2.500"),
    ("s = 10", "s is STRING: write a text such as 'x', not 10"),
    ("b = 'a'", "b is BINARY: write bytes such as X'1F', not 'a'"),
    ("g = 'yes'", "g is BOOLEAN: write true or false, not 'yes'"),
    ("dt = 20454", "dt is DATE: write DATE '2026-01-01', not 20454"),
    ("dt = 'x'", "dt is DATE: write DATE '2026-01-01', not 'x'"),
    ("dt = DATE'20260101'", "'20260101': is no such date or time; write DATE '2026-01-01' or"),
    (f"dt = {MOMENT}", "dt is DATE: write DATE '2026-01-01', not 2026-01-01 17:00:00"),
    ("t > 5", f"t is TIMESTAMP: write {MOMENT}, not 5"),
    ("n = '2026-01-01 00:00:00Z'", f"n is TIMESTAMP_NTZ: write {MOMENT}, not '2026-01-01 00:00:00Z'"),
    ("i = CAST(2.7 AS INT)", f"CAST(2.7 AS INT): {CASTS}"),
    ("i <=> CAST(NULL AS INT)", f"CAST(NULL AS INT): {CASTS}"),
    ("i = TRY_CAST('x' AS INT)", f"TRY_CAST('x' AS INT): {CASTS}"),
    ("i = CAST(1 AS INTERVAL DAY)", f"CAST(1 AS INTERVAL DAY): {CASTS}"),
    ("i = INT(3)", f"CAST(3 AS INT): {CASTS}"),
    ("i = 3L", f"CAST(3 AS BIGINT): {CASTS}"),
    ("f = 0.1F", f"CAST(0.1 AS FLOAT): {CASTS}"),
    ("dt = CAST('2026-01-01' AS DATE)", f"CAST('2026-01-01' AS DATE): {CASTS}"),
    ("i = BIGINT(3)", "BIGINT(3): is no literal; compare a column with literals"),
    ("i = N'3'", "'3': is no literal"),
    ("x = 1e400", "1e400: is beyond the doubles"),
    ("x < 12345678901234567890123456789012345678.5", "has more than 38 digits"),
    ("s ILIKE 'A%'", "s ILIKE 'A%': is no condition that is evaluated here"),
    ("s RLIKE 'a'", "s RLIKE 'a': this function is not evaluated here"),
    ("s LIKE 'a' ESCAPE 'ab'", "takes one character"),
    ("s LIKE 'a%' ESCAPE ''", "takes one character"),
    ("b = 0x1", "0x1: write bytes as X'1F'"),
    ("ST_Contains(ST_GeomFromText(), x, x)", "ST_GeomFromText('…')"),
    ("ST_Contains()", "write ST_Contains(ST_GeomFromText('…'), lng, lat)"),
    ("ST_Distance(ST_Point('a', 1), x, x) < 1", "takes two numbers: ST_Point(lng, lat)"),
    ("ST_Distance(ST_Point(1, 1), x, x) < 'a'", "ST_Distance is DOUBLE: write a number such as 0.5, not 'a'"),
    ("levenshtein(s, 'a') < 1.5", "levenshtein is INT: write a whole number of its range"),
]


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
            "t": days.cast(pa.date32()).cast(pa.timestamp("us", "UTC")),
            "n": days.cast(pa.date32()).cast(pa.timestamp("us")),
            "w": decimals.cast(pa.decimal128(38, 2)),
        }
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexedTable]:
    folder = tmp_path_factory.mktemp("literals") / "t"
    indexed = ("i", "f", "x", "d", "s", "l", "b", "dt", "t")
    yield _indexed(folder, _rows(), [f"btree:{name}" for name in indexed])


def _indexed(folder: Path, rows: pa.Table, indexes: list[str]) -> IndexedTable:
    folder.mkdir(parents=True)
    pq.write_table(rows, folder / "a.parquet")
    os.utime(folder / "a.parquet", (1_700_000_000, 1_700_000_000))
    create_indexes(str(folder), indexes)
    return open_table(str(folder))


def _forced(table: IndexedTable, where: str) -> list[str]:
    """The index of the condition's column, where a path serves it."""
    chosen = f"btree:{where.removeprefix('NOT ').split()[0]}"
    try:
        table.query(where, ["id"], path=[chosen])
    except ConfigError:
        return ["scan"]
    return [chosen]


@pytest.mark.parametrize(("where", "ids"), SPARKS_ANSWERS)
def test_a_literal_means_what_it_means_in_spark(table: IndexedTable, where: str, ids: list[int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ids_where(table, where, path=["scan"]) == ids
        assert ids_where(table, where, path=_forced(table, where)) == ids
        assert table.answer(where, is_count=True).count == len(ids)


@pytest.mark.parametrize(("where", "message"), REFUSED)
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
        assert ids_where(table, f"{name} IS NULL", path=[]) == expected


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


@pytest.fixture
def casts_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN and infinities are read, which only queries of Spark have."""

    def read(node: exp.Expression) -> Value:
        return float(node.name) if isinstance(node, exp.TryCast) else literal_value(node)

    monkeypatch.setattr(where_clause, "literal_value", read)


@pytest.mark.usefixtures("casts_are_read")
@pytest.mark.parametrize("where", _BOXES)
def test_boxes_with_nan_and_infinities_have_the_points_of_a_scan(tmp_path: Path, where: str) -> None:
    inf = float("inf")
    places = [2.0, 3.0, inf, float("nan"), -1.0, None, -inf, 1.0, -0.0]
    rows = pa.table({"id": range(9), "x": places, "y": [1.0, inf, *[1.0] * 7]})
    table = _indexed(tmp_path / "t", rows, ["rtree:x,y"])
    duck = duckdb.connect()
    duck.register("t", rows)
    expected = [row[0] for row in duck.execute(f"SELECT id FROM t WHERE {where} ORDER BY id").fetchall()]
    assert ids_where(table, where, path=["scan"]) == expected
    assert ids_where(table, where, path=["rtree:x,y"]) == expected


@pytest.mark.usefixtures("casts_are_read")
@pytest.mark.parametrize("bound", ["x <= CAST('NaN' AS DOUBLE)", "x = CAST('NaN' AS DOUBLE)"])
def test_an_r_tree_serves_no_bound_that_nan_satisfies(tmp_path: Path, bound: str) -> None:
    rows = pa.table({"id": range(3), "x": [2.0, float("nan"), 3.0], "y": [1.0] * 3})
    table = _indexed(tmp_path / "t", rows, ["rtree:x,y"])
    with pytest.raises(ConfigError):
        table.query(f"{bound} AND x >= 1 AND y BETWEEN 0 AND 2", path=["rtree:x,y"])
    assert 1 in ids_where(table, f"{bound} AND x >= 1 AND y BETWEEN 0 AND 2", path=[])
