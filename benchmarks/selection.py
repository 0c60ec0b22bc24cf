"""Quality and time of the one choice of indexes on columns, star-trees and skipping indexes.

Prints, for synthetic votes of several sizes and for those of nights that ran here, the seconds and the gap of
the one choice; for small ones its worth beside that of every set enumerated; and, where the three compete for
bytes, its saving beside that of three choices made one after the other.

    make bench-selection
    make bench-selection ARGS="--store night/artefacts --seconds 10"
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, permutations
from random import Random
from time import perf_counter
from typing import TypeVar

from starskip.advisor.families.answer import AnswerCandidate
from starskip.advisor.families.column_indexes import INVERTED
from starskip.advisor.families.file_skips import FileSkips
from starskip.advisor.families.index import Index
from starskip.advisor.families.skipping.family import SKIPPING
from starskip.advisor.families.star_tree.family import STAR_TREE
from starskip.advisor.selection.choice import Choice, ChoiceLimits, choose
from starskip.advisor.selection.chosen_answers import skip_lists
from starskip.advisor.selection.vote_list import Saving, VoteList, building_lists, total_saving, vote_lists
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

MIN_GAIN_RATIO = 0.005
MOST_INDEXES = 8
MOST_TREES = 2
SIZES = (
    (50, 20, 0, 0),
    (200, 30, 0, 0),
    (400, 30, 0, 0),
    (400, 30, 10, 0),
    (400, 30, 10, 40),
    (2_000, 100, 40, 0),
    (2_000, 100, 40, 40),
)
"""Shapes, columns, candidate trees, candidate skipping indexes."""
PATTERNS_AN_INDEX = 25
ENUMERATED = 40
"""Small problems whose every set is tried."""
BUDGET_RATIOS = (0.1, 0.25, 0.5)


@dataclass(frozen=True)
class Problem:
    """Votes, trees, files spared and sizes of one table; ``entries``: all that its queries scan."""

    lists: Sequence[VoteList]
    trees: Sequence[AnswerCandidate]
    size_bytes: Mapping[Index, int]
    entries: float
    skips: FileSkips = field(default_factory=lambda: FileSkips(SKIPPING.name))

    def solved(self, seconds: float, *, most: int = MOST_INDEXES, budget: float | None = None) -> Choice:
        """Return the one choice."""
        sizes = {**self.size_bytes, **self.skips.size_bytes}
        limits = ChoiceLimits(
            most, {STAR_TREE.name: MOST_TREES}, budget, sizes, seconds, {SKIPPING.name: None}
        )
        lists = [*self.lists, *skip_lists([self.skips])]
        return choose(lists, limits, answers=self.trees, upkeep_entries=self.upkeep)

    @property
    def upkeep(self) -> dict[Index, float]:
        """Entries that each must save."""
        items = {*chain.from_iterable(votes.indexes for votes in self.lists)}
        others = [*(tree.index for tree in self.trees), *self.skips.must_gain_entries]
        return dict.fromkeys([*items, *others], MIN_GAIN_RATIO * self.entries)

    def saving(self, indexes: frozenset[Index], trees: Sequence[AnswerCandidate]) -> float:
        """Return the entries that a set saves: of a shape by the first tree that fits, else by indexes."""
        saved: dict[str, float] = {}
        for tree in sorted(trees, key=lambda each: each.rank):
            for shape, entries in tree.saving_entries.items():
                saved.setdefault(shape, entries)
        left = [votes for votes in self.lists if votes.shape_id not in saved]
        spared = sum(
            entries
            for sets, entries in self.skips.saving_entries.items()
            if any(needed <= indexes for needed in sets)
        )
        return sum(saved.values()) + total_saving(left, indexes) + spared

    def size(self, found: Choice) -> float:
        """Return the bytes of what was chosen."""
        sizes = {**self.size_bytes, **self.skips.size_bytes}
        return sum(sizes[index] for index in found.indexes) + sum(a.size_bytes or 0.0 for a in found.answers)

    def worth(self, indexes: frozenset[Index], trees: Sequence[AnswerCandidate]) -> float:
        """Return the saving less what each member must save."""
        return self.saving(indexes, trees) - MIN_GAIN_RATIO * self.entries * (len(indexes) + len(trees))


def synthetic(shapes: int, columns: int, trees: int, files: int, seed: int) -> Problem:
    """Return queries that AND one to five columns, some asked far oftener than others.

    ``files``: skipping indexes, singly and in pairs, each of which spares some groups of files.
    """
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
    total = sum(entries.values())
    return Problem(lists, found, sizes, total, _skips(random, files, total))


def _skips(random: Random, count: int, total: float) -> FileSkips:
    items = [Index(SKIPPING.name, f"minmax:f{number}") for number in range(count)]
    saving: dict[frozenset[frozenset[Index]], float] = {}
    for _ in range(count * PATTERNS_AN_INDEX):
        sets = (random.sample(items, k=random.choice([1, 1, 1, 2])) for _ in range(random.randint(1, 3)))
        spared = total * random.random() ** 3 / (count * PATTERNS_AN_INDEX)
        pattern = frozenset(map(frozenset, sets))
        saving[pattern] = saving.get(pattern, 0.0) + spared
    sizes = {each: round(10 ** random.uniform(4, 8)) for each in items}
    return FileSkips(SKIPPING.name, saving, dict.fromkeys(items, 0.0), sizes)


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
    for built in _subsets(indexes, most):
        for trees in _subsets(problem.trees, min(MOST_TREES, most - len(built))):
            for files in _subsets(sorted(problem.skips.must_gain_entries), len(problem.skips.size_bytes)):
                best = max(best, problem.worth(frozenset([*built, *files]), trees))
    return best


_Item = TypeVar("_Item")


def _subsets(items: Sequence[_Item], most: int) -> Iterator[tuple[_Item, ...]]:
    return chain.from_iterable(combinations(items, count) for count in range(most + 1))


def one_after_the_other(problem: Problem, seconds: float, budget: float, order: Sequence[str]) -> float:
    """Return what three choices save that share the bytes, each made for itself, in their order."""
    left, indexes, trees = budget, frozenset[Index](), tuple[AnswerCandidate, ...]()
    for family in order:
        served = {shape for tree in trees for shape in tree.saving_entries}
        part = Problem(
            [v for v in problem.lists if v.shape_id not in served] if family == "indexes" else (),
            problem.trees if family == "trees" else (),
            problem.size_bytes,
            problem.entries,
            problem.skips if family == "files" else FileSkips(SKIPPING.name),
        )
        taken = len(trees) + sum(index.family != SKIPPING.name for index in indexes)
        found = part.solved(seconds, most=MOST_INDEXES - taken, budget=left)
        left -= problem.size(found)
        indexes, trees = indexes | found.indexes, trees + found.answers
    return problem.saving(indexes, trees)


def main() -> int:
    """Print the tables; exit code 1 where the one choice is worse than enumeration."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit of a choice")
    parser.add_argument("--store", default="", help="artefacts of nights whose votes are chosen among, too")
    arguments = parser.parse_args()
    heads = f"{'shapes':>7} {'columns':>8} {'trees':>6} {'skipping':>9} {'seconds':>8} {'gap':>8}"
    print(f"{heads} {'saving':>7} indexes trees")
    problems = [(f"{s:>7} {c:>8} {t:>6} {f:>9}", synthetic(s, c, t, f, seed=0)) for s, c, t, f in SIZES]
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
        problem = synthetic(12, 7, 4, 4, seed)
        found = problem.solved(arguments.seconds, most=3)
        worse += problem.worth(found.indexes, found.answers) < enumerated(problem, 3) * (1 - 1e-9)
    print(f"\nagainst every set enumerated: {ENUMERATED - worse} of {ENUMERATED} worth as much")
    print(
        "\none budget of bytes: saving of the one choice, and of three choices made in turn as a share of it"
    )
    orders = list(permutations(("trees", "indexes", "files")))
    print(f"{'budget':>7} {'one choice':>11} " + " ".join(f"{', '.join(order):>22}" for order in orders))
    problem = synthetic(200, 30, 12, 12, seed=1)
    whole = sum(problem.size_bytes.values()) + sum(problem.skips.size_bytes.values())
    for ratio in BUDGET_RATIOS:
        budget = ratio * whole
        found = problem.solved(arguments.seconds, budget=budget)
        saved = problem.saving(found.indexes, found.answers)
        others = [one_after_the_other(problem, arguments.seconds, budget, each) / saved for each in orders]
        shares = " ".join(f"{each:22.1%}" for each in others)
        print(f"{ratio:7.0%} {saved / (2 * problem.entries):11.1%} {shares}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
