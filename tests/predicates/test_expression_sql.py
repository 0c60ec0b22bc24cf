"""Predicates as Spark SQL: plain ones as people write them, hostile ones harmless or refused."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import UnsupportedQuery
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet
from starskip.predicates.expression_json import MAX_DEPTH, UNKNOWN
from starskip.predicates.expression_sql import MOST_CHARACTERS, column_sql, expression_sql

pytestmark = pytest.mark.slow

ID = Column(("id",), "bigint")
S = Column(("s",), "string")
UTC = pa.timestamp("us", "UTC")


def literal(value: Any, kind: pa.DataType) -> Literal:
    return Literal(pa.scalar(value, kind))


def big(value: int | None) -> Literal:
    return literal(value, pa.int64())


def text(value: str) -> Literal:
    return literal(value, pa.string())


def equal(left: Expression, right: Expression) -> Call:
    return Call("EqualTo", (left, right))


CASES: list[tuple[Expression, str]] = [
    (
        Call("ArrayContains", (Column(("tags",), "array<string>"), text("a"))),
        "`array_contains`(`tags`, 'a')",
    ),
    (
        equal(Call("GetMapValue", (Column(("m",), "map<string,string>"), text("k"))), text("v")),
        "(`try_element_at`(`m`, 'k') = 'v')",
    ),
    (
        equal(Call("Invoke", (Call("ParseUrlEvaluator"), S, text("HOST"), text('"evaluate"'))), text("a")),
        "(`try_parse_url`(`s`, 'HOST') = 'a')",
    ),
    (equal(ID, big(-5)), "(`id` = (-5L))"),
    (
        Call("EqualNullSafe", (Column(("n", "B c"), "bigint"), big(None))),
        "(`n`.`B c` <=> CAST(NULL AS BIGINT))",
    ),
    (
        Call("And", (Call("And", (equal(ID, big(1)), Column(("b",), "boolean"))), Call("IsNotNull", (S,)))),
        "((`id` = (1L)) AND `b` AND (`s` IS NOT NULL))",
    ),
    (
        Call(
            "Not",
            (Call("Or", (Call("IsNull", (S,)), equal(S, text("x")))),),
        ),
        "(NOT ((`s` IS NULL) OR (`s` = 'x')))",
    ),
    (
        Call("In", (ID, LiteralSet(pa.array([1, 2], pa.int64()), has_null=True))),
        "(`id` IN ((1L), (2L), CAST(NULL AS BIGINT)))",
    ),
    (Call("In", (ID, LiteralSet(pa.array([], pa.int64())))), "FALSE"),
    (
        Call("In", (ID, LiteralSet(pa.array([], pa.int64()), has_null=True))),
        "(`id` IN (CAST(NULL AS BIGINT)))",
    ),
    (Call("Like", (S, text("a_%"), text("\\"))), "(`s` LIKE 'a_%')"),
    (Call("Like", (S, text("a/_%"), text("/"))), "(`s` LIKE 'a/_%' ESCAPE '\\u002F')"),
    (Call("Like", (S, text("a'_%"), text("'"))), "(`s` LIKE 'a\\u0027_%' ESCAPE '\\u0027')"),
    (Call("StartsWith", (S, text("k 1"))), "`StartsWith`(`s`, 'k 1')"),
    (equal(Call("udf:carrier", (S,)), text("road")), "(`carrier`(`s`) = 'road')"),
    (Call("udf:now", ()), "`now`()"),
    (
        Call("GreaterThan", (Call("Add", (ID, Call("UnaryMinus", (ID,)))), big(3))),
        "((`id` + (- `id`)) > (3L))",
    ),
    (literal(date(1994, 1, 1), pa.date32()), "date_from_unix_date(8766)"),
    (literal(Decimal("-0.05"), pa.decimal128(15, 2)), "CAST('-0.05' AS DECIMAL(15,2))"),
    (literal(Decimal("1E-7"), pa.decimal128(38, 10)), "CAST('0.0000001000' AS DECIMAL(38,10))"),
    (Literal(pa.array([-1], pa.int64()).view(UTC)[0]), "timestamp_micros(-1L)"),
    (
        Literal(pa.array([7], pa.int64()).view(pa.timestamp("us"))[0]),
        "timestampadd(MICROSECOND, 7L, TIMESTAMP_NTZ'1970-01-01 00:00:00')",
    ),
    (literal(float("nan"), pa.float64()), "CAST('NaN' AS DOUBLE)"),
    (literal(float("-inf"), pa.float32()), "CAST('-Infinity' AS FLOAT)"),
    (literal(-0.0, pa.float64()), "CAST('-0.0' AS DOUBLE)"),
    (literal(0.1, pa.float32()), "CAST('0.1' AS FLOAT)"),
    (literal(-128, pa.int8()), "(-128Y)"),
    (literal(True, pa.bool_()), "TRUE"),
    (literal(b"\x00'", pa.binary()), "X'0027'"),
    (literal(None, pa.null()), "NULL"),
    (
        Literal(pa.array([b"\xff'"], pa.binary()).cast(pa.string(), safe=False)[0]),
        "CAST(X'ff27' AS STRING)",
    ),
    (text("it's ${env:HOME}\\\0😀"), "'it\\u0027s \\u0024\\u007Benv:HOME\\u007D\\u005C\\u0000\\U0001F600'"),
]


@pytest.mark.parametrize(("expression", "written"), CASES, ids=[written for _, written in CASES])
def test_a_predicate(expression: Expression, written: str) -> None:
    assert expression_sql(expression) == written


@given(st.text(max_size=50))
def test_any_text_is_a_literal_of_plain_letters_alone(value: str) -> None:
    written = expression_sql(text(value))
    inner = re.fullmatch(r"'((?:[A-Za-z0-9 _.,:;/+*%()&@!?#<>=|~^\[\]-]|\\u\w{4}|\\U\w{8})*)'", written)
    assert inner
    read = re.sub(
        r"\\u([0-9A-F]{4})|\\U([0-9A-F]{8})", lambda found: chr(int(found[1] or found[2], 16)), inner[1]
    )
    assert read == value


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=3))
def test_any_column_stays_within_its_quotes(path: list[str]) -> None:
    try:
        written = column_sql(tuple(path))
    except UnsupportedQuery:
        assert any(not part.isprintable() or "${" in part for part in path)
        return
    parts = re.findall(r"`((?:[^`]|``)+)`", written)
    assert ".".join(f"`{part}`" for part in parts) == written
    assert [part.replace("``", "`") for part in parts] == path


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (UNKNOWN, "not known"),
        (equal(Call("Cast", (ID,)), big(5)), "not known"),
        (equal(Call("udf:reflect", (text("java.lang.Runtime"), text("x"))), text("y")), "beyond the row"),
        (Call("udf:JAVA_METHOD", (text("a"),)), "beyond the row"),
        (Call("udf:uuid", ()), "beyond the row"),
        (equal(Call("udf:repeat", (S, big(1 << 30))), S), "beyond the row"),
        (Call("RLike", (S, text("(a+)+$"))), "take for ever"),
        (Call("udf:regexp_like", (S, text("(a+)+$"))), "take for ever"),
        (Call("Like", (S, text("%a" * 11), text("\\"))), "wildcards"),
        (Call("Like", (S, text("a"), text("😀"))), "escape"),
        (Call("Like", (S, text("a"), S)), "escape"),
        (Call("udf:f(1) or g", ()), "no function"),
        (Call("udf:`x`", ()), "no function"),
        (Call("", ()), "no function"),
        (Call("udf:é", ()), "no function"),
        (Column(("${env:HOME}",), "string"), "name"),
        (Column(("a\ud800",), "string"), "name"),
        (Column((), "string"), "name"),
        (Column(("",), "string"), "name"),
        (Call("In", (ID, ID)), "set of values"),
        (LiteralSet(pa.array([1])), "set of values"),
        (literal([1], pa.list_(pa.int64())), "no literal"),
        (text("x" * (MOST_CHARACTERS + 1)), "longer than"),
        (Call("In", (ID, LiteralSet(pa.array(range(200_000), pa.int64())))), "longer than"),
        (Call("And", (equal(ID, big(1)),) * 200_000), "longer than"),
    ],
)
def test_what_is_not_asked_again(expression: Expression, why: str) -> None:
    with pytest.raises(UnsupportedQuery, match=why) as told:
        expression_sql(expression)
    assert len(str(told.value)) < 300


def test_depth_and_size_are_bounded() -> None:
    deep: Expression = equal(ID, big(1))
    for _ in range(MAX_DEPTH - 3):
        deep = Call("Not", (deep,))
    assert expression_sql(deep).startswith("(NOT (NOT ")
    with pytest.raises(UnsupportedQuery, match="deep"):
        expression_sql(Call("Not", (Call("Not", (deep,)),)))
    chain: Expression = ID
    for at in range(5_000):
        chain = Call("Or", (chain, equal(ID, big(at))))
    assert expression_sql(chain).count(" OR ") == 5_000
    # One object in many places, which as text would be without end.
    for name in ("Add", "And"):
        shared: Expression = ID
        for _ in range(150):
            shared = Call(name, (shared, shared))
        with pytest.raises(UnsupportedQuery, match="longer"):
            expression_sql(shared)
