"""Distances: the law for three metrics, and what is skipped by the triangle inequality."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skipping_law.files_metadata import Files, collected, files_matching, files_read
from starskip.errors import ConfigError
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip_contrib.metric_dist import MetricDist
from starskip_contrib.metric_distances import (
    euclidean_distance,
    manhattan_distance,
)

FUNCTIONS = {
    "udf:euclidean_distance": euclidean_distance,
    "udf:manhattan_distance": manhattan_distance,
}
ORDERS = ["EqualTo", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"]
TEXT = st.text("abé\U0001f600", max_size=6)
NUMBER = st.sampled_from([0.0, -0.0, 0.1, 3.0, 1e16, 1e200, -1e308, float("nan"), float("inf")]) | st.floats(
    -10, 10
)


def holds(read: list[bool], matching: list[bool]) -> bool:
    return all(r or not m for r, m in zip(read, matching, strict=True))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(TEXT | st.none(), max_size=4), min_size=1, max_size=4),
    TEXT,
    st.integers(0, 6),
    st.sampled_from(ORDERS),
    st.booleans(),
)
def test_no_file_with_a_near_text_is_skipped(rows, text, distance, order, negated):
    index = MetricDist(["c"], ["levenshtein"])
    call = Call("Levenshtein", (Column(("c",), "string"), Literal(pa.scalar(text))))
    predicate: Expression = Call(order, (call, Literal(pa.scalar(distance, pa.int32()))))
    predicate = Call("Not", (predicate,)) if negated else predicate
    files = Files.of(pa.string(), *rows)
    assert holds(
        files_read(predicate, [index], collected([index], files)), files_matching(predicate, files, {})
    )


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["euclidean", "manhattan"]),
    st.lists(st.lists(st.tuples(NUMBER | st.none(), NUMBER), max_size=4), min_size=1, max_size=4),
    st.tuples(NUMBER, NUMBER),
    NUMBER,
    st.sampled_from(ORDERS),
    st.booleans(),
)
def test_no_file_with_a_near_point_is_skipped(metric, rows, point, distance, order, negated):
    index = MetricDist(["x", "y"], [metric])
    columns = (Column(("x",), "double"), Column(("y",), "double"))
    call = Call(f"udf:{metric}_distance", (*columns, *(Literal(pa.scalar(each)) for each in point)))
    predicate: Expression = Call(order, (call, Literal(pa.scalar(distance))))
    predicate = Call("Not", (predicate,)) if negated else predicate
    files = Files(
        {"x": pa.float64(), "y": pa.float64()}, [[dict(zip("xy", p, strict=True)) for p in r] for r in rows]
    )
    matching = files_matching(predicate, files, FUNCTIONS)
    assert holds(files_read(predicate, [index], collected([index], files)), matching)


def near(point: list[float], distance: float) -> Expression:
    call = Call("udf:euclidean_distance", (Literal(pa.scalar(point)), Column(("c",), "array<double>")))
    return Call("LessThan", (call, Literal(pa.scalar(distance))))


def test_far_away_points_are_skipped():
    index = MetricDist(["c"], ["euclidean"])
    files = Files.of(
        pa.list_(pa.float64()), [[0.0, 0.0], [1.0, 0.0]], [[9.0, 9.0]], [], [None], [[0.0], [9.0, 9.0]]
    )
    metadata = collected([index], files)
    assert files_read(near([0.5, 0.0], 1.0), [index], metadata) == [True, False, False, False, True]
    assert files_read(near([9.0, 9.0], 1.0), [index], metadata) == [False, True, False, False, True]


def test_far_away_texts_are_skipped():
    index = MetricDist(["c"], ["levenshtein"])
    metadata = collected([index], Files.of(pa.string(), ["aaaa", "aaab"], ["zzzzzz"], [None]))
    call = Call("Levenshtein", (Literal(pa.scalar("aaba")), Column(("c",), "string")))
    predicate = Call("LessThanOrEqual", (call, Literal(pa.scalar(2, pa.int32()))))
    assert files_read(predicate, [index], metadata) == [True, False, False]


def test_the_threshold_of_levenshtein_is_another_function():
    call = Call(
        "Levenshtein", (Column(("c",), "string"), Literal(pa.scalar("a")), Literal(pa.scalar(1, pa.int32())))
    )
    predicate = Call("LessThan", (call, Literal(pa.scalar(5, pa.int32()))))
    assert MetricDist(["c"], ["levenshtein"]).label(predicate) is None


@pytest.mark.parametrize(
    ("columns", "arguments", "types", "why"),
    [
        (["c"], ["cosine"], {}, "metricdist:COLUMN"),
        (["c"], ["euclidean"], {"c": "double"}, "no array"),
        (["c"], ["levenshtein"], {"c": "int"}, "c is int"),
        (["c", "d"], ["manhattan"], {"c": "int", "d": "string"}, "d is string"),
        (["c", "d"], ["levenshtein"], {"c": "string", "d": "string"}, "one column"),
    ],
)
def test_what_is_refused(columns, arguments, types, why):
    with pytest.raises(ConfigError, match=why):
        MetricDist(columns, arguments).check(types)
