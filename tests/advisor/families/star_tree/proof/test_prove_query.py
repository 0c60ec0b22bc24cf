"""One query answered both ways, by ways that a test makes up."""

from __future__ import annotations

from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from starskip.advisor.families.star_tree.proof.prove_query import (
    Agreement,
    Proof,
    bound_positions,
    comparable_query,
    percentile_bounds_query,
    prove_query,
)
from starskip.errors import SourceOutage, StaleTree, UnsupportedQuery
from starskip.star_tree.serving.answer_sql import Answer
from starskip.star_tree.serving.finished_answer import ERROR_BOUND, Approximation

SQL = "SELECT a, COUNT(*) AS n FROM t WHERE b = 'x' GROUP BY a ORDER BY n DESC LIMIT 3"
ROWS = pa.table({"a": ["x", "y"], "n": [1, 2]})


def answered(table: pa.Table = ROWS, *, star_tree: bool = True, ratio: float | None = None) -> Answer:
    stated: tuple[Approximation, ...] = ()
    if ratio is not None:
        last = table.field(-1).with_metadata({ERROR_BOUND: b"within 10 %"})
        table = table.cast(pa.schema([*list(table.schema)[:-1], last]))
        stated = (Approximation("n", "within 10 %", ratio, 0.99),)
    return Answer(
        table, star_tree, None if star_tree else "no tree fits", 7, 50, 1 if star_tree else None, stated
    )


def proof(answer: Answer, scanned: pa.Table = ROWS, sql: str = SQL) -> Proof:
    ticks = count()
    return prove_query(sql, lambda _: answer, lambda _: (scanned, 1_000), lambda: float(next(ticks)))


def test_equal_answers_are_told_with_what_each_way_cost() -> None:
    assert proof(answered(), ROWS.take([1, 0])) == Proof(Agreement.EQUAL, "", 1, 2, 7, 1_000, 1000.0, 1000.0)


def test_both_ways_are_asked_the_same_without_order_and_limit_and_the_tree_once_more_before() -> None:
    asked: list[str] = []

    def ask(sql: str) -> Answer:
        asked.append(sql)
        return answered()

    def scan(sql: str) -> tuple[pa.Table, int]:
        asked.append(sql)
        return ROWS, 9

    prove_query(SQL, ask, scan, lambda: 0.0)
    assert asked == ["SELECT a, COUNT(*) AS n FROM t WHERE b = 'x' GROUP BY a"] * 3


def test_answers_that_differ_and_queries_that_no_tree_answers() -> None:
    found = proof(answered(), pa.table({"a": ["x", "y"], "n": [1, 3]}))
    assert (found.verdict, found.detail) == (Agreement.DIFFERENT, "column n: differs in 1 of 2 groups")
    found = proof(answered(star_tree=False))
    assert (found.verdict, found.detail) == (Agreement.NOT_ANSWERED, "no tree fits")


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (StaleTree("a.parquet is gone", source="a.parquet"), "a.parquet is gone"),
        (UnsupportedQuery("no: 'SECRET'", reason="literal_type"), "one way cannot answer it: literal type"),
    ],
)
def test_an_error_of_ours_is_a_verdict_that_tells_no_literal(error: Exception, detail: str) -> None:
    def fail(_: str) -> Any:
        raise error

    assert prove_query(SQL, fail, fail, lambda: 0.0) == Proof(Agreement.FAILED, detail)


def test_a_store_that_does_not_answer_is_tried_again() -> None:
    def fail(_: str) -> Any:
        raise SourceOutage("wait", source="s")

    with pytest.raises(SourceOutage):
        prove_query(SQL, fail, fail, lambda: 0.0)


def test_a_text_that_is_no_query_is_a_verdict_too() -> None:
    assert proof(answered(), sql="SELECT SELECT").verdict is Agreement.FAILED


HLL = "SELECT a, DISTINCTCOUNTHLL(c) AS n FROM t GROUP BY a"


@pytest.mark.parametrize(
    ("exact", "expected"), [(100, "within_bound"), (109, "within_bound"), (140, "different")]
)
def test_a_distinct_count_is_compared_with_the_exact_one(exact: int, expected: str) -> None:
    estimate = pa.table({"a": ["x"], "n": [100]})
    found = proof(answered(estimate, ratio=0.1), pa.table({"a": ["x"], "n": [exact]}), HLL)
    assert found.verdict.value == expected
    assert found.detail == "within 10 %" or expected == "different"


def test_a_percentile_is_compared_with_exact_ones_of_the_ranks_around_it() -> None:
    sql = "SELECT a, PERCENTILETDIGEST(c, 95) AS n FROM t GROUP BY a"
    estimate = answered(pa.table({"a": ["x"], "n": [42.0]}), ratio=0.02)
    asked: list[str] = []

    def scan(text: str) -> tuple[pa.Table, int]:
        asked.append(text)
        if len(asked) == 1:
            return pa.table({"a": ["x"], "n": [41]}), 5_000
        bounds = [[5_000], [0], [99], [40], [43], [1], [98], [2], [97]]
        return pa.table([["x"], *bounds], names=list("abcdefghij")), 5_000

    found = prove_query(sql, lambda _: estimate, scan, lambda: 0.0)
    assert found.verdict is Agreement.WITHIN_BOUND
    first, wide = asked[1:]
    assert "PERCENTILEEST(c, 92.9" in first and "PERCENTILEEST(c, 97.1" in first
    assert "PERCENTILEEST(c, 90.9" in wide and "PERCENTILEEST(c, 99.1" in wide
    assert all("COUNT(c)" in text and "MIN(c)" in text and "GROUP BY a" in text for text in asked[1:])


def test_bounds_of_a_small_group_are_wider_and_those_of_a_tiny_one_all_its_values() -> None:
    assert [bound_positions(values, 1) for values in (5_000, 500, 50, 5, 0)] == [
        (4, 5),
        (6, 7),
        (8, 9),
        (2, 3),
        (2, 3),
    ]


def test_ranks_end_at_the_least_and_the_greatest_value() -> None:
    query = comparable_query("SELECT PERCENTILEEST99(c) FROM t")
    text = percentile_bounds_query(query, 0, 0.02)
    assert "PERCENTILEEST(c, 100.0)" in text
    assert "100.1" not in text


@pytest.mark.parametrize(
    ("sql", "keys", "approximate"),
    [
        ("SELECT a, b, SUM(c) FROM t GROUP BY a, b", (0, 1), []),
        ("SELECT SUM(c), a FROM t GROUP BY a", (1,), []),
        ("SELECT SUM(c) / COUNT(*) AS mean FROM t", (), []),
        ("SELECT DISTINCT a FROM t", (0,), []),
        ("SELECT a, PERCENTILEEST(c, 5) AS p, COUNT(*) FROM t GROUP BY a", (0,), [1]),
        ("SELECT dateTrunc('DAY', a) AS d, distinctCountHLL(c) FROM t GROUP BY d", (0,), [1]),
    ],
)
def test_what_are_keys_and_what_is_approximate(
    sql: str, keys: tuple[int, ...], approximate: list[int]
) -> None:
    query = comparable_query(sql)
    assert (query.keys, list(query.approximate), query.unbounded) == (keys, approximate, "")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(b) / DISTINCTCOUNTHLL(c) FROM t",
        "SELECT a FROM t GROUP BY a HAVING PERCENTILEEST(c, 50) > 3",
    ],
)
def test_what_hangs_on_an_approximate_value_has_no_bound(sql: str) -> None:
    assert "approximate value" in comparable_query(sql).unbounded
    found = proof(answered(), sql=sql)
    assert found.verdict is Agreement.NOT_COMPARABLE
