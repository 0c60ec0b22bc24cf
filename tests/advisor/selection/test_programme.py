"""The sets of a vote list that a programme keeps, and what it may miss by leaving out the others."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.families.index import Index
from starskip.advisor.selection.programme import needed_sets
from starskip.advisor.selection.vote_list import Saving, VoteList

MEMBERS = tuple(Index("inverted", name) for name in "abc")
SETS = [frozenset(s) for count in (1, 2, 3) for s in itertools.combinations(MEMBERS, count)]


@given(amounts=st.lists(st.integers(0, 100), min_size=7, max_size=7), least=st.integers(0, 30))
def test_what_is_left_out_saves_at_most_what_is_told(amounts: list[int], least: int) -> None:
    saving: dict[frozenset[Index], float] = {}
    for indexes, amount in zip(SETS, amounts, strict=True):
        parts = [saving[part] for part in saving if part < indexes]
        saving[indexes] = max([float(amount), *parts])
    votes = VoteList("t", "s", 0, {each: Saving(entries) for each, entries in saving.items()}, True)
    needed, lost = needed_sets(votes, float(least))
    assert lost <= least
    for chosen in SETS:
        kept = max((entries for each, entries in needed.items() if each <= chosen), default=0.0)
        assert kept <= saving[chosen] <= kept + lost
    assert least or len(set(needed.values())) == len({each for each in saving.values() if each})
