"""Aggregates of index types on Spark: equal to those of tests without Spark, hashes above all."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from skipping_law.files_metadata import Files, aggregated, collected, row_values, takes
from skipping_law.predicates import TYPES
from starskip.skipping.registry import index_from_specification
from starskip.skipping.spark_xxhash64 import spark_xxhash64

pytestmark = [pytest.mark.slow, pytest.mark.spark]

random.seed(6)
MANY: dict[str, tuple[pa.DataType, list[Any]]] = {
    "tinyint": (pa.int8(), list(range(-128, 128))),
    "smallint": (pa.int16(), list(range(-(1 << 15), 1 << 15, 97))),
    "int": (
        pa.int32(),
        [-(1 << 31), (1 << 31) - 1, *(random.randint(-(1 << 31), 1 << 30) for _ in range(300))],
    ),
    "bigint": (
        pa.int64(),
        [-(1 << 63), (1 << 63) - 1, *(random.randint(-(1 << 63), 1 << 62) for _ in range(300))],
    ),
    "float": (pa.float32(), [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-45, 0.5, -1.25]),
    "double": (pa.float64(), [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 5e-324, 0.1, -1e300]),
    "decimal(9,2)": (pa.decimal128(9, 2), [Decimal(each) / 100 for each in range(-500, 500, 7)]),
    "decimal(18,0)": (
        pa.decimal128(18, 0),
        [Decimal(10) ** each * sign for each in range(18) for sign in (1, -1)],
    ),
    "decimal(38,6)": (
        pa.decimal128(38, 6),
        [
            Decimal(sign * (256**each + more)).scaleb(-6)
            for each in range(15)
            for sign in (1, -1)
            for more in (-1, 0, 1)
        ]
        + [Decimal(128).scaleb(-6), Decimal(-128).scaleb(-6), Decimal(-129).scaleb(-6), Decimal(0)],
    ),
    "string": (pa.string(), ["", "a", "é", "\U0001f600" * 20, *("x" * each for each in range(1, 100))]),
    "binary": (pa.binary(), [b"", b"\x00", b"\xff" * 33, *(bytes(range(each)) for each in range(1, 80))]),
    "boolean": (pa.bool_(), [True, False]),
    "date": (
        pa.date32(),
        [dt.date(1, 1, 1), dt.date(1582, 10, 10), dt.date(1970, 1, 1), dt.date(9999, 12, 31)],
    ),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [dt.datetime(y, 1, 2, 3, 4, 5, 678901, dt.UTC) for y in (1, 1582, 1969, 1970, 2026, 9999)],
    ),
    "timestamp_ntz": (
        pa.timestamp("us"),
        [dt.datetime(y, 1, 2, 3, 4, 5, 678901) for y in (1, 1969, 2026, 9999)],
    ),
}


@pytest.mark.parametrize("data_type", MANY)
def test_hashes_of_literals_are_those_of_spark(spark, data_type):
    kind, values = MANY[data_type]
    array = pa.array(values, kind)
    frame = spark.createDataFrame(pa.table({"c": array}), schema=f"c {data_type}")
    found = frame.selectExpr("xxhash64(c) h").toArrow()
    hashes = spark_xxhash64(array)
    assert hashes is not None
    assert hashes.view(np.int64).tolist() == found["h"].to_pylist()


SPECIFICATIONS = [
    "minmax:c",
    "nulls:c",
    "valuelist:c",
    "bloom:c",
    "hybrid:c:2",
    "prefix:c:2",
    "suffix:c:2",
    "gaplist:c:1",
    "ngrams:c",
    "partition:c",
    "metricdist:c:levenshtein",
]
ROWS = {
    "string": [["a", "aé\U0001f600b", None, "", "a"], [None], ["b\U0001f600", "zz\n", "Z", "zz\n"]],
    "double": [[0.5, float("nan"), None], [None], [1.5, -1.5, 7.0, 1e300]],
    "date": [[dt.date(1, 1, 1), dt.date(2026, 1, 1)], [None], [dt.date(2026, 1, day) for day in range(1, 5)]],
}


def same_sets(left: Any, right: Any) -> bool:
    """Equal but for the order of lists and for NaN."""
    return repr(_sorted(left)) == repr(_sorted(right))


def _sorted(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=repr)
    return {name: _sorted(each) for name, each in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(
    ("specification", "data_type"),
    [(each, data_type) for each in SPECIFICATIONS for data_type in ROWS if takes(each, data_type)]
    + [("geobox:lat,lng:2", "double"), ("metricdist:lat,lng:euclidean", "double")],
)
def test_what_spark_computes_is_that_of_the_tests_without_it(spark, specification, data_type):
    index = index_from_specification(specification)
    kind = TYPES[data_type][0]
    files = Files(
        dict.fromkeys(index.columns, kind),
        [[dict.fromkeys(index.columns, v) for v in rows] for rows in ROWS[data_type]],
    )
    rows = [{"f": number, **row} for number, of in enumerate(files.rows) for row in of]
    schema = pa.schema([("f", pa.int64()), *((name, kind) for name in index.columns)])
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema))
    names = [f"`{each}`" for each in index.columns]
    if texts := index.row_values(names):
        found = frame.selectExpr(*(f"{sql} AS `{name}`" for name, sql in texts.items())).toArrow()
        wanted = row_values(index, [row for of in files.rows for row in of], files.types)
        assert repr(found.to_pylist()) == repr(wanted.to_pylist())
    if not (aggregates := index.aggregates(names)):
        return
    wanted = aggregated(index, files)
    frame.createOrReplaceTempView("rows_of_files")
    listed = ", ".join(f"{sql} AS `{name}`" for name, sql in aggregates.items())
    found = spark.sql(f"SELECT {listed} FROM rows_of_files GROUP BY f ORDER BY f").toArrow()
    for name in wanted.column_names:
        assert same_sets(found[name].to_pylist(), wanted[name].to_pylist()), name
    # What arrives from Spark is what finish takes.
    finished = index.finish(found)
    assert {name: len(array) for name, array in finished.items()} == dict.fromkeys(
        collected([index], files).tables[specification], 3
    )
