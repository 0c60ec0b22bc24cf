"""Votes for a sorted column, completed: each column's order takes the savings of the present one away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from starskip.advisor.cost.alternatives import SORTED_BY_ANOTHER
from starskip.advisor.selection.vote_list import NOTHING, VoteList


def exclusive_orders(lists: Sequence[VoteList]) -> list[VoteList]:
    """Return the lists with a saving, often negative, for every candidate column of the table.

    Scoring gives a list the columns that it asks for, and what any other order does to it; the
    design's "changing the sorted column takes the old one's savings away".
    """
    another = frozenset({SORTED_BY_ANOTHER})
    candidates = frozenset().union(*(item.indexes for item in lists)) - another if lists else frozenset()
    return [
        replace(
            item,
            alternatives={
                frozenset({column}): item.alternatives.get(
                    frozenset({column}), item.alternatives.get(another, NOTHING)
                )
                for column in sorted(candidates)
            },
            is_complete=False,
        )
        for item in lists
    ]
