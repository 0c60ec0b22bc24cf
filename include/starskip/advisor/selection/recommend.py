"""From votes to the recommendation of one table: the chosen set, the curve over K, the refusals.

Adaptive K (Automated Inverted Index Recommendation, II.3 C, "when the marginal gain is smaller than a portion
G0 … we will stop"): of all K up to the limit, the K is taken at which the saving, less ``min_gain_ratio`` an
index, is largest. If gains shrink from index to index, this is the document's rule; if two indexes only help
together, it does not stop before the pair. It stops earlier if the queries scan as few entries as desired
(III.1).

Advice does not flap: an index of the last advice stays until another one saves ``switch_gain_ratio`` more in
its place, so that near-equal sets do not take turns from night to night. It goes once it adds
``switch_gain_ratio`` less than a new index has to add, or less than half of that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from starskip.advisor.families.families import reorders
from starskip.advisor.families.index import Index
from starskip.advisor.families.verdict import Reason, Verdict, chosen, refused
from starskip.advisor.selection.choice import Choice, ChoiceLimits, choose
from starskip.advisor.selection.entries_percentile import entries_percentile
from starskip.advisor.selection.recommendation import (
    Budget,
    CurvePoint,
    Entries,
    Recommendation,
    Stop,
)
from starskip.advisor.selection.saving_interval import SavingInterval, saving_interval
from starskip.advisor.selection.vote_list import IndexSet, VoteList, total_saving
from starskip.number_text import saves


def recommend(
    lists: Sequence[VoteList],
    entries: Entries,
    budget: Budget,
    *,
    ranked: Sequence[Index] | None = None,
    size_bytes: Mapping[Index, int] | None = None,
    kept: IndexSet = frozenset(),
    found: IndexSet = frozenset(),
    whole: Sequence[VoteList] | None = None,
) -> Recommendation:
    """Choose among the indexes that ``lists`` vote for.

    ``ranked``: a baseline's order, best first; its first K are the set of size K, instead of the best set.
    ``size_bytes``: bytes of each index; an index without a size fits no budget. ``kept``: the indexes of the
    last advice; former candidates among them are ignored. With them the set of a size may save up to
    ``switch_gain_ratio`` less than the best set. ``found``: a good set, which is taken if time ends before a
    better one is found. ``whole``: the votes of all queries, those that a chosen answer serves included;
    what indexes save by themselves is told by them, so that it does not hang on the answers beside them.
    """
    kept = frozenset() if ranked is not None else kept
    task = _Task(lists, entries, budget, size_bytes or {}, kept, found, lists if whole is None else whole)
    curve = _ranked_curve(task, ranked) if ranked is not None else _curve(task)
    best = _best_point(curve, task)
    while best is not None and (idle := outlived(lists, entries, budget, task.kept, best.indexes)):
        task = replace(task, kept=task.kept - idle)
        curve = _curve(task)
        best = _best_point(curve, task)
    indexes = best.indexes if best else ()
    enough = _enough([(), *(point.indexes for point in curve)], task)
    is_enough = enough is not None and len(enough) < len(indexes)
    if enough is not None and is_enough:
        indexes = enough
    return Recommendation(
        chosen=_chosen(task, indexes),
        saving=_saving(replace(task, lists=task.whole), indexes),
        curve=tuple(curve),
        stop=Stop.DESIRABLE_ENTRIES if is_enough else _stop(curve, best, task),
        refused=_refused(task, frozenset(indexes), is_enough=is_enough),
        gap_ratio=best.gap_ratio if best else 0.0,
        bound=best.bound if best else 0.0,
    )


def told_in(
    recommendation: Recommendation,
    whole: Sequence[VoteList],
    entries: Entries,
    budget: Budget,
    size_bytes: Mapping[Index, int],
) -> Recommendation:
    """Return the recommendation with the savings of its chosen indexes by other votes, such as in entries."""
    task = _Task(whole, entries, budget, size_bytes, frozenset(), frozenset(), whole)
    indexes = [each.index for each in recommendation.chosen]
    return replace(recommendation, chosen=_chosen(task, indexes), saving=_saving(task, indexes))


@dataclass(frozen=True, slots=True)
class _Task:
    """Inputs of one recommendation."""

    lists: Sequence[VoteList]
    entries: Entries
    budget: Budget
    size_bytes: Mapping[Index, int]
    kept: IndexSet
    found: IndexSet
    whole: Sequence[VoteList]

    @property
    def candidates(self) -> IndexSet:
        return frozenset().union(*(votes.indexes for votes in self.lists)) if self.lists else frozenset()

    def saving_ratio(self, chosen: Collection[Index]) -> float:
        return total_saving(self.lists, chosen) / max(self.entries.total, 1.0)

    def by_itself_ratio(self, chosen: Collection[Index]) -> float:
        return total_saving(self.whole, chosen) / max(self.entries.total, 1.0)

    def best_set(self, k: int, *, is_steady: bool = True) -> tuple[IndexSet, float, float]:
        """Return the best set of at most ``k``, the share by which another could be better, and the bound.

        A steady set prefers the indexes of the last advice.
        """
        switch = self.budget.switch_gain_ratio * self.entries.total if is_steady else 0.0
        upkeep = dict.fromkeys(self.kept & self.candidates, -switch) if switch else {}
        limits = ChoiceLimits(
            k,
            storage_bytes=self.budget.storage_bytes,
            size_bytes=self.size_bytes,
            time_s=self.budget.time_s / max(self.budget.max_indexes, 1),
        )
        choice = choose(self.lists, limits, upkeep_entries=upkeep)
        found = self.found & self.candidates
        if choice.gap_ratio and len(found) <= k and self.fits(found):
            worth = total_saving(self.lists, found) - sum(upkeep.get(item, 0.0) for item in found)
            if worth > choice.worth:
                better = Choice(found, (), worth, max(choice.bound, worth))
                return found, better.gap_ratio, better.bound
        return choice.indexes, choice.gap_ratio, choice.bound

    def fits(self, chosen: Collection[Index]) -> bool:
        limit = self.budget.storage_bytes
        return limit is None or sum(self.size_bytes.get(item, limit + 1) for item in chosen) <= limit


def outlived(
    lists: Sequence[VoteList], entries: Entries, budget: Budget, kept: IndexSet, chosen: Collection[Index]
) -> IndexSet:
    """Return the ``kept`` index that adds least to the other chosen ones, if too little to stay."""
    whole = total_saving(lists, chosen)
    added = {item: whole - total_saving(lists, set(chosen) - {item}) for item in sorted(kept & set(chosen))}
    least = min(added, key=added.__getitem__, default=None)
    stays = max(budget.min_gain_ratio - budget.switch_gain_ratio, budget.min_gain_ratio / 2)
    is_little = least is not None and added[least] / max(entries.total, 1.0) < stays
    return frozenset([least]) if least is not None and is_little else frozenset()


def _curve(task: _Task) -> list[CurvePoint]:
    points: list[CurvePoint] = []
    for k in range(1, min(task.budget.max_indexes, len(task.candidates)) + 1):
        best, gap_ratio, bound = task.best_set(k)
        if len(best) < k:
            # No set of this size beats the smaller ones; a larger one still may, if two indexes only help
            # together.
            continue
        indexes = ranked_set(task.lists, best)
        points.append(CurvePoint(k, indexes, _saving(task, indexes), gap_ratio, bound))
    return points


def _ranked_curve(task: _Task, ranked: Sequence[Index]) -> list[CurvePoint]:
    """Take a baseline's columns in its order, skipping each that the storage budget has no room for."""
    points: list[CurvePoint] = []
    taken: list[Index] = []
    for item in ranked:
        if len(taken) == task.budget.max_indexes:
            break
        if task.fits([*taken, item]):
            taken.append(item)
            points.append(CurvePoint(len(taken), tuple(taken), _saving(task, taken)))
    return points


def _best_point(curve: Sequence[CurvePoint], task: _Task) -> CurvePoint | None:
    best, best_net = None, 0.0
    for point in curve:
        stay = sum(item in task.kept for item in point.indexes)
        net = point.saving.ratio - task.budget.min_gain_ratio * point.k + task.budget.switch_gain_ratio * stay
        if net > best_net + 1e-12:
            best, best_net = point, net
    return best


def _enough(sets: Sequence[Sequence[Index]], task: _Task) -> tuple[Index, ...] | None:
    """Return the first of ``sets`` with which the queries scan as few entries as desired."""
    wanted = task.budget.desirable
    if wanted is None:
        return None
    for indexes in sets:
        lists = task.lists if wanted.lists is None else wanted.lists
        scanned = entries_percentile(lists, indexes, wanted.shapes, wanted.probability)
        if scanned <= wanted.entries:
            return tuple(indexes)
    return None


def _stop(curve: Sequence[CurvePoint], best: CurvePoint | None, task: _Task) -> Stop:
    indexes = best.indexes if best else ()
    if task.budget.storage_bytes is not None:
        left = task.candidates - frozenset(indexes)
        gains = {item: task.saving_ratio({*indexes, item}) - task.saving_ratio(indexes) for item in left}
        worth = {item for item, gain in gains.items() if gain >= task.budget.min_gain_ratio and gain > 0}
        if worth and not any(task.fits({*indexes, item}) for item in worth):
            return Stop.STORAGE_BUDGET
    if best is None:
        if not task.budget.max_indexes and task.candidates:
            return Stop.MAX_INDEXES
        return Stop.BELOW_MIN_GAIN if curve else Stop.NOTHING_TO_SAVE
    if best.k < curve[-1].k:
        return Stop.BELOW_MIN_GAIN
    return Stop.MAX_INDEXES if best.k == task.budget.max_indexes else Stop.NO_MORE_CANDIDATES


def _saving(task: _Task, indexes: Sequence[Index]) -> SavingInterval:
    return saving_interval(
        task.lists,
        indexes,
        entries=task.entries.total,
        entries_squared=task.entries.squared,
        model_error_ratio=task.budget.model_error_ratio,
    )


def ranked_set(lists: Sequence[VoteList], indexes: IndexSet) -> tuple[Index, ...]:
    """Return the set best first: each index adds the most to the indexes before it."""
    order: list[Index] = []
    rest = set(indexes)
    while rest:
        best = max(sorted(rest), key=lambda item: total_saving(lists, [*order, item]))
        order.append(best)
        rest.remove(best)
    return tuple(order)


def _chosen(task: _Task, indexes: Sequence[Index]) -> tuple[Verdict, ...]:
    found, before = [], 0.0
    for position, item in enumerate(indexes):
        after = task.by_itself_ratio(indexes[: position + 1])
        helped = {votes.shape_id for votes in task.whole if votes.saving(frozenset([item])).entries > 0}
        alone = task.by_itself_ratio([item])
        found.append(chosen(item, alone, after - before, len(helped), task.size_bytes.get(item)))
        before = after
    return tuple(found)


def _refused(task: _Task, built: IndexSet, *, is_enough: bool) -> tuple[Verdict, ...]:
    base = task.saving_ratio(built)
    # The set that would be chosen without a last advice.
    unsteady = task.best_set(len(built), is_steady=False)[0] if task.kept & built else frozenset()
    found = []
    for item in sorted(task.candidates - built):
        alone = task.by_itself_ratio([item])
        added = task.saving_ratio(built | {item}) - base
        if task.budget.storage_bytes is not None and item not in task.size_bytes:
            reason = Reason.SIZE_UNKNOWN
        elif item in unsteady:
            reason = Reason.NEAR_EQUAL
        elif is_enough and added >= task.budget.min_gain_ratio and added > 0:
            reason = Reason.BEYOND_DESIRABLE
        else:
            reason = _reason(alone, added, built, task.budget, fits=task.fits(built | {item}))
        detail = f"by itself it {saves(alone)} {task.budget.of_filters}"
        # A table has one order, and how it goes together with indexes is not simulated.
        detail += "" if reorders(item) else f", beside all that is chosen it {saves(added)}"
        found.append(refused(item, reason, detail, alone, task.size_bytes.get(item)))
    return tuple(sorted(found, key=lambda each: (-(each.individual_saving_ratio or 0.0), each.index)))


def _reason(alone: float, added: float, chosen: IndexSet, budget: Budget, *, fits: bool) -> Reason:
    if alone < 0:
        return Reason.READS_MORE_ENTRIES
    if alone == 0 and added <= 0:
        return Reason.SAVES_NOTHING
    if added >= budget.min_gain_ratio and added > 0:
        if len(chosen) >= budget.max_indexes:
            return Reason.OVER_MAX_INDEXES
        if not fits:
            return Reason.OVER_STORAGE_BUDGET
    return Reason.COVERED_BY_CHOSEN if alone >= budget.min_gain_ratio > added else Reason.BELOW_MIN_GAIN
