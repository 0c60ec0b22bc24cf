"""Indexes that exist and help nobody."""

from __future__ import annotations

from starskip.advisor.families.index import Index, drop_of
from starskip.advisor.selection.unneeded_indexes import unneeded_indexes
from starskip.advisor.selection.vote_list import Saving, VoteList

A, B, N = (Index("inverted", name) for name in "abn")
NO_A, NO_B = drop_of(A), drop_of(B)


def dropped(
    lists: list[VoteList], *, asked: set[Index], chosen: frozenset[Index] = frozenset()
) -> dict[str, str]:
    found = unneeded_indexes(lists, chosen, 1000.0, {A, B}, asked, 0.001, "9 queries in 1 night")
    return {drop.index.column: drop.detail for drop in found}


def without_it(change: str) -> str:
    return f"without it 9 queries in 1 night would scan {change} entries, beside the other indexes"


NOBODY_ASKS = "the index exists and none of 9 queries in 1 night filters by it in a way that it serves"


def complete(savings: dict[frozenset[Index], float]) -> VoteList:
    return VoteList(
        "t", "s", 0, {needed: Saving(saved) for needed, saved in savings.items()}, is_complete=True
    )


def test_an_index_that_no_query_asks_for() -> None:
    assert dropped([], asked={A}) == {"b": NOBODY_ASKS}


def test_an_index_that_answers_queries_without_a_vote_stays() -> None:
    # Strategies that do not simulate dropping say nothing of it.
    assert dropped([], asked={A, B}) == {}


def test_an_index_that_saves_something_stays() -> None:
    lists = [complete({frozenset({NO_A}): -500.0}), complete({frozenset({NO_B}): -0.9})]
    assert dropped(lists, asked={A, B}) == {"b": without_it("0.1 % more")}


def test_of_two_that_stand_in_for_each_other_only_one_goes() -> None:
    either = complete({frozenset({NO_A}): 0.0, frozenset({NO_B}): 0.0, frozenset({NO_A, NO_B}): -800.0})
    assert dropped([either], asked={A, B}) == {"a": without_it("as many")}


def test_an_index_that_makes_queries_scan_more_goes() -> None:
    lists = [complete({frozenset({NO_A}): 40.0}), complete({frozenset({NO_B}): -40.0})]
    assert dropped(lists, asked={A, B}) == {"a": without_it("4.0 % fewer")}


def test_a_chosen_index_can_make_another_one_idle() -> None:
    lists = [
        complete({frozenset({NO_A}): -300.0, frozenset({N}): 0.0, frozenset({N, NO_A}): 0.0}),
        complete({frozenset({NO_B}): -300.0}),
    ]
    assert dropped(lists, asked={A, B}) == {}
    assert dropped(lists, asked={A, B}, chosen=frozenset({N})) == {"a": without_it("as many")}


def test_where_not_all_sets_are_listed_the_loss_is_that_of_the_dropping_alone() -> None:
    some = VoteList(
        "t", "s", 0, {frozenset({NO_A}): Saving(-300.0), frozenset({N}): Saving(10.0)}, is_complete=False
    )
    assert dropped([some], asked={A}, chosen=frozenset({N})) == {"b": NOBODY_ASKS}
