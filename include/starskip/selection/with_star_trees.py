"""Star-trees and indexes under one budget: a shape that a chosen tree answers votes for no index any more.

Of the few candidate trees every set of at most ``max_star_trees`` that fits the budget is weighed:

    sum over shapes of what the first fitting tree of the set saves them
    + the best set of indexes for the other shapes, in the bytes that are left (k_selection)
    - the least gain that each tree and each index must bring

Trees save entries in filter and post filter, indexes those in filter; both count alike. A set is passed over
where its own saving and that of all indexes without any tree cannot beat the best so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import ceil

from starskip.indexes.index import Structure
from starskip.indexes.star_tree.recommend.candidates import CandidateTree, RefusedTree
from starskip.indexes.star_tree.star_tree_config import StarTreeConfig
from starskip.number_text import saves
from starskip.selection.k_selection import k_selection
from starskip.selection.recommendation import Budget, Refusal
from starskip.selection.vote_list import VoteList


@dataclass(frozen=True, slots=True)
class TreeBudget:
    """What trees may take, and must bring.

    ``total_entries``: all that queries scan, in filter and post filter. A tree must save ``min_gain_ratio``
    of it, and a larger one as much for each ``gain_bytes``: it is read, written and refreshed.
    """

    max_star_trees: int
    total_entries: float
    min_gain_ratio: float
    gain_bytes: float
    switch_gain_ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class ChosenTrees:
    """Trees in the order in which queries try them, what each saves its shapes, and the others with reasons.

    ``answered``: each shape that a tree answers, with the tree's position.
    """

    trees: tuple[CandidateTree, ...] = ()
    answered: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[RefusedTree, ...] = ()

    def saving_entries(self, position: int) -> float:
        """Return what a tree saves the shapes that it answers."""
        return sum(
            self.trees[position].saving_entries[shape]
            for shape, answering in self.answered.items()
            if answering == position
        )

    def documents_read(self, shape_id: str) -> float:
        """Return what a mean query of an answered shape reads of its tree."""
        return self.trees[self.answered[shape_id]].documents_read[shape_id]

    @property
    def size_bytes(self) -> float:
        """The bytes of all of them."""
        return sum(tree.size_bytes for tree in self.trees)

    def unanswered(self, lists: Sequence[VoteList]) -> list[VoteList]:
        """Return the votes of the shapes that no tree answers."""
        return [votes for votes in lists if votes.shape_id not in self.answered]


def with_star_trees(
    candidates: Sequence[CandidateTree],
    lists: Sequence[VoteList],
    budget: Budget,
    index_entries: float,
    tree_budget: TreeBudget,
    *,
    size_bytes: Mapping[Structure, int] | None = None,
    kept: Sequence[StarTreeConfig] = (),
) -> ChosenTrees:
    """Return the best set of trees beside the best indexes.

    ``lists``: votes for indexes. ``index_entries``: all entries scanned in filter, of which an index must
    save the budget's least gain. ``kept``: trees of the last advice, which stay unless others save
    ``switch_gain_ratio`` more.
    """
    choice = _Choice(candidates, lists, budget, index_entries, tree_budget, size_bytes or {}, kept)
    best = choice.best_set()
    return choice.chosen(best)


@dataclass(frozen=True, slots=True)
class _Choice:
    candidates: Sequence[CandidateTree]
    lists: Sequence[VoteList]
    budget: Budget
    index_entries: float
    tree_budget: TreeBudget
    sizes: Mapping[Structure, int]
    kept: Sequence[StarTreeConfig]
    solved: dict[frozenset[int], float] = field(default_factory=dict)
    """What the best indexes save beside each set of trees asked for: each is a programme to solve."""

    def best_set(self) -> frozenset[int]:
        none: frozenset[int] = frozenset()
        without_trees = self._indexes(none)
        best, best_value = none, without_trees
        sets = [
            frozenset(numbers)
            for count in range(1, self.tree_budget.max_star_trees + 1)
            for numbers in combinations(range(len(self.candidates)), count)
        ]
        savings = {item: self._trees(item) for item in sets if self._fits(item)}
        for item in sorted(savings, key=lambda each: (-savings[each], sorted(each))):
            if savings[item] + without_trees <= best_value:
                # What is left to the indexes is worth no more than all of the votes.
                break
            value = savings[item] + self._indexes(item)
            if value > best_value * (1 + 1e-12):
                best, best_value = item, value
        return best

    def chosen(self, best: frozenset[int]) -> ChosenTrees:
        ordered = self._in_order(best)
        trees = tuple(self.candidates[number] for number in ordered)
        answered: dict[str, int] = {}
        for position, tree in enumerate(trees):
            for shape in tree.saving_entries:
                answered.setdefault(shape, position)
        refused = tuple(
            self._refused(number, best) for number in range(len(self.candidates)) if number not in best
        )
        return ChosenTrees(trees, answered, refused)

    def _in_order(self, numbers: frozenset[int]) -> list[int]:
        """Return the trees as queries try them: the first that fits is taken, so the smallest comes first."""
        return sorted(numbers, key=lambda number: (self.candidates[number].documents, number))

    def _trees(self, numbers: frozenset[int]) -> float:
        """Return what a set of trees saves, less what they must gain."""
        saved: dict[str, float] = {}
        for number in self._in_order(numbers):
            for shape, entries in self.candidates[number].saving_entries.items():
                saved.setdefault(shape, entries)
        must = sum(self._must_gain(number) for number in numbers)
        stays = sum(self.candidates[number].config in self.kept for number in numbers)
        return (
            sum(saved.values())
            - must
            + self.tree_budget.switch_gain_ratio * self.tree_budget.total_entries * stays
        )

    def _must_gain(self, number: int) -> float:
        budget = self.tree_budget
        times = max(self.candidates[number].size_bytes / max(budget.gain_bytes, 1.0), 1.0)
        return budget.min_gain_ratio * budget.total_entries * times

    def _indexes(self, numbers: frozenset[int]) -> float:
        """Return what the best indexes save the shapes that are left, less what they must gain."""
        if numbers not in self.solved:
            self.solved[numbers] = self._solved(numbers)
        return self.solved[numbers]

    def _solved(self, numbers: frozenset[int]) -> float:
        answered = {shape for number in numbers for shape in self.candidates[number].saving_entries}
        lists = [votes for votes in self.lists if votes.shape_id not in answered]
        left = self.budget.storage_bytes
        if left is not None:
            left = max(left - ceil(sum(self.candidates[number].size_bytes for number in numbers)), 0)
        must = self.budget.min_gain_ratio * self.index_entries
        structures = frozenset().union(*(votes.structures for votes in lists)) if lists else frozenset()
        found = k_selection(
            lists,
            self.budget.max_indexes,
            upkeep_entries=dict.fromkeys(structures, must),
            size_bytes=self.sizes,
            budget_bytes=left,
        )
        return found.saving_entries - must * len(found.chosen)

    def _fits(self, numbers: frozenset[int]) -> bool:
        limit = self.budget.storage_bytes
        return limit is None or sum(self.candidates[number].size_bytes for number in numbers) <= limit

    def _refused(self, number: int, best: frozenset[int]) -> RefusedTree:
        tree = self.candidates[number]
        total = max(self.tree_budget.total_entries, 1.0)
        alone = tree.total_saving_entries / total
        added = (
            self._trees(best | {number})
            + self._indexes(best | {number})
            - self._trees(best)
            - self._indexes(best)
        ) / total
        if not self._fits(frozenset([number])) or (added > 0 and not self._fits(best | {number})):
            reason = Refusal.OVER_STORAGE_BUDGET
        elif added > 0 and len(best) >= self.tree_budget.max_star_trees:
            reason = Refusal.OVER_MAX_STAR_TREES
        elif alone < self._must_gain(number) / total:
            reason = Refusal.BELOW_MIN_GAIN
        else:
            reason = Refusal.COVERED_BY_CHOSEN
        beside = added + self._must_gain(number) / total
        detail = f"by itself it {saves(alone)} of all entries, beside what is chosen it {saves(beside)}"
        return RefusedTree(tree.config, reason.value, detail, tree.size_bytes)
