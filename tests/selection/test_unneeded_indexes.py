"""Indexes that exist and help nobody."""

from __future__ import annotations

from starskip.indexes.index import Index, drop_of
from starskip.selection.unneeded_indexes import unneeded_indexes
from starskip.selection.vote_list import Saving, VoteList

A, B, N = (Index("inverted", name) for name in "abn")
NO_A, NO_B = drop_of(A), drop_of(B)


def dropped(
    lists: list[VoteList], *, asked: set[Index], chosen: frozenset[Index] = frozenset()
) -> dict[str, float]:
    found = unneeded_indexes(lists, chosen, 1000.0, {A, B}, asked, 0.001, "9 queries in 1 night")
    return {drop.index.column: drop.loss_ratio for drop in found}


def complete(savings: dict[frozenset[Index], float]) -> VoteList:
    return VoteList(
        "t", "s", 0, {needed: Saving(saved) for needed, saved in savings.items()}, is_complete=True
    )


def test_an_index_that_no_query_asks_for() -> None:
    assert dropped([], asked={A}) == {"b": 0.0}


def test_an_index_that_answers_queries_without_a_vote_stays() -> None:
    # Strategies that do not simulate dropping say nothing of it.
    assert dropped([], asked={A, B}) == {}


def test_an_index_that_saves_something_stays() -> None:
    lists = [complete({frozenset({NO_A}): -500.0}), complete({frozenset({NO_B}): -0.5})]
    assert dropped(lists, asked={A, B}) == {"b": 0.0005}


def test_of_two_that_stand_in_for_each_other_only_one_goes() -> None:
    either = complete({frozenset({NO_A}): 0.0, frozenset({NO_B}): 0.0, frozenset({NO_A, NO_B}): -800.0})
    assert dropped([either], asked={A, B}) == {"a": 0.0}


def test_an_index_that_makes_queries_scan_more_goes() -> None:
    lists = [complete({frozenset({NO_A}): 40.0}), complete({frozenset({NO_B}): -40.0})]
    assert dropped(lists, asked={A, B}) == {"a": -0.04}


def test_a_chosen_index_can_make_another_one_idle() -> None:
    lists = [
        complete({frozenset({NO_A}): -300.0, frozenset({N}): 0.0, frozenset({N, NO_A}): 0.0}),
        complete({frozenset({NO_B}): -300.0}),
    ]
    assert dropped(lists, asked={A, B}) == {}
    assert dropped(lists, asked={A, B}, chosen=frozenset({N})) == {"a": 0.0}


def test_where_not_all_sets_are_listed_the_loss_is_that_of_the_dropping_alone() -> None:
    some = VoteList(
        "t", "s", 0, {frozenset({NO_A}): Saving(-300.0), frozenset({N}): Saving(10.0)}, is_complete=False
    )
    assert dropped([some], asked={A}, chosen=frozenset({N})) == {"b": 0.0}
