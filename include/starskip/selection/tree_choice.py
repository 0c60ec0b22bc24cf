"""Star-trees chosen for a table beside its indexes, and the indexes that they make idle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starskip.indexes.index import Structure
from starskip.indexes.star_tree.recommend.star_tree_candidates import StarTreeCandidates
from starskip.indexes.star_tree.settings import StarTreeSettings
from starskip.number_text import saves
from starskip.selection.look_back import NightVotes
from starskip.selection.past_nights import PastNights
from starskip.selection.recommendation import Budget, Refusal, Refused
from starskip.selection.vote_list import VoteList, building_lists, order_lists, total_saving
from starskip.selection.with_star_trees import ChosenTrees, TreeBudget, with_star_trees
from starskip.settings import Settings


def chosen_star_trees(
    offer: StarTreeCandidates,
    window: NightVotes,
    budget: Budget,
    settings: Settings,
    size_bytes: Mapping[Structure, int] | None,
    past: PastNights,
) -> ChosenTrees:
    """Return the best trees of ``offer`` beside the indexes that the window votes for."""
    if not offer.candidates:
        return ChosenTrees()
    return with_star_trees(
        offer.candidates,
        building_lists(window.lists),
        budget,
        window.entries.total,
        TreeBudget(
            settings.of(StarTreeSettings).max_star_trees,
            offer.total_entries,
            settings.advice.min_gain_ratio,
            settings.of(StarTreeSettings).tree_gain_size_ratio * offer.table_bytes,
            settings.advice.switch_gain_ratio,
        ),
        size_bytes=size_bytes,
        kept=past.star_trees,
    )


def answered_by_trees(
    window: NightVotes, lists: Sequence[VoteList], *, is_order: bool
) -> tuple[Refused, ...]:
    """Return a refusal for each index that only shapes voted for which a star-tree answers.

    ``lists``: the votes of the other shapes.
    """
    before = order_lists(window.lists) if is_order else building_lists(window.lists)
    left = {item for votes in lists for item in votes.structures}
    gone = {item for votes in before for item in votes.structures if item.removed is None} - left
    found = []
    for item in sorted(gone):
        alone = total_saving(before, [item]) / max(window.entries.total, 1.0)
        detail = f"by itself it {saves(alone)} of the entries scanned, of queries that a star-tree answers"
        found.append(Refused(item, Refusal.ANSWERED_BY_STAR_TREE, detail, alone))
    return tuple(found)
