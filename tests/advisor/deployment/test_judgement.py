"""The judgement of a replay: faults of shapes, and the saving of each index."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starskip.advisor.deployment.judgement import FaultKind, faults_of, saving, savings_by_index
from starskip.advisor.deployment.replay import Measured
from starskip.advisor.deployment.statements import Statement
from starskip.advisor.ledger.advised_index import AdvisedIndex

COUNT = Statement("q1", "s1", "SELECT COUNT(*) … a = ?", 10.0, ("inverted:a",), (), (), None, False)
GROUPS = Statement("q2", "s2", "… GROUP BY b", 5.0, ("inverted:a", "inverted:b"), (0,), (2,), 3, False)
ROWS = Statement("q3", "s3", "SELECT x … LIMIT ?", 1.0, (), (0,), (), 2, True)
A, B = (AdvisedIndex("inverted", (name,), {}, 0.3 if name == "a" else 0.1) for name in "ab")


def kinds(statement: Statement, was: Measured, now: Measured) -> list[FaultKind]:
    return [each.kind for each in faults_of([statement], [was], [now], 0.1)]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (Measured(100, 0, 5.0, [[7]]), []),
        (Measured(0, 0, 1.0, [[7]]), []),
        (Measured(0, 0, 1.0, [[7.0000000001]]), []),
        (Measured(0, 0, 1.0, [[8]]), [FaultKind.WRONG_ANSWER]),
        (Measured(0, 0, 1.0, [[7], [7]]), [FaultKind.WRONG_ANSWER]),
        (Measured(0, 0, 1.0, []), [FaultKind.WRONG_ANSWER]),
        (Measured(0, 0, 1.0, None), []),
        (Measured(flaw="1 of 2 servers answered"), [FaultKind.NOT_WHOLE]),
        (Measured(100, 9, 5.0, [[7]]), []),
        (Measured(100, 11, 5.0, [[7]]), [FaultKind.MORE_ENTRIES]),
        (Measured(0, 0, 14.0, [[7]]), []),
        (Measured(0, 0, 40.0, [[7]]), [FaultKind.SLOWER]),
        (Measured(200, 0, 40.0, [[8]]), [FaultKind.WRONG_ANSWER, FaultKind.MORE_ENTRIES, FaultKind.SLOWER]),
    ],
)
def test_faults_of_one_statement(now: Measured, expected: list[FaultKind]) -> None:
    assert kinds(COUNT, Measured(100, 0, 5.0, [[7]]), now) == expected


def test_what_was_not_whole_before_is_not_judged() -> None:
    assert kinds(COUNT, Measured(flaw="down"), Measured(900, 0, 900.0, [[8]])) == []


def test_groups_are_compared_by_their_keys_and_without_approximate_columns() -> None:
    was = Measured(1, 1, 1.0, [["x", 1, 0.5], ["y", 2, 0.7]])
    assert kinds(GROUPS, was, replace(was, rows=[["y", 2, 0.9], ["x", 1, 0.1]])) == []
    assert kinds(GROUPS, was, replace(was, rows=[["y", 1, 0.7], ["x", 2, 0.5]])) == [FaultKind.WRONG_ANSWER]


def test_rows_beyond_a_limit_are_the_servers_choice() -> None:
    was = Measured(1, 1, 1.0, [["x"], ["y"]])
    assert kinds(ROWS, was, replace(was, rows=[["z"], ["y"]])) == []
    assert kinds(ROWS, replace(was, rows=[["x"]]), replace(was, rows=[["y"]])) == [FaultKind.WRONG_ANSWER]
    assert kinds(ROWS, was, replace(was, in_filter=900)) == []  # it stops early: which rows it meets varies


def test_a_table_that_grew_meanwhile_is_judged_by_entries_a_row() -> None:
    was = Measured(100, 0, 5.0, [[7]], documents=1_000)
    assert kinds(COUNT, was, Measured(150, 0, 5.0, [[9]], documents=1_500)) == []
    assert kinds(COUNT, was, Measured(300, 0, 5.0, [[9]], documents=1_500)) == [FaultKind.MORE_ENTRIES]
    assert saving([COUNT], [was], [Measured(75, documents=1_500)]).ratio == pytest.approx(0.5)


def test_a_fault_names_its_shape_without_literals() -> None:
    (fault,) = faults_of([COUNT], [Measured(100, 0, 5.0)], [Measured(300, 0, 5.0)], 0.1)
    assert str(fault) == "scans more: 100 entries a query before, 300 after: SELECT COUNT(*) … a = ?"


def test_savings_are_weighted_by_queries_and_shared_among_indexes() -> None:
    before = [Measured(100, 0, 8.0), Measured(200, 0, 4.0)]
    after = [Measured(0, 0, 2.0), Measured(100, 0, 4.0)]
    whole = saving([COUNT, GROUPS], before, after)
    assert whole.ratio == pytest.approx((1000 + 500) / 2000)
    assert whole.ms == pytest.approx(60 / 15)
    found = savings_by_index([COUNT, GROUPS], [A, B], before, after, {})
    assert found["inverted:a"][0].ratio == pytest.approx((1000 + 0.75 * 500) / 2000)
    assert found["inverted:b"][0].ratio == pytest.approx(0.25 * 500 / 2000)
    assert found["inverted:b"][1] == "by the shape that it serves, shared with other indexes as predicted"
    unused = savings_by_index([ROWS], [A], before[:1], after[:1], {})
    assert unused["inverted:a"] == (saving([ROWS], before[:1], after[:1], [0.0]), "no replayed query uses it")


def test_an_index_that_can_be_hidden_is_measured_with_it_and_without_it() -> None:
    before, after = [Measured(100)], [Measured(10)]
    found = savings_by_index([COUNT], [A], before, after, {"inverted:a": [Measured(60)]})
    assert found["inverted:a"][0].ratio == pytest.approx(0.5)
    assert found["inverted:a"][1] == "measured with it and without it in turn"
