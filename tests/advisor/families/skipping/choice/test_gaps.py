"""Gap lists chosen for a workload, against brute force over all sets of gaps and an exact programme."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from starskip.advisor.families.skipping.choice.disjunctive_gaps import (
    NeededGaps,
    densest_gaps,
    disjunctive_gaps,
    needed_gaps,
)
from starskip.advisor.families.skipping.choice.range_workload import RangeWorkload, range_workload
from starskip.advisor.families.skipping.choice.workload_gap_list import gaps_of_files, optimal_gaps
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet

C = Column(("c",), "bigint")
Range = tuple[int, int]


def call(name: str, value: object, column: Column = C, kind: pa.DataType | None = None) -> Call:
    return Call(name, (column, Literal(pa.scalar(value, kind or pa.int64()))))


def between(low: int, high: int) -> Call:
    return Call("And", (call("GreaterThanOrEqual", low), call("LessThanOrEqual", high)))


def any_of(ranges: Sequence[Range]) -> Expression:
    legs: list[Expression] = [between(*item) for item in ranges]
    while len(legs) > 1:
        legs = [Call("Or", (legs[0], legs[1])), *legs[2:]]
    return legs[0]


def workload_of(queries: Sequence[Sequence[Range]], weights: Sequence[float]) -> RangeWorkload:
    return range_workload([any_of(item) for item in queries], weights, "c", pa.int64())


def skipped_weight(
    values: Sequence[int], queries: Sequence[Sequence[Range]], weights: Sequence[float], gaps: Sequence[int]
) -> float:
    """A query skips the file if each of its ranges is empty, out of the bounds or in one stored gap."""
    stored = [(values[gap - 1], values[gap]) for gap in gaps]

    def is_skipped(low: int, high: int) -> bool:
        outside = not values or high < values[0] or low > values[-1] or low > high
        return outside or any(first < low and high < last for first, last in stored)

    return sum(
        weight
        for ranges, weight in zip(queries, weights, strict=True)
        if all(is_skipped(*item) for item in ranges)
    )


def best_of_all(
    values: Sequence[int], queries: Sequence[Sequence[Range]], weights: Sequence[float], k: int
) -> float:
    gaps = range(1, len(values))
    return max(
        skipped_weight(values, queries, weights, chosen)
        for count in range(min(k, len(gaps)) + 1)
        for chosen in itertools.combinations(gaps, count)
    )


numbers = st.integers(0, 24)
sorted_values = st.sets(numbers, max_size=9).map(sorted)
ranges = st.tuples(numbers, st.integers(-1, 6)).map(lambda item: (item[0], item[0] + item[1]))
range_queries = st.lists(st.tuples(ranges, st.integers(0, 9)), max_size=9)
or_queries = st.lists(st.tuples(st.lists(ranges, min_size=1, max_size=4), st.integers(1, 9)), max_size=9)


@settings(max_examples=60, deadline=None)
@given(sorted_values, range_queries, st.integers(0, 5))
def test_heaviest_gaps_are_the_best_of_all_sets(
    values: list[int], queries: list[tuple[Range, int]], k: int
) -> None:
    asked = [[item] for item, _ in queries]
    weights = [float(weight) for _, weight in queries]
    gaps = optimal_gaps(pa.array(values, pa.int64()), workload_of(asked, weights), k).tolist()
    assert len(gaps) <= k
    assert gaps == sorted(set(gaps))
    assert skipped_weight(values, asked, weights, gaps) == best_of_all(values, asked, weights, k)


@settings(max_examples=60, deadline=None)
@given(sorted_values, or_queries, st.integers(0, 5))
def test_gaps_for_disjunctions_are_allowed_and_near_the_best(
    values: list[int], queries: list[tuple[list[Range], int]], k: int
) -> None:
    asked, weights = [item for item, _ in queries], [float(weight) for _, weight in queries]
    gaps = disjunctive_gaps(pa.array(values, pa.int64()), workload_of(asked, weights), k).tolist()
    assert len(gaps) <= k
    assert set(gaps) <= set(range(1, len(values)))
    skipped = skipped_weight(values, asked, weights, gaps)
    best = best_of_all(values, asked, weights, k)
    assert 0.7 * best <= skipped <= best


@settings(max_examples=60, deadline=None)
@given(sorted_values, range_queries, st.integers(0, 5))
def test_heuristic_is_exact_for_ranges(values: list[int], queries: list[tuple[Range, int]], k: int) -> None:
    asked, weights = [[item] for item, _ in queries], [float(weight) for _, weight in queries]
    workload, array = workload_of(asked, weights), pa.array(values, pa.int64())
    best = skipped_weight(values, asked, weights, optimal_gaps(array, workload, k).tolist())
    assert skipped_weight(values, asked, weights, disjunctive_gaps(array, workload, k).tolist()) == best


def densest_exactly(needed: NeededGaps, k: int) -> float:
    """max sum weight * z, z_e <= y_v for v in e, sum y <= k."""
    sets, gaps = needed.needs.shape
    rows, columns = np.nonzero(needed.needs)
    ties = np.zeros((len(rows) + 1, gaps + sets))
    ties[np.arange(len(rows)), gaps + rows] = 1.0
    ties[np.arange(len(rows)), columns] = -1.0
    ties[-1, :gaps] = 1.0
    upper = np.zeros(len(rows) + 1)
    upper[-1] = k
    answer = milp(
        np.concatenate([np.zeros(gaps), -needed.weights]),
        integrality=np.concatenate([np.ones(gaps), np.zeros(sets)]),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(ties, ub=upper),
    )
    assert answer.status == 0
    return float(-answer.fun)


def test_heuristic_is_near_the_exact_programme_on_random_hypergraphs() -> None:
    rng = np.random.default_rng(3)
    nearness = []
    for _ in range(40):
        gaps, sets = int(rng.integers(8, 20)), int(rng.integers(8, 40))
        needs = np.zeros((sets, gaps), np.bool_)
        for row in needs:
            row[rng.choice(gaps, rng.integers(1, 5), replace=False)] = True
        needed = NeededGaps(np.arange(1, gaps + 1), needs, rng.integers(1, 10, sets).astype(float))
        k = int(rng.integers(3, gaps))
        mask = densest_gaps(needed, k)
        assert mask.sum() <= k
        nearness.append(needed.weight(mask) / max(densest_exactly(needed, k), 1e-9))
    exact = np.mean(np.array(nearness) > 1 - 1e-9)
    print(f"of the best: mean {np.mean(nearness):.4f}, worst {min(nearness):.4f}, best found {exact:.0%}")
    assert np.mean(nearness) > 0.97
    assert min(nearness) > 0.8


def test_gaps_of_the_seeds_reduction() -> None:
    """Claim 13: each vertex is a gap, each hyperedge a query; k = 3 holds a triangle."""
    values = [10 * number for number in range(6)]
    edges = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (0, 1, 2)]
    queries = [[(10 * gap + 1, 10 * gap + 9) for gap in edge] for edge in edges]
    workload = workload_of(queries, [1.0] * len(edges))
    assert needed_gaps(pa.array(values), workload).needs.shape == (6, 5)
    assert disjunctive_gaps(pa.array(values), workload, 3).tolist() == [1, 2, 3]


def test_seeds_gap_is_found_though_it_is_not_the_largest() -> None:
    """Extensible Data Skipping, IV-C: both bounds of the range lie in the gap, which min and max miss."""
    values = pa.array([0, 1, 2, 5, 100], pa.int64())
    workload = workload_of([[(3, 4)], [(3, 3)], [(50, 60)]], [1.0, 1.0, 1.0])
    assert optimal_gaps(values, workload, 1).tolist() == [3]
    assert optimal_gaps(values, workload, 9).tolist() == [3, 4]


def test_range_that_touches_a_value_is_in_no_gap_unless_it_leaves_it_out() -> None:
    values = pa.array([0, 10, 20], pa.int64())
    closed = range_workload([between(0, 9)], [1.0], "c", pa.int64())
    opened = range_workload(
        [Call("And", (call("GreaterThan", 0), call("LessThan", 10)))], [1.0], "c", pa.int64()
    )
    assert optimal_gaps(values, closed, 1).tolist() == []
    assert optimal_gaps(values, opened, 1).tolist() == [1]


def test_what_lies_outside_of_the_bounds_takes_no_gaps_place() -> None:
    workload = workload_of([[(0, 5)], [(25, 30)], [(12, 13)]], [9.0, 9.0, 1.0])
    assert optimal_gaps(pa.array([10, 20], pa.int64()), workload, 1).tolist() == [1]


def test_file_keeps_its_heaviest_gaps() -> None:
    workload = workload_of([[(1, 2)], [(11, 12)], [(21, 22)]], [1.0, 5.0, 2.0])
    chosen = gaps_of_files(pa.array([[0, 10, 20, 30]], pa.list_(pa.int64())), workload, 2)
    assert chosen.to_pylist() == [[2, 3]]


def test_one_sided_ranges_need_no_gap() -> None:
    workload = range_workload([call("GreaterThan", 5), call("LessThan", 5)], [1.0, 1.0], "c", pa.int64())
    assert optimal_gaps(pa.array([0, 10], pa.int64()), workload, 5).tolist() == []


def test_or_is_refused_where_only_ranges_are_exact() -> None:
    workload = workload_of([[(1, 2), (11, 12)]], [1.0])
    with pytest.raises(ValueError, match="disjunctive_gaps"):
        optimal_gaps(pa.array([0, 10, 20], pa.int64()), workload, 1)


def test_values_of_in_are_points() -> None:
    wanted = Call("In", (C, LiteralSet(pa.array([3, 14, 15], pa.int64()))))
    workload = range_workload([wanted], [1.0], "c", pa.int64())
    assert disjunctive_gaps(pa.array([0, 10, 20, 30]), workload, 2).tolist() == [1, 2]
    assert disjunctive_gaps(pa.array([0, 10, 20, 30]), workload, 1).tolist() == []
    assert disjunctive_gaps(pa.array([0, 14, 20]), workload, 2).tolist() == []


@pytest.mark.parametrize(
    ("kind", "spark", "values", "inside"),
    [
        (pa.string(), "string", ["a", "b\0", "zebra", "\U0001f600"], "c"),
        (pa.string(), "string", ["a", "b", "\ud7ff", "\U0001f600"], "\uffff"),
        (pa.float64(), "double", [-1.0, 0.0, 7.5, float("nan")], 3.5),
        (pa.float64(), "double", [0.0, 1.0, 2.0, float("nan")], float("inf")),
        (
            pa.decimal128(30, 2),
            "decimal(30,2)",
            [Decimal("-5"), Decimal("0.01"), Decimal("10")],
            Decimal("3.33"),
        ),
        (pa.binary(), "binary", [b"\x00", b"\x80", b"\xff"], b"\x81"),
        (pa.date32(), "date", [0, 10, 20], 15),
    ],
)
def test_each_type_has_its_order(kind: pa.DataType, spark: str, values: list[object], inside: object) -> None:
    column = Column(("c",), spark)
    workload = range_workload([call("EqualTo", inside, column, kind)], [1.0], "c", kind)
    (gap,) = optimal_gaps(pa.array(values, kind), workload, 3).tolist()
    ordered = pa.array(values, kind).to_pylist()
    assert gap == {"c": 2, "\uffff": 3, b"\x81": 2, 15: 2}.get(inside, 2 if ordered[1] != 1.0 else 3)


def test_beginning_of_texts_is_a_range() -> None:
    column = Column(("c",), "string")
    workload = range_workload(
        [
            call("StartsWith", "b", column, pa.string()),
            call("Like", "c\ud7ff%", column, pa.string()),
            call("StartsWith", "\U0010ffff", column, pa.string()),
        ],
        [1.0, 1.0, 1.0],
        "c",
        pa.string(),
    )
    assert workload.literals.to_pylist() == ["b", "c", "c\ud7ff", "c\ue000", "\U0010ffff"]
    values = pa.array(["a", "azz", "bz", "d"])
    assert optimal_gaps(values, workload, 9).tolist() == [3]


def test_and_narrows_and_what_is_unknown_of_an_or_leaves_all() -> None:
    unknown = Call("udf:f", (C,))
    other = call("EqualTo", 1, Column(("d",), "bigint"))
    predicates = [
        Call("And", (between(1, 9), Call("And", (call("LessThan", 5), unknown)))),
        Call("Or", (between(1, 9), unknown)),
        Call("Not", (between(1, 9),)),
        other,
    ]
    workload = range_workload(predicates, [1.0, 2.0, 3.0, 4.0], "c", pa.int64())
    assert workload.weights.tolist() == [1.0]
    assert workload.literals.to_pylist() == [1, 5, 9]
    assert (workload.low_cut.tolist(), workload.high_cut.tolist()) == ([0], [2])


def test_query_that_contradicts_itself_needs_nothing() -> None:
    nothing = Call("And", (call("LessThan", 1), call("GreaterThan", 5)))
    workload = range_workload([nothing], [1.0], "c", pa.int64())
    assert workload.weights.tolist() == [1.0]
    assert optimal_gaps(pa.array([0, 10], pa.int64()), workload, 5).tolist() == []


def test_and_that_is_too_deep_narrows_nothing() -> None:
    predicate: Expression = between(1, 2)
    for _ in range(5_000):
        predicate = Call("And", (predicate, between(0, 9)))
    workload = range_workload([predicate], [1.0], "c", pa.int64())
    assert workload.weights.tolist() == [1.0]
    assert (workload.low_cut.tolist(), workload.high_cut.tolist()) == ([0], [7])


def test_sliced_and_unknown_lists_are_read_in_place() -> None:
    values = pa.array([[5], [0, 10, 20], None, [0, 100]], pa.list_(pa.int64())).slice(1)
    ranges_only = workload_of([[(11, 12)], [(13, 14)]], [1.0, 5.0])
    with_or = workload_of([[(11, 12), (13, 14)]], [1.0])
    for workload in (ranges_only, with_or):
        assert gaps_of_files(values, workload, 1).to_pylist() == [[2], None, [1]]
