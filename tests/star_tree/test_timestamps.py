"""Dimensions of times in every unit and zone: ranges, functions of dates and groups, both ways."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.errors import SourceError
from starskip.predicates.column_types import named_type
from starskip.star_tree.serving.answer_from_files import answer_from_files
from starskip.star_tree.serving.answer_sql import Answer, answer_from_tree
from starskip.star_tree.serving.tree_set import TreeSet

pytestmark = pytest.mark.slow

MOMENTS = [
    *(datetime(2024, 1, 31, 22, minute, tzinfo=UTC) for minute in (0, 30, 59)),
    *(datetime(2024, month, 28, 9, 15, 30, tzinfo=UTC) for month in (2, 3, 12)),
    *(datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(2050, 6, 1, tzinfo=UTC)),
]
ZONES = [None, "UTC", "Europe/Berlin", "+05:30"]
WHERE = [
    "ts >= '2024-02-01'",
    "ts < '2024-01-31 22:30:00'",
    "ts > '2024-01-31T22:30:00Z' AND ts <= '2024-12-28 09:15:30'",
    "ts BETWEEN '1960-01-01' AND '2024-03-01'",
    "ts NOT BETWEEN '2024-01-01' AND '2024-12-31'",
    "ts IN ('2024-02-28 09:15:30', '2024-01-31 23:00:00+01:00', '9999-12-31')",
    "ts NOT IN ('2024-02-28 09:15:30')",
    "ts = '2024-02-28 09:15:30'",
    "ts <> '2024-02-28 09:15:30.000000'",
    "ts < '9999-12-31'",
    "ts > '0001-01-01 00:00:00'",
    "ts >= '1500-01-01' AND ts <= '2900-01-01'",
    "ts IS NULL",
    "ts IS NOT NULL",
    "year(ts) = 2024",
    "month(ts) IN (1, 2) AND day(ts) > 5",
    "hour(ts) = 22",
    "extract(minute FROM ts) = 30",
    "date_trunc('month', ts) = '2024-02-01'",
    "date_trunc('day', ts) >= CAST('2024-03-01' AS TIMESTAMP)",
    "CAST(ts AS DATE) = '2024-02-28'",
    "ts = date_trunc('second', ts)",
    "coalesce(ts, '2024-01-01') < '2024-02-01'",
    "CASE WHEN ts > '2024-03-01' THEN 1 ELSE 0 END = 1",
    "ts >= CAST('2024-02-01 00:00:00' AS TIMESTAMP)",
    "ts < CAST('9999-12-31' AS TIMESTAMP) AND ts > CAST('2024-02-01' AS DATE)",
    "ts IN (CAST('2024-02-28 09:15:30' AS TIMESTAMP), '2050-06-01')",
    "NOT (ts < '2024-02-01' OR ts > '2024-12-01')",
]
GROUPS = ["ts", "date_trunc('month', ts)", "year(ts)", "hour(ts)", "CAST(ts AS DATE)", "quarter(ts)"]


def values(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows, moments as those in UTC, in an order of their own."""

    def plain(value: Any) -> Any:
        if isinstance(value, datetime):
            moment = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
            return pd.Timestamp(moment).isoformat()
        return value

    columns = [[plain(value) for value in column.to_pylist()] for column in table.columns]
    return sorted(zip(*columns, strict=True), key=repr)


def built(trees: Any, moments: pa.Array, path: Path) -> TreeSet:
    rows = pa.table({"ts": moments, "n": list(range(len(moments)))})
    pq.write_table(rows, path)
    found: TreeSet = trees.build(path, trees.config("ts", "COUNT__* SUM__n MIN__ts MAX__ts"))
    return found


def moments(unit: str, zone: str | None) -> pa.Array:
    with_null = [*MOMENTS, None, *MOMENTS[:3]]
    array = pa.array(
        [m and (m if zone else m.replace(tzinfo=None)) for m in with_null], pa.timestamp("us", zone)
    )
    return array.cast(pa.timestamp(unit, zone))


@pytest.fixture(scope="module")
def of_microseconds(trees: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[Any, TreeSet]:
    folder = tmp_path_factory.mktemp("us")
    return {z: built(trees, moments("us", z), folder / f"{n}.parquet") for n, z in enumerate(ZONES)}


@pytest.mark.parametrize(
    ("unit", "zone"), [*product(["ns"], ZONES), ("ms", None), ("ms", "UTC"), ("s", "Europe/Berlin")]
)
def test_every_unit_and_zone_is_answered_as_microseconds_are(
    trees: Any, tmp_path: Path, of_microseconds: dict[Any, TreeSet], unit: str, zone: str | None
) -> None:
    opened = built(trees, moments(unit, zone), tmp_path / "t.parquet")
    source = opened.sources()
    queries = [f"SELECT COUNT(*), SUM(n), MIN(ts), MAX(ts) FROM t WHERE {where}" for where in WHERE]
    queries += [f"SELECT {group} AS g, COUNT(*) FROM t GROUP BY {group}" for group in GROUPS]
    queries += [f"SELECT {group} AS g, SUM(n) FROM t GROUP BY 1 ORDER BY 1 LIMIT 3" for group in GROUPS]
    for query in queries:
        wanted = answer_from_tree(of_microseconds[zone], query)
        assert isinstance(wanted, Answer), wanted
        found = answer_from_tree(opened, query)
        assert isinstance(found, Answer), found
        assert values(found.table) == values(wanted.table), query
        scanned, _, _ = answer_from_files(source, query, "pinot")
        assert values(scanned) == values(wanted.table), query
        if unit == "ns" and zone in (None, "UTC") and "LIMIT" not in query:
            by_spark, _, _ = answer_from_files(source, query, "spark")
            assert values(by_spark) == values(wanted.table), query
            within, _, _ = answer_from_files(source, f"SELECT * FROM ({query}) AS q", "pinot")
            assert values(within) == values(wanted.table), query


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_nanoseconds_keep_their_digits(trees: Any, tmp_path: Path, zone: str | None) -> None:
    base = 1_706_740_200_000_000_000  # 2024-01-31 22:30
    stamps = pa.array([base, base + 1, base + 999, base + 1000, None], pa.timestamp("ns", zone))
    opened = built(trees, stamps, tmp_path / "t.parquet")

    def count(where: str) -> int:
        found = answer_from_tree(opened, f"SELECT COUNT(*) FROM t WHERE {where}")
        assert isinstance(found, Answer), found
        value: int = found.table.column(0)[0].as_py()
        return value

    assert count("ts = '2024-01-31 22:30:00'") == 1
    assert count("ts > '2024-01-31 22:30:00.000000001'") == 2
    assert count("ts <= '2024-01-31 22:30:00.000000999Z'") == 3
    assert count("ts IN ('2024-01-31 22:30:00.000001', '2024-01-31 23:30:00.000000001+01:00')") == 2
    assert count("ts = date_trunc('second', ts)") == 1
    assert count("hour(ts) = 22") == 4
    greatest = answer_from_tree(opened, "SELECT MAX(ts) AS m FROM t ORDER BY m")
    assert isinstance(greatest, Answer)
    assert greatest.table.column(0).cast(pa.int64()).to_pylist() == [base + 1000]


def test_what_pandas_writes(trees: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"ts": pd.date_range("2024-01-30", periods=90, freq="h", tz="UTC"), "n": range(90)})
    frame.loc[3, "ts"] = pd.NaT
    frame.to_parquet(tmp_path / "frame.parquet")
    opened = trees.build(tmp_path / "frame.parquet", trees.config("ts", "COUNT__* SUM__n"))
    found = answer_from_tree(
        opened,
        "SELECT date_trunc('day', ts) AS d, COUNT(*) FROM t WHERE ts >= '2024-01-31' GROUP BY d ORDER BY d",
    )
    assert isinstance(found, Answer), found
    assert [str(day)[:10] for day in found.table.column(0).to_pylist()] == [
        "2024-01-31",
        "2024-02-01",
        "2024-02-02",
    ]
    assert found.table.column(1).to_pylist() == [24, 24, 18]


@pytest.mark.parametrize(
    "name",
    ["timestamp[us, UTC]", "timestamp[us, tz=UTC]", "timestamp[us,UTC]", "timestamp[ms, Europe/Berlin]"],
)
def test_a_cast_to_coarser_times_with_a_zone(trees: Any, tmp_path: Path, name: str) -> None:
    base = 1_706_740_200_000_000_000
    rows = pa.table(
        {"ts": pa.array([base, base + 1, -1, None], pa.timestamp("ns", "UTC")), "n": [1, 2, 3, 4]}
    )
    pq.write_table(rows, tmp_path / "t.parquet")
    opened = trees.build(tmp_path / "t.parquet", trees.config("ts", "COUNT__*"), casts={"ts": name})
    assert opened.published.schema.field("ts").type == named_type(name)
    assert opened.sources().schema.field("ts").type == named_type(name), "as the store tells it"
    found = answer_from_tree(opened, "SELECT COUNT(*) FROM t WHERE ts = '2024-01-31 22:30:00'")
    assert isinstance(found, Answer) and found.table.column(0).to_pylist() == [2]
    found = answer_from_tree(
        opened, "SELECT year(ts), COUNT(*) FROM t WHERE ts IS NOT NULL GROUP BY 1 ORDER BY 1"
    )
    assert isinstance(found, Answer)
    assert values(found.table) == [(1969, 1), (2024, 2)], "the digits behind are cut off, not rounded"


@pytest.mark.parametrize(
    "name", ["timestamp[us, Mars/Base]", "timestamp[h]", "timestamp[us, UTC", "timestamp"]
)
def test_a_type_of_times_that_there_is_not(trees: Any, tmp_path: Path, name: str) -> None:
    pq.write_table(pa.table({"ts": moments("ns", "UTC")}), tmp_path / "t.parquet")
    with pytest.raises(SourceError, match=r"column ts: .* is no type such as"):
        trees.build(tmp_path / "t.parquet", trees.config("ts", "COUNT__*"), casts={"ts": name})
