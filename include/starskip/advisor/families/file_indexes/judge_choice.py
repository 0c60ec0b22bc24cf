"""Offer indexes of files to the one choice, and judge the saving of each.

See "Extensible Data Skipping", IV-B, problem 8. The paper adds up the benefits of indexes as if they were
independent, and remarks that they are not (remark 10). Here the saving of a set is the bytes that its indexes
skip together, each file of a query once. The choice itself is made in ``advisor/selection/``, among all
families.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starskip.advisor.families.file_indexes.index_choice import FileIndexLimits, IndexChoice
from starskip.advisor.families.file_indexes.skip_patterns import SkipPatterns
from starskip.advisor.families.file_skips import FileSkips
from starskip.advisor.families.index import Index
from starskip.advisor.families.verdict import Reason, Verdict, refused
from starskip.advisor.families.verdict import chosen as chosen_index
from starskip.number_text import saves, share, size

MAX_PATTERNS = 10_000

Positions = npt.NDArray[np.int64]
Amounts = npt.NDArray[np.float64]


# The choice of indexes is a weighted coverage problem over skip patterns, in arrays.
@dataclass(frozen=True, slots=True)
class Coverage:
    """Patterns as pairs (pattern, bundle); a bundle is a set of indexes, by position in ``indexes``.

    ``must``: the least saving of each index, negative for an index of the last choice. ``sizes``: bytes.
    """

    indexes: tuple[str, ...]
    bundles: tuple[frozenset[int], ...]
    pattern_of_pair: Positions
    bundle_of_pair: Positions
    weights: Amounts
    must: Amounts
    sizes: tuple[int, ...]
    budget_bytes: int | None

    def saving(self, chosen: Collection[int]) -> float:
        """Return the saving of a set of indexes."""
        held = frozenset(chosen)
        built = np.fromiter((bundle <= held for bundle in self.bundles), np.bool_, len(self.bundles))
        covered = np.zeros(len(self.weights), np.bool_)
        covered[self.pattern_of_pair[built[self.bundle_of_pair]]] = True
        return float(self.weights[covered].sum())

    def fits(self, chosen: Collection[int]) -> bool:
        """Return whether a set fits the budget exactly."""
        return self.budget_bytes is None or self.size_bytes(chosen) <= self.budget_bytes

    def size_bytes(self, chosen: Collection[int]) -> int:
        """Return the size of a set."""
        return sum(self.sizes[number] for number in chosen)


def coverage(
    patterns: SkipPatterns, must: Mapping[str, float], sizes: Mapping[str, int], budget_bytes: int | None
) -> Coverage:
    """Build the problem for the indexes in ``must``; bundles with other indexes are dropped."""
    indexes = tuple(sorted(must))
    rank = {index: number for number, index in enumerate(indexes)}
    bundles: dict[frozenset[int], int] = {}
    pairs: list[tuple[int, int]] = []
    weights: list[float] = []
    for pattern in sorted(patterns.weights, key=lambda item: sorted(map(sorted, item))):
        usable = sorted(sorted(rank[index] for index in part) for part in pattern if part <= rank.keys())
        if usable:
            pairs += [(len(weights), bundles.setdefault(frozenset(part), len(bundles))) for part in usable]
            weights.append(patterns.weights[pattern])
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return Coverage(
        indexes=indexes,
        bundles=tuple(bundles),
        pattern_of_pair=columns[:, 0],
        bundle_of_pair=columns[:, 1],
        weights=np.array(weights, np.float64),
        must=np.array([must[index] for index in indexes], np.float64),
        sizes=tuple(sizes.get(index, 0) for index in indexes),
        budget_bytes=budget_bytes,
    )


@dataclass(frozen=True, slots=True)
class FileIndexTask:
    """Candidates of one family for indexes of one table's files, their sizes and limits.

    ``sizes``: bytes of the candidates, None if unknown: a candidate of unknown size fits no budget. ``kept``:
    the last choice. ``rows_a_byte``: the table's rows for each byte, which converts bytes to rows; 1 if the
    patterns count rows. ``family``: the candidates' family.
    """

    patterns: SkipPatterns
    sizes: Mapping[str, int | None]
    limits: FileIndexLimits
    family: str
    kept: Collection[str] = ()
    rows_a_byte: float = 1.0

    def must(self) -> dict[str, float]:
        """Return the bytes that each candidate must save; candidates that fit no budget are left out."""
        budget, total = self.limits.budget_bytes, self.patterns.total
        return {
            index: total * (self.limits.min_gain_ratio - self.limits.switch_gain_ratio * (index in self.kept))
            for index, size in self.sizes.items()
            if budget is None or (size is not None and size <= budget)
        }

    def offer(self) -> FileSkips:
        """Return the candidates as the one choice takes them, in rows in place of bytes.

        If there are more than ``MAX_PATTERNS`` patterns, the lightest are left out; their weight is
        negligible. Raises ValueError for a size below 0.
        """
        known = {self._index(name): float(size) for name, size in self.sizes.items() if size is not None}
        if any(size < 0 for size in known.values()):
            raise ValueError("sizes of indexes are 0 or more")
        heaviest = sorted(
            self.patterns.weights.items(), key=lambda each: (-each[1], sorted(map(sorted, each[0])))
        )
        budget = self.limits.budget_bytes
        return FileSkips(
            self.family,
            {
                frozenset(frozenset(map(self._index, names)) for names in pattern): weight * self.rows_a_byte
                for pattern, weight in heaviest[:MAX_PATTERNS]
            },
            {self._index(name): least * self.rows_a_byte for name, least in self.must().items()},
            known,
            None if budget is None else float(budget),
        )

    def _left_out(self) -> float:
        return sum(sorted(self.patterns.weights.values())[:-MAX_PATTERNS])

    def judged(self, chosen: Collection[Index], gap_ratio: float) -> IndexChoice:
        """Return the saving of each chosen index, and why the other candidates are refused.

        ``chosen``: indexes of ``offer`` that the one choice took; indexes of other families are ignored.
        ``gap_ratio``: by how much another choice could be better.
        """
        known = {name: size for name, size in self.sizes.items() if size is not None}
        found = coverage(self.patterns, self.must(), known, self.limits.budget_bytes)
        number = {name: position for position, name in enumerate(found.indexes)}
        taken = frozenset(number[each.column] for each in chosen if each.family == self.family)
        return IndexChoice(
            chosen=self._ranked(found, taken),
            refused=_refused_indexes(found, taken, self.patterns, self.sizes, self.family),
            total=self.patterns.total,
            saving=found.saving(taken),
            size_bytes=found.size_bytes(taken),
            gap_ratio=max(gap_ratio, self._left_out() / (found.saving(taken) + self._left_out() or 1.0)),
            patterns=len(self.patterns.weights),
        )

    def _index(self, specification: str) -> Index:
        return Index(self.family, specification)

    def _ranked(self, task: Coverage, chosen: frozenset[int]) -> tuple[Verdict, ...]:
        total = self.patterns.total or 1.0
        ranked: list[Verdict] = []
        before: frozenset[int] = frozenset()
        while left := chosen - before:
            saved = task.saving(before)
            best = max(sorted(left), key=lambda each: task.saving(before | {each}))
            index = task.indexes[best]
            ranked.append(
                chosen_index(
                    self._index(index),
                    individual_saving_ratio=task.saving([best]) / total,
                    progressive_saving_ratio=(task.saving(before | {best}) - saved) / total,
                    size_bytes=self.sizes[index],
                )
            )
            before |= {best}
        return tuple(ranked)


def _refused_indexes(
    task: Coverage,
    chosen: frozenset[int],
    patterns: SkipPatterns,
    sizes: Mapping[str, int | None],
    family: str,
) -> tuple[Verdict, ...]:
    """Return a refusal for each candidate (a key of ``sizes``) that is not chosen, in their order."""
    rank = {index: number for number, index in enumerate(task.indexes)}
    found = []
    for index in sorted(sizes):
        number = rank.get(index)
        if number is not None and number in chosen:
            continue
        if number is None:
            alone = _alone(patterns, index)
            reason, detail = _cannot_fit(sizes[index], task.budget_bytes)
        else:
            alone = task.saving([number])
            reason, detail = _reason(task, chosen, number, patterns)
        ratio = alone / (patterns.total or 1.0)
        found.append(refused(Index(family, index), reason, detail, ratio, sizes[index]))
    return tuple(found)


def _alone(patterns: SkipPatterns, index: str) -> float:
    return sum(weight for pattern, weight in patterns.weights.items() if frozenset([index]) in pattern)


def _cannot_fit(size_bytes: int | None, budget: int | None) -> tuple[Reason, str]:
    if size_bytes is None:
        return Reason.SIZE_UNKNOWN, "its size is not known, so that it may not fit the budget"
    return Reason.OVER_STORAGE_BUDGET, f"takes {size(size_bytes)} by itself, the budget is {size(budget)}"


def _reason(
    task: Coverage, chosen: frozenset[int], number: int, patterns: SkipPatterns
) -> tuple[Reason, str]:
    index = task.indexes[number]
    total = patterns.total or 1.0
    must = max(float(task.must[number]), 0.0)
    alone = task.saving([number])
    added = task.saving(chosen | {number}) - task.saving(chosen)
    figures = (
        f"by itself it {saves(alone / total)} of all data read, "
        f"beside the chosen indexes it {saves(added / total)}"
    )
    reachable = patterns.reachable.get(index, 0.0)
    partners = _partners(task, number)
    if index not in patterns.reachable:
        return Reason.NO_QUERY, "no query has a predicate that it could skip by"
    if added > must and not task.fits(chosen | {number}):
        return Reason.OVER_STORAGE_BUDGET, f"{figures}, which is more a byte: it does not fit any more"
    if alone > must and added < alone:
        return (
            Reason.COVERED_BY_CHOSEN,
            f"{figures}: {_covering(task, chosen, number)} skips mostly the same files",
        )
    if reachable is not None and reachable <= must:
        return Reason.LAYOUT, (
            "matching rows lie in nearly all files: perfect metadata would save"
            f" {share(reachable / total)} of all data read, so that only another layout helps"
        )
    if alone <= 0 and partners:
        return Reason.NEEDS_ANOTHER, f"skips only together with {partners}, and not enough for both"
    if alone <= 0:
        return Reason.SAVES_NOTHING, "no file can be skipped by it"
    return Reason.BELOW_MIN_GAIN, f"{figures}; the least gain is {share(must / total)}"


def _covering(task: Coverage, chosen: frozenset[int], number: int) -> str:
    """Return the chosen index that skips most of the same files."""
    alone = task.saving([number])
    shared = {each: alone + task.saving([each]) - task.saving([each, number]) for each in sorted(chosen)}
    best = max(shared, key=lambda each: shared[each], default=None)
    return task.indexes[best] if best is not None else "the chosen set"


def _partners(task: Coverage, number: int) -> str:
    others = [bundle - {number} for bundle in task.bundles if number in bundle and len(bundle) > 1]
    return " and ".join(task.indexes[each] for each in sorted(sorted(others, key=len)[0])) if others else ""
