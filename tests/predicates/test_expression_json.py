"""Predicates as JSON and back."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet
from starskip.predicates.expression_json import UNKNOWN, expression_json, expression_of

VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int8(): st.integers(-128, 127),
    pa.int16(): st.integers(-(1 << 15), (1 << 15) - 1),
    pa.int32(): st.integers(-(1 << 31), (1 << 31) - 1),
    pa.int64(): st.integers(-(1 << 63), (1 << 63) - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(),
    pa.binary(): st.binary(),
    pa.date32(): st.dates(),
    pa.decimal128(38, 6): st.decimals(-(10**20), 10**20, places=6),
    pa.timestamp("us", "UTC"): st.integers(-(1 << 62), 1 << 62),
    pa.timestamp("us"): st.integers(-(1 << 62), 1 << 62),
}
KINDS = st.sampled_from(sorted(VALUES, key=str))


def array(values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(values, pa.int64()).view(kind) if pa.types.is_timestamp(kind) else pa.array(values, kind)


LITERALS = KINDS.flatmap(lambda kind: (VALUES[kind] | st.none()).map(lambda v: Literal(array([v], kind)[0])))
SETS = KINDS.flatmap(
    lambda kind: st.builds(
        lambda values, null: LiteralSet(array(values, kind), null),
        st.lists(VALUES[kind], max_size=5),
        st.booleans(),
    )
)
COLUMNS = st.builds(Column, st.lists(st.text(min_size=1), min_size=1).map(tuple), st.text())
TREES = st.recursive(
    LITERALS | SETS | COLUMNS,
    lambda legs: st.builds(Call, st.text(min_size=1), st.lists(legs, max_size=4).map(tuple)),
    max_leaves=10,
)


@given(TREES)
def test_what_is_written_is_read(tree: Expression) -> None:
    line = expression_json(tree)
    assert "\n" not in line
    assert expression_of(line) == tree


def test_not_a_number() -> None:
    line = expression_json(Literal(pa.scalar(float("nan"))))
    assert line == '{"literal":"nan","type":"double"}'
    found = expression_of(line)
    assert isinstance(found, Literal)
    assert found.python != found.python


def test_a_literal_of_another_type_is_unknown() -> None:
    assert expression_of(expression_json(Literal(pa.scalar([1, 2])))) == UNKNOWN


@pytest.mark.parametrize(
    "line",
    [
        "",
        "7",
        "[]",
        "{}",
        "null",
        '{"call":7}',
        '{"call":"And","arguments":7}',
        '{"column":"a","type":7}',
        '{"literal":"x","type":"bigint"}',
        '{"literal":1,"type":"array<int>"}',
        '{"literal":300,"type":"tinyint"}',
        '{"literal":"1994-99-01","type":"date"}',
        '{"literal":"?","type":"binary"}',
        '{"literals":[1,"x"],"type":"int"}',
        '{"literals":7,"type":"int"}',
        '{"call":"Not","arguments":[' * 300 + '{"call":"x"}' + "]}" * 300,
        '{"call":"Not","arguments":[' * 100_000,
    ],
)
def test_what_is_no_expression(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        expression_of(line)


def test_a_deep_predicate_is_cut() -> None:
    tree: Expression = Column(("a",), "int")
    for _ in range(500):
        tree = Call("Not", (tree,))
    assert json.loads(expression_json(tree))["call"] == "Not"
    expression_of(expression_json(tree))
