"""Two answers as tables: what counts as the same, and what is told of what is not."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.verification.compare_answers import ApproximateColumn, answers_differ, same_value

VALUES = st.none() | st.integers(-(2**60), 2**60)
ROWS = st.dictionaries(
    st.text(max_size=3) | st.none(), st.tuples(VALUES, st.floats(allow_nan=True)), max_size=8
)


def table(rows: Any) -> pa.Table:
    return pa.table(
        {
            "k": pa.array([key for key, _ in rows], pa.string()),
            "n": pa.array([value[0] for _, value in rows], pa.int64()),
            "x": pa.array([value[1] for _, value in rows], pa.float64()),
        }
    )


@given(ROWS, st.randoms())
def test_an_answer_is_the_same_in_any_order(rows: dict[Any, Any], random: Any) -> None:
    ordered = list(rows.items())
    shuffled = ordered.copy()
    random.shuffle(shuffled)
    for keys in ([0], [], [0, 1]):
        assert answers_differ(table(ordered), table(shuffled), keys, {}) == "" or keys == []
    assert answers_differ(table(ordered), table(ordered), [], {}) == ""


@given(ROWS.filter(bool), st.data())
def test_one_exact_value_that_is_off_is_found_and_not_told(rows: dict[Any, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(rows, key=repr)))
    number, x = rows[key]
    changed = {**rows, key: (987654321 if number is None else number + 1, x)}
    found = answers_differ(table(list(rows.items())), table(list(changed.items())), [0], {})
    assert found == f"column n: differs in 1 of {len(rows)} groups"


def test_groups_and_shapes_of_answers_that_differ_are_counted() -> None:
    answer = table([("a", (1, 1.0)), ("b", (2, 2.0))])
    assert answers_differ(answer, answer.slice(1), [0], {}) == "2 rows from the tree, 1 by the scan"
    assert answers_differ(answer, answer.select([0, 1]), [0], {}) == "3 columns from the tree, 2 by the scan"
    other = table([("a", (1, 1.0)), ("c", (2, 2.0))])
    assert answers_differ(answer, other, [0], {}) == "1 of 2 groups from the tree alone"


def test_rows_that_no_key_tells_apart_are_compared_in_an_order_of_their_values() -> None:
    one = pa.table({"n": [3, 1, 2], "x": [0.3, 0.1, 0.2]})
    other = pa.table({"n": [1, 2, 3], "x": [0.1, 0.2, 0.1 + 0.2]})
    assert answers_differ(one, other, [], {}) == ""
    assert answers_differ(one, other.set_column(0, "n", pa.array([1, 2, 4])), [], {}) != ""


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (1, Decimal(1), True),
        (Decimal("1.50"), Decimal("1.5"), True),
        (2**60, 2**60 + 1, False),
        (Decimal("0.1"), 0.1, True),
        (0.1 + 0.2, 0.3, True),
        (1.0, 1.0001, False),
        (float("nan"), float("nan"), True),
        (None, None, True),
        (None, 0, False),
        (0.0, None, False),
        ("1", 1.0, True),
        ("a", 1.0, False),
        ("a", "a", True),
    ],
)
def test_values_are_the_same_whatever_their_types(ours: Any, theirs: Any, expected: bool) -> None:
    assert same_value(ours, theirs) is expected


def approximate(count: int, confidence: float | None = 0.99) -> ApproximateColumn:
    keys = [(f"k{i}",) for i in range(count)]
    return ApproximateColumn(dict.fromkeys(keys, (90, 110)), dict.fromkeys(keys, (80, 120)), confidence)


def estimates(*values: float | None) -> pa.Table:
    return pa.table({"k": [f"k{i}" for i in range(len(values))], "n": pa.array(values, pa.float64())})


def differ(column: ApproximateColumn, *values: float | None) -> str:
    return answers_differ(estimates(*values), estimates(*[100.0] * len(values)), [0], {1: column})


def test_an_estimate_within_its_bound_is_no_difference() -> None:
    assert differ(approximate(3), 90.0, 110.0, 100.0) == ""


def test_as_many_estimates_may_be_outside_as_the_confidence_allows() -> None:
    assert differ(approximate(2), 100.0, 111.0) == ""
    assert differ(approximate(3), 111.0, 111.0, 89.0) == "column n: outside the stated bound in 3 of 3 groups"
    assert differ(approximate(100, None), *[115.0] * 5, *[100.0] * 95) == ""
    assert differ(approximate(100, None), *[115.0] * 6, *[100.0] * 94) != ""


def test_no_estimate_may_be_outside_twice_the_bound() -> None:
    assert differ(approximate(2), 100.0, 121.0) == "column n: outside twice the stated bound in 1 of 2 groups"


def test_an_estimate_of_nothing_is_null_as_the_bound_is() -> None:
    column = ApproximateColumn({("k0",): (None, None)}, {("k0",): (None, None)}, 0.99)
    assert differ(column, None) == ""
    assert differ(column, 5.0) != ""
    assert differ(approximate(1), None) != ""
