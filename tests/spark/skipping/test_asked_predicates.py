"""Predicates written as SQL mean on real Spark what they meant: each value exactly, each part."""

from __future__ import annotations

import datetime as dt
import os
import random
import struct
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet
from starskip.predicates.expression_sql import expression_sql
from starskip.spark.skipping.isolated_session import isolated_session
from starskip.spark.skipping.leaf_predicates import attribute_identity, leaf_predicates
from starskip.spark.skipping.plan_tree import plan_tree
from starskip.spark.skipping.read_expression import ExpressionReader

pytestmark = [pytest.mark.slow, pytest.mark.spark]

SEED = int(os.environ.get("STARSKIP_SKIPPING_SEED", random.SystemRandom().randrange(1 << 32)))
OF_A_TYPE = 60
SCHEMA = (
    "id BIGINT, i INT, f FLOAT, d DOUBLE, dec DECIMAL(10,2), s STRING, raw BINARY, flag BOOLEAN, day DATE, "
    "ts TIMESTAMP, ntz TIMESTAMP_NTZ, N STRUCT<a: STRUCT<`B ``c$`: BIGINT>>"
)
UTC = pa.timestamp("us", "UTC")
NTZ = pa.timestamp("us")
INTEGERS = {pa.int8(): 7, pa.int16(): 15, pa.int32(): 31, pa.int64(): 63}
# Spark's first and last: of dates by its own texts, of times by what a long holds.
FIRST_DAY, LAST_DAY = -719_162 - 365 * 5_000, 2_932_896 + 365 * 5_000


def random_value(random: random.Random, kind: pa.DataType) -> pa.Scalar:
    """Return a value, often one at an end of its type."""
    if kind in INTEGERS:
        end = 1 << INTEGERS[kind]
        return pa.scalar(random.choice([-end, end - 1, 0, -1, random.randrange(-end, end)]), kind)
    if kind in (pa.float32(), pa.float64()):
        width = 4 if kind == pa.float32() else 8
        bits = random.randbytes(width)
        anything = struct.unpack("f" if width == 4 else "d", bits)[0]
        numbers = [
            float("nan"),
            float("inf"),
            float("-inf"),
            -0.0,
            0.0,
            1e-45,
            5e-324,
            1e16,
            anything,
            anything,
        ]
        return pa.scalar(random.choice(numbers), kind)
    if kind == pa.string():
        signs = "aZ09 '\"\\`$%_{}\0\n\r\t\u001a\u0085\u2028é漢😀\U0010ffff-*/;#u0041"
        odd = "".join(random.choices(signs, k=random.randrange(12)))
        return pa.scalar(random.choice([odd, odd, "${env:HOME}", "null", "\\u0041", "--", ""]), kind)
    if kind == pa.binary():
        return pa.scalar(random.randbytes(random.randrange(9)), kind)
    if kind == pa.bool_():
        return pa.scalar(random.random() < 0.5, kind)
    if kind == pa.date32():
        return pa.array([random.randrange(FIRST_DAY, LAST_DAY)], pa.int32()).view(kind)[0]
    if pa.types.is_timestamp(kind):
        micros = random.choice(
            [random.randrange(-(1 << 62), 1 << 62), random.randrange(1 << 51), -1, -2_208_988_800_000_001]
        )
        return pa.array([micros], pa.int64()).view(kind)[0]
    digits = random.randrange(-(10**kind.precision) + 1, 10**kind.precision)
    return pa.scalar(Decimal(f"{random.choice([digits, digits % 10, 0])}E-{kind.scale}"), kind)


TYPES = [
    *INTEGERS,
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.binary(),
    pa.bool_(),
    pa.date32(),
    UTC,
    NTZ,
    pa.decimal128(1, 1),
    pa.decimal128(15, 2),
    pa.decimal128(38, 0),
    pa.decimal128(38, 20),
]


def exact(value: pa.Scalar) -> Any:
    """Return what two values are the same by, to the last bit."""
    if not value.is_valid:
        return None
    if pa.types.is_timestamp(value.type):
        return value.cast(pa.int64()).as_py()
    if pa.types.is_date(value.type):
        return value.cast(pa.int32()).as_py()
    if pa.types.is_floating(value.type):
        number = value.as_py()
        return "NaN" if number != number else struct.pack("d", number)
    return value.as_py()


@pytest.fixture(params=["UTC", "America/New_York", "Pacific/Apia"])
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    made = isolated_session(spark)
    made.conf.set("spark.sql.session.timeZone", request.param)
    made.conf.set("spark.sql.ansi.enabled", str(request.param != "UTC").lower())
    yield made


def test_values_of_all_types_are_what_they_were(session: SparkSession) -> None:
    print(f"STARSKIP_SKIPPING_SEED={SEED}")
    chance = random.Random(SEED)
    values = [random_value(chance, kind) for kind in TYPES for _ in range(OF_A_TYPE)]
    values += [pa.scalar(None, kind) for kind in TYPES]
    written = [expression_sql(Literal(value)) for value in values]
    # One row, of columns so many that Spark compiles none of them.
    columns = [f"{text} AS c{at}" for at, text in enumerate(written)]
    found = session.range(1).selectExpr(*columns).toArrow()
    for at, value in enumerate(values):
        read = found[f"c{at}"][0]
        kind = read.type if not pa.types.is_timestamp(read.type) or read.type.tz is None else UTC
        assert (kind, exact(read)) == (value.type, exact(value)), (SEED, written[at])


def column(name: str, data_type: str) -> Column:
    return Column((name,), data_type)


COLUMNS = {
    pa.int32(): column("i", "int"),
    pa.int64(): Column(("N", "a", "B `c$"), "bigint"),
    pa.float32(): column("f", "float"),
    pa.float64(): column("d", "double"),
    pa.decimal128(10, 2): column("dec", "decimal(10,2)"),
    pa.string(): column("s", "string"),
    pa.binary(): column("raw", "binary"),
    pa.date32(): column("day", "date"),
    UTC: column("ts", "timestamp"),
    NTZ: column("ntz", "timestamp_ntz"),
}
FLAG = column("flag", "boolean")
S = COLUMNS[pa.string()]


def text(value: str) -> Literal:
    return Literal(pa.scalar(value))


def call(name: str, *arguments: Expression) -> Call:
    return Call(name, arguments)


def compared() -> list[Expression]:
    chance = random.Random(SEED)
    found: list[Expression] = []
    for kind, of in COLUMNS.items():
        for name in ("EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan"):
            if name == "LessThanOrEqual" and kind in (pa.float32(), pa.float64()):
                continue
            value = random_value(chance, kind)
            # What Spark knows without looking it says at once.
            if kind not in (pa.int32(), pa.int64()) and exact(value) != "NaN":
                found.append(call(name, of, Literal(value)))
            else:
                found.append(call(name, of, Literal(pa.scalar(7, kind))))
        if kind != pa.binary():
            some = {exact(value): value for value in (random_value(chance, kind) for _ in range(30))}
            values = pa.array(list(some.values()), kind)
            found.append(call("In", of, LiteralSet(values, has_null=True)))
    return [
        *found,
        call("Or", FLAG, call("IsNull", S)),
        call("Like", S, text("a_b%c_'"), text("\\")),
        call("Like", S, text("a/_%$'"), text("/")),
        call("StartsWith", S, text("it's ${env:HOME}")),
        call("EndsWith", S, text("\\")),
        call("Contains", S, text("\0")),
        call("Or", call("And", FLAG, call("IsNull", S)), call("EqualTo", S, text("é"))),
        call("GreaterThan", call("Length", S), Literal(pa.scalar(3, pa.int32()))),
        call("Not", call("EqualTo", S, text("x"))),
    ]


def without_order(expression: Expression) -> Any:
    if isinstance(expression, LiteralSet):
        # Of 0.0 and -0.0, which are equal, Spark keeps one.
        zeros = {exact(pa.scalar(each)) for each in (0.0, -0.0)}
        values = {exact(value) for value in expression.values} - zeros
        return values, expression.has_null, expression.values.type
    if isinstance(expression, Literal):
        return exact(expression.value), expression.value.type
    if isinstance(expression, Call):
        return expression.name, *(without_order(each) for each in expression.arguments)
    return expression


def test_a_predicate_is_read_back_from_its_plan(session: SparkSession, tmp_path: Path) -> None:
    print(f"STARSKIP_SKIPPING_SEED={SEED}")
    (tmp_path / "t.json").write_text("{}\n")
    frame = session.read.schema(SCHEMA).json(str(tmp_path))
    for expression in compared():
        written = expression_sql(expression)
        plan = frame.where(written)._jdf.queryExecution().optimizedPlan()
        ((leaf, predicates),) = leaf_predicates(plan_tree(plan.toJSON()))
        names = {attribute_identity(each): each.fields["name"] for each in leaf.expressions("output")}
        reader = ExpressionReader(names, plan)
        read = list(map(reader.read, predicates))
        found = [each for each in read if not (isinstance(each, Call) and each.name == "IsNotNull")]
        assert [without_order(each) for each in found] == [without_order(expression)], (SEED, written)


def test_texts_of_other_collations_are_compared_as_they_are(session: SparkSession) -> None:
    # Not createDataFrame, which makes its session the thread's active one.
    values = "VALUES ('a'), ('A'), ('b'), (NULL)"
    rows = session.sql(f"SELECT s COLLATE UNICODE_CI AS s FROM ({values}) AS t (s)")
    same = expression_sql(call("EqualTo", S, text("A")))
    listed = expression_sql(call("In", S, LiteralSet(pa.array(["A", "é"]), has_null=True)))
    begins = expression_sql(call("StartsWith", S, text("A")))
    assert [rows.where(each).count() for each in (same, listed, begins)] == [2, 2, 2]


def test_times_that_a_clock_shows_twice_are_not_mistaken(session: SparkSession) -> None:
    moments = [1793511000, 1793514600]
    rows = session.sql(f"SELECT timestamp_seconds(n) AS ts FROM (VALUES {moments[0]}, {moments[1]}) AS t (n)")
    for moment in moments:
        value = pa.scalar(dt.datetime.fromtimestamp(moment, dt.UTC), UTC)
        written = expression_sql(call("EqualTo", COLUMNS[UTC], Literal(value)))
        assert rows.where(written).count() == 1
