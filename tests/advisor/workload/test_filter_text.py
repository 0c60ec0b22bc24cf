"""Filters as Spark 4.2 wrote them into event logs, read back."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.workload.filter_text import EVERYTHING, filter_expression
from starskip.predicates.data_types import column_types
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet
from starskip.predicates.expression_json import UNKNOWN

SCHEMA = (
    "struct<id:bigint,v:bigint,d:date,s:string,p:decimal(15,2),ts:timestamp,"
    "st:struct<a:bigint,b:double>,bo:boolean,f:double,bin:binary,tags:array<string>,nums:array<double>,"
    "props:map<string,string>,coded:map<int,int>>"
)
TYPES = column_types(SCHEMA)


def c(*path: str) -> Column:
    return Column(path, TYPES[path])


def literal(value: Any, kind: pa.DataType) -> Literal:
    return Literal(pa.scalar(value, kind))


def big(value: int | None) -> Literal:
    return literal(value, pa.int64())


def text(value: str) -> Literal:
    return literal(value, pa.string())


def day(value: str) -> Literal:
    return literal(date.fromisoformat(value), pa.date32())


CASES: dict[str, Expression] = {
    "(id#11L = 5)": Call("EqualTo", (c("id"), big(5))),
    "(id#11L <=> -5)": Call("EqualNullSafe", (c("id"), big(-5))),
    "(id#11L = null)": Call("EqualTo", (c("id"), big(None))),
    "(d#13 >= 1994-01-05)": Call("GreaterThanOrEqual", (c("d"), day("1994-01-05"))),
    "(p#15 > 12.50)": Call("GreaterThan", (c("p"), literal(Decimal("12.50"), pa.decimal128(15, 2)))),
    "(f#19 > -1.5E-7)": Call("GreaterThan", (c("f"), literal(-1.5e-7, pa.float64()))),
    "(ts#16 >= 2024-01-01 00:10:00.5)": Call(
        "GreaterThanOrEqual", (c("ts"), literal(1_704_067_800_500_000, pa.timestamp("us", "UTC")))
    ),
    "(st#17.b < 5000.0)": Call("LessThan", (c("st", "b"), literal(5000.0, pa.float64()))),
    "isnull(v#12L)": Call("IsNull", (c("v"),)),
    "bo#18": c("bo"),
    "NOT bo#18": Call("Not", (c("bo"),)),
    "NOT (id#11L = 5)": Call("Not", (Call("EqualTo", (c("id"), big(5))),)),
    "s#14 IN (k1,k 2,)": Call("In", (c("s"), LiteralSet(pa.array(["k1", "k 2", ""])))),
    "NOT d#13 IN (1994-01-05,null)": Call(
        "Not", (Call("In", (c("d"), LiteralSet(pa.array([date(1994, 1, 5)], pa.date32()), True))),)
    ),
    "v#12L INSET 1, 10, 2": Call("In", (c("v"), LiteralSet(pa.array([1, 10, 2], pa.int64())))),
    "StartsWith(s#14, k000)": Call("StartsWith", (c("s"), text("k000"))),
    "EndsWith(s#14, a, (b))": Call("EndsWith", (c("s"), text("a, (b)"))),
    "s#14 LIKE a_b%c": Call("Like", (c("s"), text("a_b%c"), text("\\"))),
    "s#14 LIKE a/_% ESCAPE '/'": Call("Like", (c("s"), text("a/_%"), text("/"))),
    '(s#14 = it\'s, (a) [b] é AND "x")': Call("EqualTo", (c("s"), text('it\'s, (a) [b] é AND "x"'))),
    "(s#14 = )": Call("EqualTo", (c("s"), text(""))),
    "(s#14 = NOT x)": Call("EqualTo", (c("s"), text("NOT x"))),
    "((StartsWith(s#14, k) OR EndsWith(s#14, 9)) OR (id#11L < 3))": Call(
        "Or",
        (
            Call("Or", (Call("StartsWith", (c("s"), text("k"))), Call("EndsWith", (c("s"), text("9"))))),
            Call("LessThan", (c("id"), big(3))),
        ),
    ),
    "(s#14 LIKE a_b OR v#12L IN (1,2))": Call(
        "Or",
        (
            Call("Like", (c("s"), text("a_b"), text("\\"))),
            Call("In", (c("v"), LiteralSet(pa.array([1, 2], pa.int64())))),
        ),
    ),
    "(id#1L < v#2L)": Call("LessThan", (c("id"), c("v"))),
    "((v#12L + 1) > 5)": Call("GreaterThan", (Call("Add", (c("v"), big(1))), text("5"))),
    "(cast(id#11L as decimal(20,0)) = 5)": Call(
        "EqualTo", (Call("Cast", (c("id"), text("decimal(20,0)"))), text("5"))
    ),
    "(Agent(s#14) = k00)": Call("EqualTo", (Call("udf:agent", (c("s"),)), text("k00"))),
    "(near(f#1, st#2.b, 1.5) < 3)": Call(
        "LessThan", (Call("udf:near", (c("f"), c("st", "b"), text("1.5"))), text("3"))
    ),
    "array_contains(tags#1, a, b)": Call("ArrayContains", (c("tags"), text("a, b"))),
    "array_contains(nums#1, 3.0)": Call("ArrayContains", (c("nums"), literal(3.0, pa.float64()))),
    "(props#1[k] = v2)": Call("EqualTo", (Call("GetMapValue", (c("props"), text("k"))), text("v2"))),
    "NOT (props#1[a]b] = w)": Call(
        "Not", (Call("EqualTo", (Call("GetMapValue", (c("props"), text("a]b"))), text("w"))),)
    ),
    "props#1[k] IN (v,w)": Call(
        "In", (Call("GetMapValue", (c("props"), text("k"))), LiteralSet(pa.array(["v", "w"])))
    ),
    "(coded#1[7] > 5)": Call(
        "GreaterThan",
        (Call("GetMapValue", (c("coded"), literal(7, pa.int32()))), literal(5, pa.int32())),
    ),
    "(element_at(coded#1, 7, None, true) = 5)": Call(
        "EqualTo", (Call("ElementAt", (c("coded"), literal(7, pa.int32()))), literal(5, pa.int32()))
    ),
    "(get_json_object(s#1, $.a.b) = 4)": Call(
        "EqualTo", (Call("GetJsonObject", (c("s"), text("$.a.b"))), text("4"))
    ),
    "(substring_index(s#1, @, -1) = b.c)": Call(
        "EqualTo", (Call("SubstringIndex", (c("s"), text("@"), literal(-1, pa.int32()))), text("b.c"))
    ),
    "(invoke(ParseUrlEvaluator(null,HOST,null,true).evaluate(s#1, HOST)) = a.org)": Call(
        "EqualTo",
        (
            Call("Invoke", (Call("ParseUrlEvaluator"), c("s"), text("HOST"), text('"evaluate"'))),
            text("a.org"),
        ),
    ),
    "((id#11L > 3) <=> true)": Call("EqualNullSafe", (Call("GreaterThan", (c("id"), big(3))), text("true"))),
}


@pytest.mark.parametrize("given_text", CASES)
def test_a_filter(given_text: str) -> None:
    assert filter_expression((given_text,), TYPES) == CASES[given_text]


@pytest.mark.parametrize("first", CASES)
def test_a_filter_between_others(first: str) -> None:
    whole = f"isnotnull(id#1L), {first}, (v#2L = 7)"
    before, after = Call("IsNotNull", (c("id"),)), Call("EqualTo", (c("v"), big(7)))
    assert filter_expression((whole,), TYPES) == Call("And", (before, CASES[first], after))


@pytest.mark.parametrize(
    "unread",
    [
        "(id#11L = ReusedSubquery Subquery subquery#44, [id=#490])",
        "(id#11L = five)",
        "(d#13 = 1994-01-05 00:00:00)",
        "(bin#3 = [B@1f2a)",
        "CASE WHEN (id#11L = 5) THEN true ELSE bo#18 END",
        "dynamicpruningexpression(true)",
        "...",
        "(gone#4 = 5)",
    ],
)
def test_what_cannot_be_read_is_unknown_and_the_rest_is_read(unread: str) -> None:
    found = filter_expression((f"(id#1L = 5), {unread}, (v#2L = 7)",), TYPES)
    assert isinstance(found, Call)
    assert found.arguments[0] == Call("EqualTo", (c("id"), big(5)))
    assert found.arguments[-1] == Call("EqualTo", (c("v"), big(7)))
    between = found.arguments[1:-1]
    assert between
    assert not any(_is_labelled(each) for each in between)


def _is_labelled(expression: Expression) -> bool:
    """Parts that an index type could label: a comparison of a column and a literal."""
    if not isinstance(expression, Call):
        return isinstance(expression, Column)
    kinds = [type(each) for each in expression.arguments]
    return (
        Column in kinds and (Literal in kinds or LiteralSet in kinds) and UNKNOWN not in expression.arguments
    )


def test_a_cast_that_was_cut_off_does_not_begin_the_text_again() -> None:
    assert filter_expression((", (id#1L = 1), cast(id#1L as decimal(10,2)",), TYPES) == Call(
        "And", (UNKNOWN, Call("EqualTo", (c("id"), big(1))), UNKNOWN)
    )


def test_no_filter_asks_for_all() -> None:
    assert filter_expression((), TYPES) == EVERYTHING


@pytest.mark.timeout(120)
def test_machine_made_filters_end_soon() -> None:
    for hostile in (
        "(" * 200_000,
        "(id#1L = 5) " * 20_000,
        "s#14 LIKE " * 25_000,
        "(s#14 = " + "a), (" * 50_000,
        "f(" * 100_000,
        "f(" + "a, " * 80_000,
        "s#1 IN (" + "x)" * 100_000,
        "NOT " * 60_000 + "bo#18",
        "isnotnull(id#1L), " * 14_000,
        "v#12L INSET " + "1, " * 80_000,
        "#" * 250_000,
        "a#1." * 60_000,
    ):
        filter_expression((hostile[: 1 << 18],), TYPES)


@given(st.text("ab(), =#1ANDORT.<>'\\", max_size=60))
def test_any_text_is_read_as_something(any_text: str) -> None:
    filter_expression((any_text,), TYPES)


@given(st.text(max_size=30).filter(lambda value: not set(value) & set("(),#")))
def test_texts_without_syntax_are_read_exactly(value: str) -> None:
    assert filter_expression((f"isnotnull(s#1), (s#1 = {value}), (v#2L = 7)",), TYPES) == Call(
        "And",
        (
            Call("IsNotNull", (c("s"),)),
            Call("EqualTo", (c("s"), text(value))),
            Call("EqualTo", (c("v"), big(7))),
        ),
    )


def test_types_of_a_schema() -> None:
    assert TYPES["st",] == "struct<a:bigint,b:double>"
    assert TYPES["st", "b"] == "double"
    assert TYPES["p",] == "decimal(15,2)"
    assert len(TYPES) == 16
    assert column_types("struct<>") == column_types("") == column_types("int") == {}
    assert len(column_types("struct<a:" * 10_000)) == 0
