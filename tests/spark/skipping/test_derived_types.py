"""Indexes of arrays, maps, geometries, URLs, addresses and parts of texts: the law, with a fault."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from skipping_on_spark import planted_faults
from skipping_on_spark.law_of_skipping import SETTINGS, of_each_row, of_filtered_scans
from skipping_on_spark.planted_faults import FAULTS
from skipping_tables import aged, settings_of
from starskip.skipping import registry
from starskip.skipping.value_sets import ValueSetClause
from starskip.spark import skipping
from starskip_contrib.geospatial_functions import register_functions
from starskip_contrib.ip_networks import register_functions as register_networks

pytestmark = [pytest.mark.slow, pytest.mark.spark]

FILES, ROWS = 8, 6
Asked = Callable[..., tuple[list[list[int]], list[int]]]
INDEXES = (
    *("elements:tags", "elements:numbers:1", "mapvalue:props:k", "mapvalue:coded:7:1", "ngrams:body"),
    *("formatted:url:url_host", "formatted:mail:email_domain", "formatted:doc:json_path:$.a.b"),
    *("geometrybox:wkt:2", "geometrybox:wkb", "minmax:x", "minmax:y", "ipnetworks:ip:2"),
    *("gaplist:word:3", "gaplist:day:2", "gaplist:raw"),
)
SQUARE = "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))"
PREDICATES = (
    *("array_contains(tags, 't1')", "array_contains(tags, 't8')", "NOT array_contains(tags, 't1')"),
    *(
        "array_contains(numbers, 0.0D)",
        "array_contains(numbers, double('NaN'))",
        "array_contains(numbers, 3)",
    ),
    *("props['k'] = 'v2'", "element_at(props, 'k') IN ('v1', 'v9')", "props.k <> 'v2'", "props['k'] IS NULL"),
    *(
        "props['k'] LIKE 'v%3'",
        "props['z'] = 'v2'",
        "coded[7] = 5",
        "coded[7] > 5",
        "element_at(coded, 8) = 5",
    ),
    *(
        "body LIKE '%ana%'",
        "contains(body, 'needle 3')",
        "body = 'needle 5 \U0001f600'",
        "body LIKE '%n_e%dle%'",
    ),
    *(
        "body LIKE '%\U0001f600%'",
        "body NOT LIKE '%ana%'",
        "contains(body, 'an')",
        "body IN ('needle 1', 'x')",
    ),
    *("try_parse_url(url, 'HOST') = 'h3.org'", "parse_url(url, 'HOST') LIKE '%.org'"),
    *("try_parse_url(url, 'HOST') IS NOT NULL", "try_parse_url(url, 'PATH') = '/3'"),
    *("substring_index(mail, '@', -1) = 'd2.com'", "substring_index(mail, '@', 1) = 'd2.com'"),
    *("get_json_object(doc, '$.a.b') = '4'", "get_json_object(doc, '$.a') = '4'"),
    f"ST_Contains('{SQUARE}', wkt)",
    f"ST_Within(ST_GeomFromText(wkt), ST_GeomFromText('{SQUARE}'))",
    f"ST_Intersects(ST_WKTToSQL('{SQUARE}'), ST_GeomFromWKB(wkb))",
    f"ST_Intersects(wkb, '{SQUARE}')",
    "ST_Distance(wkt, 'POINT (100 100)') < 15",
    "ST_Distance(ST_GeomFromWKB(wkb), ST_Point(100D, 100D)) > 15",
    f"ST_Contains('{SQUARE}', ST_Point(x, y))",
    f"ST_Distance(ST_GeomFromText('{SQUARE}'), ST_Point(x, y)) <= 2.5D",
    f"NOT ST_Contains('{SQUARE}', ST_Point(x, y))",
    "ST_Contains(wkt, 'POINT (45 45)')",
    *(
        "ip_in_network(ip, '10.0.3.0/24')",
        "ip_in_network(ip, '2001:db8::/32')",
        "ip_in_network(ip, '10.0.0.0/8')",
    ),
    *("ip_in_network(ip, 'no network')", "NOT ip_in_network(ip, '10.0.3.0/24')"),
    *("word BETWEEN 'c' AND 'd'", "word = 'm'", "word LIKE 'z%'", "word > 'w' AND word < 'x'"),
    *(
        "day = date'2026-03-05'",
        "day BETWEEN date'2026-01-20' AND date'2026-02-02'",
        "raw = X'00FF'",
        "raw > X'F0'",
    ),
)
SERVED = {  # these leave something out, or the test says nothing of them
    *("array_contains(tags, 't8')", "props['k'] = 'v2'", "coded[7] = 5", "contains(body, 'needle 3')"),
    *("try_parse_url(url, 'HOST') = 'h3.org'", "substring_index(mail, '@', -1) = 'd2.com'"),
    *(
        "get_json_object(doc, '$.a.b') = '4'",
        f"ST_Contains('{SQUARE}', wkt)",
        f"ST_Intersects(wkb, '{SQUARE}')",
    ),
    *("ST_Distance(wkt, 'POINT (100 100)') < 15", f"ST_Contains('{SQUARE}', ST_Point(x, y))"),
    f"ST_Within(ST_GeomFromText(wkt), ST_GeomFromText('{SQUARE}'))",
    f"ST_Intersects(ST_WKTToSQL('{SQUARE}'), ST_GeomFromWKB(wkb))",
    *("ST_Contains(wkt, 'POINT (45 45)')", "ip_in_network(ip, '10.0.3.0/24')", "word BETWEEN 'c' AND 'd'"),
    *("body LIKE '%n_e%dle%'", "array_contains(numbers, 3)", "day = date'2026-03-05'", "raw = X'00FF'"),
}


def rows_of(number: int, made: random.Random) -> list[dict[str, Any]]:
    """Rows of one file, which differ from those of others, with nulls, empty values and what is invalid."""
    import shapely

    def row(at: int) -> dict[str, Any]:
        x, y = number * 20 + made.random() * 5, number * 15 + made.random() * 5
        shape = made.choice(
            (
                shapely.Point(x, y),
                shapely.LineString([(x, y), (x + 3, y + 1)]),
                shapely.box(x, y, x + 4, y + 2),
                shapely.MultiPoint([(x, y), (x + 2, y)]),
                shapely.MultiPolygon([shapely.box(x, y, x + 1, y + 1), shapely.box(x + 3, y, x + 4, y + 1)]),
                shapely.Point(),
            )
        )
        found = {
            "row": number * 1000 + at,
            "tags": made.choice(([f"t{number}", "common", None], [], [f"t{number}"])),
            "numbers": made.choice(([float(number), -0.0], [float("nan")], [float(number)], [None])),
            # Of two equal keys Spark takes the first.
            "props": made.choice(([("k", f"v{number}"), ("k", "later")], [("z", "w")], [], [("k", None)])),
            "coded": made.choice(([(7, number), (8, 5)], [(9, 5)])),
            "body": made.choice((f"needle {number}", "banana", "", "an", f"needle {number} \U0001f600")),
            "url": made.choice(
                (f"http://h{number}.org/{number}", "mailto:a@b.c", "relative", f"//H{number}.org:1/?q")
            ),
            "mail": made.choice((f"a@d{number}.com", "none", "a@b@d2.com", "")),
            "doc": made.choice((f'{{"a": {{"b": {number}}}}}', "{}", "no json", f'{{"a": {number}}}')),
            "wkt": shape.wkt,
            "wkb": bytes(shape.wkb),
            "x": x,
            "y": y,
            "ip": made.choice(
                (f"10.0.{number}.{at}", f"2001:db8:{number}::1", "no address", "::ffff:10.0.3.9")
            ),
            "word": made.choice("abcxyz") + str(number) if number % 2 else "m",
            "day": number * 37 + made.choice((0, 20_000)),
            "raw": bytes([number * 16, 0xFF]) if number else b"\x00\xff",
        }
        return {
            name: None if name != "row" and made.random() < 0.15 else each for name, each in found.items()
        }

    return [row(at) for at in range(ROWS)]


SCHEMA = pa.schema(
    [
        ("row", pa.int32()),
        ("tags", pa.list_(pa.string())),
        ("numbers", pa.list_(pa.float64())),
        ("props", pa.map_(pa.string(), pa.string())),
        ("coded", pa.map_(pa.int32(), pa.int32())),
        *((name, pa.string()) for name in ("body", "url", "mail", "doc", "wkt")),
        ("wkb", pa.binary()),
        *((name, pa.float64()) for name in ("x", "y")),
        *((name, pa.string()) for name in ("ip", "word")),
        ("day", pa.date32()),
        ("raw", pa.binary()),
    ]
)


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("derived")
    made = random.Random(17)
    for number in range(FILES):
        rows = rows_of(number, made)
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), folder / f"part-{number}.parquet")
    # One file of nothing, and one in which nothing is what it should be.
    pq.write_table(SCHEMA.empty_table(), folder / "part-8.parquet")
    odd = {
        "row": 9000,
        "url": "http://[h3.org",
        "wkt": "POLYGON ((0 0, 1",
        "wkb": b"\x01\x02",
        "ip": "10.0.3",
    }
    pq.write_table(pa.Table.from_pylist([odd], SCHEMA), folder / "part-9.parquet")
    aged(folder)
    register_functions(spark)
    register_networks(spark)
    skipping.create(spark, str(folder), INDEXES)
    return str(folder)


@pytest.fixture
def asked(spark: SparkSession, table: str) -> Iterator[Asked]:
    """Ask predicates with skipping: the rows of each, and how many files were read."""

    def ask(*predicates: str) -> tuple[list[list[int]], list[int]]:
        skipping.enable(spark)
        return of_filtered_scans(spark, spark.read.parquet(table), predicates)

    with settings_of(spark, {**SETTINGS, "spark.sql.ansi.enabled": "false"}):
        yield ask
        skipping.disable(spark)


def test_no_row_is_missed(spark: SparkSession, table: str, asked: Asked) -> None:
    wanted = of_each_row(spark.read.parquet(table), PREDICATES)
    found, read = asked(*PREDICATES)
    broken = [
        (text, sorted({*rows} ^ {*others}))
        for text, rows, others in zip(PREDICATES, wanted, found, strict=True)
        if rows != others
    ]
    assert broken == []
    left_out = {text for text, files in zip(PREDICATES, read, strict=True) if files < FILES + 2}
    assert SERVED - left_out == set()
    print(f"{sum(len(each) for each in found)} rows of {len(PREDICATES)} predicates, {sum(read)} files read")


def test_an_error_of_an_invalid_url_is_raised(spark: SparkSession, table: str, asked: Asked) -> None:
    # With ANSI a URL that is none gives an error, and one row of a file of its own has one.
    with (
        settings_of(spark, {"spark.sql.ansi.enabled": "true"}),
        pytest.raises(PySparkException, match="INVALID_URL"),
    ):
        asked("parse_url(url, 'HOST') = 'h3.org'")


def test_a_fault_is_seen(
    spark: SparkSession, table: str, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    predicates = ("array_contains(tags, 't3')", "props['k'] = 'v3'", "try_parse_url(url, 'HOST') = 'h3.org'")
    wanted = of_each_row(spark.read.parquet(table), predicates)
    right = ValueSetClause.may_match
    monkeypatch.setattr(ValueSetClause, "may_match", lambda *given: np.zeros_like(right(*given)))
    found, _ = asked(*predicates)
    assert all(rows and rows != others for rows, others in zip(wanted, found, strict=True))


BROKEN = (
    *("contains(body, 'needle 3')", "array_contains(numbers, 0.0D)", "props['k'] = 'v3'"),
    "ST_Intersects(wkb, 'POLYGON ((65 0, 70 0, 70 100, 65 100, 65 0))')",
    *("ip_in_network(ip, '10.0.3.0/24')", "word IN ('z3', 'y5', 'b7')"),
    *("try_parse_url(url, 'HOST') = 'H3.org'", "substring_index(mail, '@', -1) = 'd2.com'"),
    "get_json_object(doc, '$.a.b') = '4'",
)
"""The kind of predicate that each of the planted faults loses rows of."""


def test_what_is_collected_wrong_is_seen(
    spark: SparkSession, table: str, asked: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wanted = of_each_row(spark.read.parquet(table), BROKEN)
    assert asked(*BROKEN)[0] == wanted
    copied = shutil.copytree(table, tmp_path / "t", ignore=shutil.ignore_patterns("_starskip"))
    aged(copied)
    for fault in FAULTS:
        monkeypatch.setitem(registry._types, fault.kind, fault)
    cloudpickle.register_pickle_by_value(planted_faults)
    try:
        # With as many gaps as a file has words no range would have two of them.
        skipping.create(spark, str(copied), [each.replace("word:3", "word:1") for each in INDEXES])
    finally:
        cloudpickle.unregister_pickle_by_value(planted_faults)
    skipping.enable(spark)
    found, _ = of_filtered_scans(spark, spark.read.parquet(str(copied)), BROKEN)
    unseen = [text for text, rows, others in zip(BROKEN, wanted, found, strict=True) if rows == others]
    assert not unseen
