"""sigma, lambda, mu and psi against their definitions, file by file (Extensible Data Skipping, IV-A)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.families.skipping.indicators import Indicators, IndicatorState, indicators


@st.composite
def workloads(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Files (empty ones, too), matching rows of each query, and masks that lose a row now and then."""
    files, queries = draw(st.integers(1, 6)), draw(st.integers(0, 5))
    rows = draw(st.lists(st.integers(0, 9), min_size=files, max_size=files))
    matching = [[draw(st.integers(0, most)) for most in rows] for _ in range(queries)]
    read = [
        [draw(st.booleans()) or (found > 0 and draw(st.integers(0, 20)) != 0) for found in each]
        for each in matching
    ]
    shape = (queries, files)
    return np.array(rows), np.array(matching).reshape(shape), np.array(read, np.bool_).reshape(shape)


@settings(max_examples=80, deadline=None)
@given(workloads())
def test_factors_are_those_of_the_definitions(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    rows, matching, read = case
    found = indicators(rows, matching, read)
    products = []
    for query in range(len(matching)):
        files = range(len(rows))
        relevant = {file for file in files if matching[query][file] > 0}
        kept = {file for file in files if read[query][file]}
        in_relevant, in_read = (sum(int(rows[file]) for file in each) for each in (relevant, kept))
        total, relevant_rows = int(rows.sum()), int(matching[query].sum())
        answer = found.query(query)
        if not relevant <= kept:
            assert answer is found.verdict(query) is IndicatorState.ROWS_LOST
        elif not relevant:
            assert answer is found.verdict(query) is IndicatorState.NO_MATCHING_ROWS
        else:
            assert isinstance(answer, Indicators)
            assert answer.selectivity == relevant_rows / total
            assert answer.layout_factor == relevant_rows / in_relevant
            assert answer.metadata_factor == in_relevant / in_read
            assert answer.scanning_factor == in_read / total
            product = answer.selectivity / (answer.layout_factor * answer.metadata_factor)
            assert product == pytest.approx(answer.scanning_factor)
            assert answer.selectivity / answer.layout_factor == pytest.approx(in_relevant / total)
            products.append(answer)
        assert (found.read[query], found.rows) == (in_read, total)
    assert sum(found.verdicts().values()) == len(matching)
    assert found.verdicts().get(IndicatorState.DEFINED, 0) == len(products)
    means = found.geometric_means()
    assert (means is None) == (not products)
    if means is not None:
        geometric = math.prod(item.scanning_factor for item in products) ** (1 / len(products))
        assert means.scanning_factor == pytest.approx(geometric)
        assert means.scanning_factor == pytest.approx(
            means.selectivity / (means.layout_factor * means.metadata_factor)
        )


def test_factors_worked_out_on_paper() -> None:
    """Four files of 100 rows: 10 rows match, in two files; metadata keeps a third one."""
    rows = np.full(4, 100)
    found = indicators(rows, np.array([[8, 2, 0, 0]]), np.array([[True, True, True, False]]))
    assert found.query(0) == Indicators(10 / 400, 10 / 200, 200 / 300, 300 / 400)


def test_query_of_no_matching_row_is_told_and_counted_apart() -> None:
    rows = np.array([10, 10])
    found = indicators(rows, np.array([[0, 0], [5, 0]]), np.array([[True, False], [True, False]]))
    assert found.query(0) is IndicatorState.NO_MATCHING_ROWS
    assert found.read.tolist() == [10, 10]
    assert found.verdicts() == {IndicatorState.NO_MATCHING_ROWS: 1, IndicatorState.DEFINED: 1}
    assert found.geometric_means() == Indicators(0.25, 0.5, 1.0, 0.5)


def test_lost_row_is_no_good_metadata() -> None:
    found = indicators(np.array([10, 10]), np.array([[5, 5]]), np.array([[True, False]]))
    assert found.query(0) is IndicatorState.ROWS_LOST
    assert found.geometric_means() is None


def test_weights_are_repetitions() -> None:
    rows, read = np.array([10, 30]), np.array([[True, True], [True, False], [True, False], [True, False]])
    matching = np.array([[1, 1], [2, 0], [2, 0], [2, 0]])
    each = indicators(rows, matching, read).geometric_means()
    weighted = indicators(rows, matching[:2], read[:2]).geometric_means([1, 3])
    assert each is not None
    assert weighted is not None
    assert weighted.scanning_factor == pytest.approx(each.scanning_factor)
    assert weighted.layout_factor == pytest.approx(each.layout_factor)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, math.nan]])
def test_weights_that_are_none_are_refused(weights: list[float]) -> None:
    found = indicators(np.array([1]), np.array([[1], [1]]), np.array([[True], [True]]))
    with pytest.raises(ValueError, match="2 numbers above 0"):
        found.geometric_means(weights)


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and the file's rows"):
        indicators(np.array([1]), np.array([[2]]), np.array([[True]]))
    with pytest.raises(ValueError, match="queries x"):
        indicators(np.array([1, 2]), np.array([[1]]), np.array([[True]]))


def test_table_without_rows_has_no_indicators() -> None:
    found = indicators(np.zeros(2, np.int64), np.zeros((1, 2), np.int64), np.ones((1, 2), np.bool_))
    assert found.query(0) is IndicatorState.NO_MATCHING_ROWS
    assert (found.read.tolist(), found.rows) == ([0], 0)
