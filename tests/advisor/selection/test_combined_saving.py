"""The saving of all changes together: one share of all entries, whose parts add up, in a 90 % interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.families.answer import AnswerCandidate
from starskip.advisor.families.index import Index
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.combined_saving import NO_SAVING, CombinedSaving, combined_saving
from starskip.advisor.selection.look_back import NightVotes, look_back
from starskip.advisor.selection.recommendation import Entries
from starskip.advisor.selection.vote_list import Saving, VoteList
from starskip.advisor.workload.shape_entries import ShapeEntries

A = Index("inverted", "a")
TREE = Index("star_tree", "t")


@dataclass(frozen=True)
class Query:
    """A shape's mean query: its entries in filter and post filter, and what becomes of them."""

    in_filter: float
    post_filter: float
    saved_by_index: float
    saved_by_tree: float = 0.0
    times: float = 1.0


queries = st.lists(
    st.builds(
        Query,
        st.floats(1, 1e6),
        st.floats(0, 1e6),
        st.floats(-0.5, 1),
        st.just(0.0) | st.floats(0.1, 1),
        st.integers(1, 9).map(float),
    ),
    min_size=1,
    max_size=12,
)


def night_of(asked: list[Query]) -> tuple[NightVotes, ChosenAnswers]:
    """Return the votes of a night, and the tree that answers some of its shapes."""
    lists, shapes, saved = [], {}, {}
    for number, each in enumerate(asked):
        whole, saving = each.in_filter + each.post_filter, each.saved_by_index * each.in_filter
        of_index = Saving(each.times * saving, each.times * saving**2, each.times * saving * each.in_filter)
        lists.append(VoteList("t", str(number), 0, {frozenset([A]): of_index}, is_complete=True))
        shapes[str(number)] = ShapeEntries(
            each.times, each.times * each.in_filter, each.times * each.post_filter, each.times * whole**2
        )
        if each.saved_by_tree:
            saved[str(number)] = each.times * each.saved_by_tree * whole
    entries = Entries(sum(s.entries for s in shapes.values()), sum(q.times * q.in_filter**2 for q in asked))
    night = NightVotes(lists, entries, shapes, frozenset(), frozenset())
    trees = (AnswerCandidate(TREE, ("t",), saved, is_exclusive=True),) if saved else ()
    return night, ChosenAnswers(trees, dict.fromkeys(saved, 0))


def together(asked: list[Query], error: float = 0.0, **chosen: list[Index]) -> CombinedSaving:
    night, answers = night_of(asked)
    return combined_saving(night, night.lists, chosen.get("indexes", [A]), answers, error)


@given(asked=queries, error=st.floats(0, 0.1))
def test_it_is_what_all_queries_read_less_and_its_parts_add_up(asked: list[Query], error: float) -> None:
    found = together(asked, error)
    before = sum(q.times * (q.in_filter + q.post_filter) for q in asked)
    saved = sum(
        q.times * (q.in_filter + q.post_filter) * q.saved_by_tree
        if q.saved_by_tree
        else q.times * q.in_filter * q.saved_by_index
        for q in asked
    )
    assert (found.entries_before, found.entries_after) == pytest.approx((before, before - saved))
    assert found.saving.ratio == pytest.approx(saved / before, abs=1e-9)
    assert sum(found.parts.values()) == pytest.approx(found.saving.ratio, abs=1e-9)
    assert found.saving.low <= found.saving.ratio <= found.saving.high + 1e-9 <= 1 + 2e-9


@given(asked=queries)
def test_two_equal_nights_say_what_one_does_and_more_surely(asked: list[Query]) -> None:
    night, answers = night_of(asked)
    twice = look_back(night, [(1.0, night)])
    doubled = ChosenAnswers(
        tuple(
            AnswerCandidate(TREE, ("t",), {shape: 2 * each for shape, each in tree.saving_entries.items()})
            for tree in answers.answers
        ),
        answers.answered,
    )
    once = combined_saving(night, night.lists, [A], answers, 0.0)
    both = combined_saving(twice, twice.lists, [A], doubled, 0.0)
    assert both.saving.ratio == pytest.approx(once.saving.ratio, abs=1e-9)
    assert both.parts == pytest.approx(once.parts, abs=1e-9)
    assert both.saving.ratio - both.saving.low <= once.saving.ratio - once.saving.low + 1e-6


def test_no_more_is_saved_of_a_shape_than_it_reads() -> None:
    night, _ = night_of([Query(100, 20, 0.5), Query(50, 30, 1.0)])
    tree = AnswerCandidate(TREE, ("t",), {"0": 1e6, "gone": 5.0}, is_exclusive=True)
    found = combined_saving(night, night.lists, [A], ChosenAnswers((tree,), {"0": 0, "gone": 0}), 0.0)
    assert found.parts == pytest.approx({"indexes": 50 / 200, "star_tree": 120 / 200})
    assert found.entries_after == pytest.approx(30.0)


def test_without_entries_or_changes_nothing_is_saved() -> None:
    assert together([]) == NO_SAVING
    found = together([Query(100, 20, 0.5)], indexes=[])
    assert (found.saving.ratio, found.saving.low, found.saving.high, found.parts) == (0, 0, 0, {})


@pytest.mark.parametrize(("size", "least"), [(100, 0.85), (900, 0.87)])
def test_the_interval_holds_the_saving_of_the_workload_that_the_queries_are_drawn_from(
    size: int, least: float
) -> None:
    random = np.random.default_rng(7)
    asked = [
        Query(entries, random.random() * entries, random.choice([0, 0.5, 1]), random.choice([0, 0, 0.9]))
        for entries in random.lognormal(10, 1.2, 40)
    ]
    weights = random.dirichlet(np.full(len(asked), 0.8))

    def drawn(times: np.ndarray) -> list[Query]:
        counted = zip(asked, times.tolist(), strict=True)
        return [
            Query(*(q.in_filter, q.post_filter, q.saved_by_index, q.saved_by_tree), n)
            for q, n in counted
            if n
        ]

    real = together(drawn(weights)).saving.ratio
    logs = [together(drawn(random.multinomial(size, weights))).saving for _ in range(200)]
    assert sum(each.low <= real <= each.high for each in logs) >= least * len(logs)
    assert np.median([each.high - each.low for each in logs]) < 0.2, "and is no wider than it must be"
