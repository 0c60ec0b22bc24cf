"""Hypothesis strategies: values of Spark's types, files of them, predicate trees over a column."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet

UTC = dt.UTC
LETTERS = "ab%_\\é\U0001f600\n"
TEXT = st.one_of(
    st.text(LETTERS, max_size=5), st.sampled_from(["", "a" * 300, "a" * 299 + "b", "\U0010ffff" * 70])
)
DAY = dt.date(2026, 11, 21)
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=UTC)

TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "tinyint": (pa.int8(), st.sampled_from([-128, -1, 0, 1, 2, 3, 127])),
    "int": (pa.int32(), st.integers(-5, 5)),
    "bigint": (pa.int64(), st.sampled_from([-(1 << 63), (1 << 63) - 1, 2**53, 2**53 + 1, 0, 1])),
    "float": (
        pa.float32(),
        st.sampled_from([0.0, -0.0, 0.5, -1.5, float("nan"), float("inf"), float("-inf")]),
    ),
    "double": (pa.float64(), st.sampled_from([0.0, -0.0, 0.1, -1.5, float("nan"), float("inf"), 5e-324])),
    "decimal(9,2)": (pa.decimal128(9, 2), st.integers(-5, 5).map(lambda each: Decimal(each) / 4)),
    "decimal(38,6)": (
        pa.decimal128(38, 6),
        st.sampled_from(
            [Decimal(10) ** 31, -(Decimal(10) ** 31), Decimal(0), Decimal("0.000001"), Decimal(-1)]
        ),
    ),
    "string": (pa.string(), TEXT),
    "binary": (pa.binary(), st.binary(max_size=2) | st.just(b"\xff" * 300)),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.integers(-3, 3).map(lambda days: DAY + dt.timedelta(days))),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        st.integers(-3, 3).map(lambda each: NOON + dt.timedelta(microseconds=each)),
    ),
    "timestamp_ntz": (
        pa.timestamp("us"),
        st.integers(-3, 3).map(lambda each: NOON.replace(tzinfo=None) + dt.timedelta(each)),
    ),
}


def files_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[list[Any]]]:
    rows = st.lists(st.one_of(values, values, st.none()), max_size=4)
    return st.lists(rows, min_size=1, max_size=5)


def comparisons(data_type: str, name: str = "c") -> st.SearchStrategy[Expression]:
    """Leaves over one column: all operators, the literal on either side."""
    arrow_type, values = TYPES[data_type]
    column = Column((name,), data_type)
    literal = values.map(lambda value: Literal(pa.scalar(value, arrow_type)))
    orders = st.sampled_from(
        ["EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"]
    )
    leaves = [
        st.builds(lambda name, value: Call(name, (column, value)), orders, literal),
        st.builds(lambda name, value: Call(name, (value, column)), orders, literal),
        st.builds(
            lambda found, null: Call("In", (column, LiteralSet(pa.array(found, arrow_type), null))),
            st.lists(values, max_size=4),
            st.booleans(),
        ),
        st.sampled_from([Call("IsNull", (column,)), Call("IsNotNull", (column,))]),
    ]
    if data_type == "boolean":
        leaves.append(st.just(column))
    if data_type == "string":
        leaves.append(texts(column))
        leaves.append(texts(column))
    return st.one_of(leaves)


def texts(column: Column) -> st.SearchStrategy[Expression]:
    names = st.sampled_from(["StartsWith", "EndsWith", "Contains"])
    parts = st.lists(st.sampled_from(["a", "b", "%", "_", "\\%", "\\\\", "é", "\U0001f600"]), max_size=4)
    return st.one_of(
        st.builds(lambda name, text: Call(name, (column, Literal(pa.scalar(text)))), names, TEXT),
        parts.map(lambda found: Call("Like", (column, Literal(pa.scalar("".join(found)))))),
    )


def trees(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.recursive(
        leaves,
        lambda below: st.one_of(
            below.map(lambda each: Call("Not", (each,))),
            st.builds(lambda left, right: Call("And", (left, right)), below, below),
            st.builds(lambda left, right: Call("Or", (left, right)), below, below),
            st.builds(
                lambda each, truth: Call("EqualNullSafe", (each, Literal(pa.scalar(truth)))),
                below,
                st.booleans(),
            ),
        ),
        max_leaves=5,
    )
