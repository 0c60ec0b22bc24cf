"""The sets of a vote list that a programme needs: the sets that save more than each of their subsets."""

from __future__ import annotations

from collections.abc import Mapping

from starskip.advisor.selection.vote_list import IndexSet, VoteList


def needed_sets(votes: VoteList, least: float = 0.0) -> tuple[Mapping[IndexSet, float], float]:
    """Return the sets that save more than ``least`` beyond each of their subsets, with their entries.

    Also return the most entries by which the list can save more than the returned sets say, whatever is
    built. ``votes``: a list that no set harms.
    """
    needed: dict[IndexSet, float] = {}
    lost = 0.0
    for indexes, saving in sorted(votes.alternatives.items(), key=lambda item: len(item[0])):
        beyond = saving.entries - max((each for part, each in needed.items() if part < indexes), default=0.0)
        if beyond > least:
            needed[indexes] = saving.entries
        else:
            lost = max(lost, beyond)
    return needed, lost
