"""The spread of a saving when the mix of queries is unknown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.families.index import Index
from starskip.advisor.selection.advice_without_log import guess_interval
from starskip.advisor.selection.saving_interval import SavingInterval, saving_interval
from starskip.advisor.selection.vote_list import Saving, VoteList

A = Index("inverted", "a")


queries_of = st.lists(st.tuples(st.floats(1, 1e6), st.floats(-3, 1)), min_size=1, max_size=30)


def of_queries(queries: list[tuple[float, float]], model_error_ratio: float = 0.02) -> SavingInterval:
    """The interval for queries of (entries, saved ratio), each a shape of its own."""
    lists = [
        VoteList(
            "t",
            str(number),
            0,
            {frozenset({A}): Saving(e * r, (e * r) ** 2, e * r * e)},
            is_complete=True,
        )
        for number, (e, r) in enumerate(queries)
    ]
    return saving_interval(
        lists,
        [A],
        entries=sum(e for e, _ in queries),
        entries_squared=sum(e * e for e, _ in queries),
        model_error_ratio=model_error_ratio,
    )


@given(queries=queries_of, error=st.floats(0, 0.2))
def test_ratio_lies_within_and_nothing_saves_more_than_all(
    queries: list[tuple[float, float]], error: float
) -> None:
    found = of_queries(queries, error)
    assert found.low <= found.ratio <= found.high + 1e-9
    assert found.high <= 1.0
    total = sum(e for e, _ in queries)
    assert found.ratio == pytest.approx(sum(e * r for e, r in queries) / total, abs=1e-9)


@given(queries=queries_of, times=st.integers(2, 20))
def test_more_queries_of_the_same_kind_narrow_it(queries: list[tuple[float, float]], times: int) -> None:
    once, often = of_queries(queries), of_queries(queries * times)
    assert often.ratio == pytest.approx(once.ratio, abs=1e-9)
    assert once.ratio - often.low <= once.ratio - once.low + 1e-6


@given(queries=queries_of)
def test_a_worse_model_widens_it(queries: list[tuple[float, float]]) -> None:
    narrow, wide = of_queries(queries, 0.01), of_queries(queries, 0.1)
    assert wide.low <= narrow.low + 1e-9
    assert wide.high >= narrow.high - 1e-9


def test_queries_that_all_save_the_same_share_leave_only_the_model_error() -> None:
    found = of_queries([(10.0, 0.5), (1000.0, 0.5)], model_error_ratio=0.02)
    assert found.high - found.ratio == pytest.approx(1.6449 * 0.02)


def of_legs(queries: list[list[float]], entries: float, chosen: tuple[Index, ...] = (A,)) -> SavingInterval:
    """The interval for queries that scan ``entries`` each; ``queries``: what each disjunct of each saves."""
    lists = []
    for disjunct in range(len(queries[0])):
        saved = [of_query[disjunct] for of_query in queries]
        total, squared = sum(saved), sum(s * s for s in saved)
        alternatives = {frozenset({A}): Saving(total, squared, total * entries)}
        lists.append(VoteList("t", "q", disjunct, alternatives, is_complete=True))
    return saving_interval(
        lists,
        chosen,
        entries=len(queries) * entries,
        entries_squared=len(queries) * entries**2,
        model_error_ratio=0.0,
    )


@given(
    disjuncts=st.lists(st.floats(-0.4, 0.4), min_size=2, max_size=5),
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=5),
)
def test_a_query_is_as_uncertain_in_legs_as_in_one_piece(disjuncts: list[float], shares: list[float]) -> None:
    # Each query saves a share of every disjunct: the disjuncts move together.
    queries = [[100.0 * share * disjunct for disjunct in disjuncts] for share in shares]
    whole = of_legs([[sum(of_query)] for of_query in queries], 100.0)
    parts = of_legs(queries, 100.0)
    assert (parts.ratio, parts.low, parts.high) == pytest.approx(
        (whole.ratio, whole.low, whole.high), abs=1e-6
    )


def test_a_leg_that_nights_voted_on_apart_is_of_different_queries() -> None:
    # Two queries, each saving 60 of 100 in one disjunct; their nights listed other sets.
    one = VoteList("t", "q", 0, {frozenset({A}): Saving(60.0, 3600.0, 6000.0)}, is_complete=True)
    other = VoteList("t", "q", 0, one.alternatives, is_complete=False)
    found = saving_interval([one, other], [A], entries=200.0, entries_squared=20_000.0, model_error_ratio=0.0)
    assert (found.low, found.high) == pytest.approx((0.6, 0.6))


def test_two_queries_by_hand() -> None:
    # R = 1/2; residuals are 100 - 50 and 0 - 50: their squares over the square of all entries.
    found = of_queries([(100.0, 1.0), (100.0, 0.0)], model_error_ratio=0.0)
    assert found.ratio == 0.5
    assert found.ratio - found.low == pytest.approx(1.6449 * (5000 / 200**2) ** 0.5)
    assert found.high == 1.0, "no more than everything"


def test_no_entries() -> None:
    assert saving_interval([], [A], entries=0, entries_squared=0, model_error_ratio=0.1) == SavingInterval(
        0.0, 0.0, 0.0
    )


def test_it_holds_nine_of_ten_mixes() -> None:
    entries = dict.fromkeys("abcdefghij", 1.0)
    saved = {"a": 1.0, "b": 0.9, "c": 0.5}
    found = guess_interval(saved, entries)
    assert found.ratio == pytest.approx(0.24)
    ratios = np.array([saved.get(name, 0.0) for name in entries])
    mixes = np.random.default_rng(7).dirichlet(np.ones(10), 20_000) @ ratios
    inside = np.mean((mixes >= found.low) & (mixes <= found.high))
    assert inside == pytest.approx(0.9, abs=0.02)


def test_nothing_read_nothing_saved_and_all_saved() -> None:
    assert guess_interval({}, {}).high == 0.0
    alone = guess_interval({"a": 0.75}, {"a": 1.0})
    assert (alone.low, alone.ratio, alone.high) == (0.75, 0.75, 0.75)
    # Their shares sum to more than 1 in floats.
    whole = {"a": 4.0, "b": 4.7}
    assert guess_interval(whole, whole).high == 1.0


@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.floats(0, 1e6), st.floats(-2, 1)), min_size=1))
def test_the_ratio_lies_inside_and_never_above_all(columns: dict[str, tuple[float, float]]) -> None:
    entries = {name: value for name, (value, _) in columns.items()}
    saved = {name: value * share for name, (value, share) in columns.items()}
    found = guess_interval(saved, entries)
    assert found.low <= found.ratio <= found.high <= 1.0
