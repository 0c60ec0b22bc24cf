"""How good and how fast the one choice of indexes and star-trees is.

Prints, for synthetic votes of several sizes and for those of nights that ran here, the seconds and the gap of
the one choice; for small ones its worth beside that of every set enumerated; and, where trees and indexes
compete for bytes, its saving beside that of two choices made one after the other.

    make bench-selection
    make bench-selection ARGS="--store night/artefacts --seconds 10"
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from random import Random
from time import perf_counter

from starskip.indexes.answer import AnswerCandidate
from starskip.indexes.index import Index
from starskip.indexes.inverted.family import INVERTED
from starskip.indexes.star_tree.family import STAR_TREE
from starskip.selection.choice import Choice, ChoiceLimits, choose
from starskip.selection.vote_list import Saving, VoteList, building_lists, total_saving, vote_lists
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

MIN_GAIN_RATIO = 0.005
MOST_INDEXES = 8
MOST_TREES = 2
SIZES = ((50, 20, 0), (200, 30, 0), (400, 30, 0), (400, 30, 10), (2_000, 100, 40))
"""Shapes, columns, candidate trees."""
ENUMERATED = 40
"""Small problems whose every set is tried."""
BUDGET_RATIOS = (0.1, 0.25, 0.5)


@dataclass(frozen=True)
class Problem:
    """Votes, trees and sizes of one table; ``entries``: all that its queries scan."""

    lists: Sequence[VoteList]
    trees: Sequence[AnswerCandidate]
    size_bytes: Mapping[Index, int]
    entries: float

    def solved(self, seconds: float, *, most: int = MOST_INDEXES, budget: float | None = None) -> Choice:
        """Return the one choice."""
        limits = ChoiceLimits(most, {STAR_TREE.name: MOST_TREES}, budget, self.size_bytes, seconds)
        return choose(self.lists, limits, answers=self.trees, upkeep_entries=self.upkeep)

    @property
    def upkeep(self) -> dict[Index, float]:
        """Entries that each must save."""
        items = {*chain.from_iterable(votes.indexes for votes in self.lists)}
        return dict.fromkeys([*items, *(tree.index for tree in self.trees)], MIN_GAIN_RATIO * self.entries)

    def saving(self, indexes: frozenset[Index], trees: Sequence[AnswerCandidate]) -> float:
        """Return the entries that a set saves: of a shape by the first tree that fits, else by indexes."""
        saved: dict[str, float] = {}
        for tree in sorted(trees, key=lambda each: each.rank):
            for shape, entries in tree.saving_entries.items():
                saved.setdefault(shape, entries)
        return sum(saved.values()) + total_saving([v for v in self.lists if v.shape_id not in saved], indexes)

    def worth(self, indexes: frozenset[Index], trees: Sequence[AnswerCandidate]) -> float:
        """Return the saving less what each member must save."""
        return self.saving(indexes, trees) - MIN_GAIN_RATIO * self.entries * (len(indexes) + len(trees))


def synthetic(shapes: int, columns: int, trees: int, seed: int) -> Problem:
    """Return queries that AND one to five columns, some asked far oftener than others."""
    random = Random(seed)
    names = [f"c{number:03}" for number in range(columns)]
    often = [1 / (position + 1) ** 0.7 for position in range(columns)]
    kept = {name: 10 ** -random.uniform(0.3, 4) for name in names}
    lists, entries = [], {}
    for number in range(shapes):
        members = sorted(set(random.choices(names, often, k=random.choice([1, 2, 2, 3, 3, 4, 5]))))
        entries[number] = 10 ** random.uniform(3, 7)
        lists.append(VoteList("t", f"s{number}", 0, _alternatives(members, kept, entries[number]), True))
    found = []
    for number in range(trees):
        served = random.sample(range(shapes), k=max(1, int(shapes * random.uniform(0.005, 0.1))))
        saving = {f"s{each}": entries[each] * random.uniform(0.9, 1.3) for each in served}
        found.append(
            AnswerCandidate(
                Index(STAR_TREE.name, f"t{number}"),
                (f"d{number}",),
                saving,
                size_bytes=10 ** random.uniform(5, 9),
                is_exclusive=True,
                rank=random.uniform(1e3, 1e6),
            )
        )
    sizes = {Index(INVERTED.name, name): round(10 ** random.uniform(5, 8)) for name in names}
    return Problem(lists, found, sizes, sum(entries.values()))


def _alternatives(
    members: Sequence[str], kept: Mapping[str, float], entries: float
) -> dict[frozenset[Index], Saving]:
    def read(built: Sequence[str]) -> float:
        survivors = 1.0
        for name in built:
            survivors *= kept[name]
        return survivors * (len(members) - len(built))

    return {
        frozenset(Index(INVERTED.name, name) for name in built): Saving(
            entries * max(0.0, 1 - read(built) / len(members))
        )
        for count in range(1, len(members) + 1)
        for built in combinations(members, count)
    }


def recorded(store: ArtefactStore) -> Iterator[tuple[str, Problem]]:
    """Yield the votes of the newest night of each table, without trees."""
    for night in sorted(store.run_dates("votes"), reverse=True)[:1]:
        snapshot = store.snapshot("votes", night)
        for table in snapshot.tables if snapshot else ():
            assert snapshot is not None
            lists = building_lists(vote_lists(snapshot.read_table([table])))
            entries = sum(
                max((s.entries for s in votes.alternatives.values()), default=0.0) for votes in lists
            )
            yield f"{table}, night of {night}", Problem(lists, (), {}, max(entries, 1.0))


def enumerated(problem: Problem, most: int) -> float:
    """Return the worth of the best of all sets."""
    indexes = sorted(frozenset().union(*(votes.indexes for votes in problem.lists)))
    best = 0.0
    for count in range(most + 1):
        for built in combinations(indexes, count):
            for number in range(MOST_TREES + 1):
                for trees in combinations(problem.trees, number):
                    best = max(best, problem.worth(frozenset(built), trees))
    return best


def one_after_the_other(problem: Problem, seconds: float, budget: float, *, trees_first: bool) -> float:
    """Return what two choices save that share the bytes, each made for itself."""
    alone = Problem(problem.lists, (), problem.size_bytes, problem.entries)
    of_trees = Problem((), problem.trees, {}, problem.entries)
    if trees_first:
        trees = of_trees.solved(seconds, budget=budget).answers
        left = budget - sum(tree.size_bytes or 0.0 for tree in trees)
        served = {shape for tree in trees for shape in tree.saving_entries}
        rest = Problem(
            [v for v in problem.lists if v.shape_id not in served], (), problem.size_bytes, problem.entries
        )
        return problem.saving(rest.solved(seconds, budget=left).indexes, trees)
    indexes = alone.solved(seconds, budget=budget).indexes
    left = budget - sum(problem.size_bytes[index] for index in indexes)
    return problem.saving(indexes, of_trees.solved(seconds, budget=left).answers)


def main() -> int:
    """Print the tables; exit code 1 where the one choice is worse than enumeration."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit of a choice")
    parser.add_argument("--store", default="", help="artefacts of nights whose votes are chosen among, too")
    arguments = parser.parse_args()
    print(f"{'shapes':>7} {'columns':>8} {'trees':>6} {'seconds':>8} {'gap':>8} {'saving':>7} indexes trees")
    problems = [(f"{s:>7} {c:>8} {t:>6}", synthetic(s, c, t, seed=0)) for s, c, t in SIZES]
    if arguments.store:
        problems += recorded(ArtefactStore(storage_for(arguments.store)))
    for name, problem in problems:
        start = perf_counter()
        found = problem.solved(arguments.seconds)
        seconds = perf_counter() - start
        saved = problem.saving(found.indexes, found.answers) / problem.entries
        print(
            f"{name} {seconds:8.2f} {found.gap_ratio:8.3%} {saved:7.1%}"
            f" {len(found.indexes):7} {len(found.answers):5}"
        )
    worse = 0
    for seed in range(ENUMERATED):
        problem = synthetic(12, 7, 4, seed)
        found = problem.solved(arguments.seconds, most=3)
        worse += problem.worth(found.indexes, found.answers) < enumerated(problem, 3) * (1 - 1e-9)
    print(f"\nagainst every set enumerated: {ENUMERATED - worse} of {ENUMERATED} worth as much")
    print("\none budget of bytes: saving of the one choice, and of two choices as a share of it")
    print(f"{'budget':>7} {'one choice':>11} {'trees first':>12} {'indexes first':>14}")
    problem = synthetic(200, 30, 12, seed=1)
    whole = sum(problem.size_bytes.values())
    for ratio in BUDGET_RATIOS:
        budget = ratio * whole
        found = problem.solved(arguments.seconds, budget=budget)
        saved = problem.saving(found.indexes, found.answers)
        others = [
            one_after_the_other(problem, arguments.seconds, budget, trees_first=first) / saved
            for first in (True, False)
        ]
        print(f"{ratio:7.0%} {saved / problem.entries:11.1%} {others[0]:12.1%} {others[1]:14.1%}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
