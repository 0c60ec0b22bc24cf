"""Predicates of real plans in the core's language: literals exactly, names by identity, doubts as unknown."""

from __future__ import annotations

import datetime as dt
import subprocess
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from pyspark.sql import SparkSession
from skipping_tables import settings_of
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet, nodes
from starskip.spark.skipping.leaf_predicates import NONDETERMINISTIC, attribute_identity, leaf_predicates
from starskip.spark.skipping.plan_tree import plan_tree
from starskip.spark.skipping.read_expression import ExpressionReader

pytestmark = pytest.mark.spark

SCHEMA = (
    "id BIGINT, i INT, f FLOAT, d DOUBLE, dec DECIMAL(10,2), s STRING, raw BINARY, flag BOOLEAN, day DATE, "
    "ts TIMESTAMP, ntz TIMESTAMP_NTZ, N STRUCT<a: STRUCT<`B c`: BIGINT>>"
)
Read = Callable[[str], list[Expression]]


@pytest.fixture
def read(spark: SparkSession, tmp_path: Path) -> Read:
    (tmp_path / "t.json").write_text("{}\n")
    frame = spark.read.schema(SCHEMA).json(str(tmp_path))

    def made(predicate: str) -> list[Expression]:
        plan = frame.where(predicate)._jdf.queryExecution().optimizedPlan()
        ((leaf, predicates),) = leaf_predicates(plan_tree(plan.toJSON()))
        names = {attribute_identity(each): each.fields["name"] for each in leaf.expressions("output")}
        reader = ExpressionReader(names, plan)
        return [each for each in map(reader.read, predicates) if not _not_null(each)]

    return made


def _not_null(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.name == "IsNotNull"


def literal_of(found: list[Expression]) -> Any:
    (value,) = [each for each in nodes(found[0]) if isinstance(each, Literal)]
    return value.value


@pytest.mark.parametrize(
    ("predicate", "kind", "value"),
    [
        ("id = 9223372036854775807", pa.int64(), 2**63 - 1),
        ("i < -5", pa.int32(), -5),
        ("d = double('1e-300')", pa.float64(), 1e-300),
        ("f >= float('0.1')", pa.float32(), 0.10000000149011612),
        ("d < double('-Infinity')", pa.float64(), float("-inf")),
        ("dec = cast('-0.05' as decimal(10,2))", pa.decimal128(10, 2), Decimal("-0.05")),
        ("s = 'a\\n😀\\u0001'", pa.string(), "a\n😀\u0001"),
        ("s > ''", pa.string(), ""),
        ("raw = X'00ff'", pa.binary(), b"\x00\xff"),
        ("day = '2026-11-01'", pa.date32(), dt.date(2026, 11, 1)),
        (
            "ntz = timestamp_ntz'1582-10-10 00:00:00.000001'",
            pa.timestamp("us"),
            dt.datetime(1582, 10, 10, 0, 0, 0, 1),
        ),
    ],
)
def test_literals(read: Read, predicate: str, kind: pa.DataType, value: object) -> None:
    found = literal_of(read(predicate))
    assert found.type == kind
    assert found.as_py() == value


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Apia"])
def test_an_hour_that_the_clock_shows_twice(spark: SparkSession, read: Read, zone: str) -> None:
    with settings_of(spark, {"spark.sql.session.timeZone": zone}):
        for seconds in (1793511000, 1793514600, -62135596800 + 1, 253402300799 + 86400 * 400):
            found = literal_of(read(f"ts = timestamp_micros({seconds * 1_000_000 + 7})"))
            assert found.cast(pa.int64()).as_py() == seconds * 1_000_000 + 7
            far = literal_of(read(f"day = date_from_unix_date({seconds // 86400})"))
            assert far.cast(pa.int32()).as_py() == seconds // 86400


@pytest.mark.parametrize("count", [3, 2000])
def test_sets_of_literals(read: Read, count: int) -> None:
    (found,) = read(f"id IN ({', '.join(map(str, range(count)))}, null)")
    assert isinstance(found, Call)
    assert found.left == Column(("id",), "bigint")
    assert isinstance(found.right, LiteralSet)
    assert (sorted(found.right.values.to_pylist()), found.right.has_null) == (list(range(count)), True)
    (texts,) = read(f"s IN ('null', '', 'a,b', {', '.join(repr(str(each)) for each in range(count))}, null)")
    assert isinstance(texts, Call)
    assert isinstance(texts.right, LiteralSet)
    assert set(texts.right.values.to_pylist()) == {"null", "", "a,b", *map(str, range(count))}
    assert texts.right.has_null


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("array(1.5D, double('-Infinity'), -0.0D)", [1.5, float("-inf"), -0.0]),
        ("array(float('0.1'))", [0.10000000149011612]),
        ("array(1, -7)", [1, -7]),
        ("array(1.50, 2.25)", [Decimal("1.50"), Decimal("2.25")]),
        ("array(1D, null)", None),
        ("array('a', 'b')", None),
        ("array(array(1D))", None),
        ("cast(array() AS array<double>)", None),
    ],
)
def test_arrays_of_numbers_in_calls_of_functions(
    spark: SparkSession, read: Read, array: str, value: list[object] | None
) -> None:
    spark.udf.register("distance", lambda left, right: 0.0, "double")
    (found,) = read(f"distance(array(d), {array}) = id")
    call = next(each for each in nodes(found) if isinstance(each, Call) and each.name == "udf:distance")
    if value is None:
        assert call.right == Call("Unknown")
    else:
        assert isinstance(call.right, Literal)
        assert repr(call.right.python) == repr(value)
    assert not [each for each in nodes(read("array(d) = array(1D)")[0]) if isinstance(each, Literal)]


def test_names_are_those_of_the_schema(read: Read) -> None:
    (found,) = read("n.A.`b C` = 7 AND ID IS NOT NULL")
    assert isinstance(found, Call)
    assert found.left == Column(("N", "a", "B c"), "bigint")


def test_what_is_not_sure_is_unknown(read: Read) -> None:
    unknown = Call("Unknown")
    assert read("s = cast(X'ff' as string)") == [Call("EqualTo", (Column(("s",), "string"), unknown))]
    (odd,) = read(
        "raw IN (X'00', X'01', X'02', X'03', X'04', X'05', X'06', X'07', X'08', X'09', X'0a', X'0b')"
    )
    assert odd == unknown
    (mixed,) = read("i IN (1, int(d))")
    assert isinstance(mixed, Call)
    assert mixed.name == "Or"


def test_chains_of_thousands(read: Read) -> None:
    (found,) = read(" OR ".join(f"(id = {each} AND i = {each})" for each in range(700)))
    assert isinstance(found, Call)
    assert len(found.arguments) == 700


def test_all_of_sparks_expressions_that_are_not_deterministic_are_known() -> None:
    jars = Path(pyspark.__file__).parent / "jars"
    (catalyst,) = jars.glob("spark-catalyst_*.jar")
    prefix = "org/apache/spark/sql/catalyst/expressions/"
    with zipfile.ZipFile(catalyst) as jar:
        names = [
            name
            for name in jar.namelist()
            if name.startswith(prefix) and b"/Nondeterministic" in jar.read(name)
        ]
    classes = [name.removesuffix(".class").replace("/", ".") for name in names if "$" not in name]
    listed = subprocess.run(
        ["javap", "-cp", f"{jars}/*", *classes], capture_output=True, text=True, check=True
    ).stdout
    heads = [line for line in listed.splitlines() if line.startswith("public class")]
    found = {
        head.split(" class ")[1].split(" ")[0].rpartition(".")[2]
        for head in heads
        if "expressions.Nondeterministic" in head.partition("{")[0]
    }
    assert found
    assert found <= NONDETERMINISTIC


def calls_of(found: list[Expression], name: str) -> list[tuple[Any, ...]]:
    every = [each for one in found for each in nodes(one) if isinstance(each, Call) and each.name == name]
    return [tuple(each.python for each in call.arguments if isinstance(each, Literal)) for call in every]


def test_what_a_cast_makes_of_a_column(spark: SparkSession, read: Read) -> None:
    assert calls_of(read("cast(d AS int) = 3"), "Cast") == [("int",)]
    assert calls_of(read("cast(d AS decimal(20,2)) = 3"), "Cast") == [("decimal(20,2)",)]
    assert calls_of(read("cast(cast(d AS int) AS string) = '3'"), "Cast") == [("string",), ("int",)]
    assert calls_of(read("try_cast(s AS int) = 3"), "TryCast") == [("int",)]
    assert calls_of(read("try_cast(s AS int) = 3"), "Cast") == []
    # What does not fit is an error in the one mode, and another value in the other.
    with settings_of(spark, {"spark.sql.ansi.enabled": "false"}):
        assert calls_of(read("cast(id AS tinyint) = 3"), "LegacyCast") == [("tinyint",)]


def test_which_function_of_a_class_is_called(read: Read) -> None:
    ((_, name),) = calls_of(read("luhn_check(s)"), "StaticInvoke")
    assert name == '"isLuhnNumber"'
    ((schema, _),) = calls_of(read("size(from_json(s, 'array<int>')) = 3"), "JsonToStructs")
    assert "array" in schema and "integer" in schema
