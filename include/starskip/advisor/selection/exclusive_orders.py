"""Votes for a sorted column, completed: each column's order loses the savings of the present one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from starskip.advisor.cost.alternatives import SORTED_BY_ANOTHER
from starskip.advisor.selection.vote_list import NOTHING, VoteList


def exclusive_orders(lists: Sequence[VoteList]) -> list[VoteList]:
    """Return the lists with a saving, often negative, for every candidate column of the table.

    The cost model gives a list the columns that it filters by, and the effect of any other order; "changing
    the sorted column takes the old one's savings away" (the design).
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
