"""The choice of indexes against plain enumeration of all sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_choice import k_selection
from starskip.advisor.families.index import Index
from starskip.advisor.selection.choice_items import choice_items
from starskip.advisor.selection.greedy_set import LinearLimits
from starskip.advisor.selection.programme import solve
from starskip.advisor.selection.set_values import set_values
from starskip.advisor.selection.vote_list import Saving, VoteList, total_saving

pytestmark = pytest.mark.slow

STRUCTURES = tuple(Index("inverted", name) for name in "abcdef")
CLOSE = {"rel": 1e-6, "abs": 1e-6}


def subsets(bits: int) -> frozenset[Index]:
    return frozenset(item for rank, item in enumerate(STRUCTURES) if bits >> rank & 1)


def paid(upkeep: Mapping[Index, float] | None, chosen: frozenset[Index]) -> float:
    return sum((upkeep or {}).get(item, 0.0) for item in chosen)


def enumerated_best(
    lists: Sequence[VoteList],
    max_indexes: int,
    upkeep: Mapping[Index, float] | None = None,
    sizes: Mapping[Index, int] | None = None,
    budget: int | None = None,
) -> float:
    """The seed's way: every set of the allowed size, as a bit pattern; returns saving less upkeep."""
    best = 0.0
    for bits in range(1 << len(STRUCTURES)):
        chosen = subsets(bits)
        size = sum((sizes or {}).get(item, 0) for item in chosen)
        if len(chosen) <= max_indexes and (budget is None or size <= budget):
            best = max(best, total_saving(lists, chosen) - paid(upkeep, chosen))
    return best


# Whole numbers and shared ones, so that ties come up.
amounts = st.integers(-50, 200).map(float)


# Strategies of all draws are made once: Hypothesis would check each anew in every draw.
_MEMBERS = st.sets(st.sampled_from(STRUCTURES), min_size=1, max_size=3).map(sorted)
_SETS = st.sets(st.integers(1, (1 << len(STRUCTURES)) - 1).map(subsets), min_size=1, max_size=5)


@st.composite
def complete_lists(draw: st.DrawFn, lowest: int = -50) -> VoteList:
    """Entries under all subsets of up to three indexes; an index may make a query read more."""
    members = draw(_MEMBERS)
    saving = st.integers(lowest, 200).map(float)
    savings = {}
    for bits in range(1, 1 << len(members)):
        chosen = frozenset(item for rank, item in enumerate(members) if bits >> rank & 1)
        savings[chosen] = Saving(draw(saving))
    return VoteList("t", "s", 0, savings, is_complete=True)


@st.composite
def incomplete_lists(draw: st.DrawFn) -> VoteList:
    """Some sets only; the best one that is built counts."""
    ordered = sorted(draw(_SETS), key=sorted)
    return VoteList("t", "s", 0, {s: Saving(draw(amounts)) for s in ordered}, is_complete=False)


vote_lists = st.lists(st.one_of(complete_lists(), incomplete_lists()), max_size=6)
upkeeps = st.fixed_dictionaries({item: st.integers(0, 40).map(float) for item in STRUCTURES})
sizes_of = st.fixed_dictionaries({item: st.integers(0, 100) for item in STRUCTURES})


@settings(max_examples=300)
@given(
    lists=vote_lists,
    k=st.integers(0, 7),
    upkeep=upkeeps,
    sizes=sizes_of,
    budget=st.none() | st.integers(0, 300),
)
def test_programme_finds_what_enumeration_finds_and_keeps_every_limit(
    lists: list[VoteList],
    k: int,
    upkeep: dict[Index, float],
    sizes: dict[Index, int],
    budget: int | None,
) -> None:
    found = k_selection(lists, k, upkeep_entries=upkeep, size_bytes=sizes, budget_bytes=budget)
    net = found.saving_entries - paid(upkeep, found.chosen)
    assert net == pytest.approx(enumerated_best(lists, k, upkeep, sizes, budget), **CLOSE)
    assert found.saving_entries == pytest.approx(total_saving(lists, found.chosen))
    assert len(found.chosen) <= k
    assert budget is None or sum(sizes[item] for item in found.chosen) <= budget


@given(lists=vote_lists, k=st.integers(1, 6))
def test_nothing_is_chosen_that_could_be_left_out_for_free(lists: list[VoteList], k: int) -> None:
    chosen = k_selection(lists, k).chosen
    for item in chosen:
        assert total_saving(lists, chosen - {item}) < total_saving(lists, chosen)


def single(name: str, entries: float) -> VoteList:
    item = frozenset({Index("inverted", name)})
    return VoteList("t", name, 0, {item: Saving(entries)}, is_complete=True)


def test_a_list_whose_one_set_loses_counts_where_that_set_is_built() -> None:
    a, b, c = STRUCTURES[:3]
    gains = {frozenset({b}): Saving(1.0), frozenset({b, c}): Saving(91.0)}
    lists = [
        VoteList("t", "s", 0, {frozenset({a}): Saving(85.5)}, is_complete=False),
        VoteList("t", "s", 1, gains, is_complete=False),
        VoteList("t", "s", 2, {frozenset({c}): Saving(-5.0)}, is_complete=False),
        VoteList("t", "s", 3, {frozenset({b}): Saving(1.0)}, is_complete=False),
    ]
    values = set_values(choice_items(lists, ()), {})
    two = LinearLimits(np.ones((1, values.variables)), np.array([2.0]), None)
    solved = solve(values, two, np.zeros(values.variables, np.bool_), 10.0)
    # b and c save 92 and lose 5, a and b save 87.5.
    assert solved.chosen is not None and values.worth(solved.chosen[None, :])[0] == 87.5
    assert solved.bound == pytest.approx(87.5)


def test_a_new_order_of_the_rows_pays_for_what_the_old_one_saved() -> None:
    # Not all sets are listed, since a table has one order: the harm counts all the same.
    a, b = (frozenset({Index("sorted", name)}) for name in "ab")
    asks_a = VoteList("t", "s", 0, {a: Saving(100), b: Saving(-10)}, is_complete=False)
    asks_old = VoteList("t", "u", 0, {a: Saving(-95), b: Saving(-10)}, is_complete=False)
    asks_b = VoteList("t", "v", 0, {a: Saving(0), b: Saving(60)}, is_complete=False)
    found = k_selection([asks_a, asks_old, asks_b], 1)
    assert (found.chosen, found.saving_entries) == (b, 40.0)


def test_savings_of_very_different_size_are_all_seen() -> None:
    lists = [single("a", 1e12), single("b", 50.0), single("c", 0.0)]
    assert k_selection(lists, 3).chosen == frozenset(STRUCTURES[:2])


@given(lists=st.lists(complete_lists(), min_size=1, max_size=5), order=st.randoms())
def test_the_order_of_the_lists_changes_nothing(lists: list[VoteList], order: Random) -> None:
    named = [replace(votes, shape_id=str(rank)) for rank, votes in enumerate(lists)]
    shuffled = order.sample(named, len(named))
    assert k_selection(shuffled, 2).chosen == k_selection(named, 2).chosen


@given(sizes=st.permutations(range(1, 7)), limit=st.integers(1, 5))
def test_of_structures_that_save_the_same_the_smallest_are_taken(sizes: list[int], limit: int) -> None:
    lists = [single(item.column, 10.0) for item in STRUCTURES]
    of = dict(zip(STRUCTURES, sizes, strict=True))
    chosen = k_selection(lists, limit, size_bytes=of).chosen
    assert sum(of[item] for item in chosen) == sum(range(1, limit + 1))


def test_lists_of_the_same_sets_count_apart_where_their_best_sets_differ() -> None:
    a, b, c = (frozenset([item]) for item in STRUCTURES[:3])
    lists = [
        VoteList("t", "s", 0, {a: Saving(100), b: Saving(10)}, is_complete=False),
        VoteList("t", "u", 0, {a: Saving(10), b: Saving(100)}, is_complete=False),
        VoteList("t", "v", 0, {c: Saving(50)}, is_complete=True),
    ]
    assert k_selection(lists, 2).chosen == a | b


@settings(max_examples=200)
@given(lists=st.lists(complete_lists(), min_size=8, max_size=16), k=st.integers(1, 4))
def test_many_lists_of_few_structures_are_one_programme(lists: list[VoteList], k: int) -> None:
    assert k_selection(lists, k).saving_entries == pytest.approx(enumerated_best(lists, k), **CLOSE)
