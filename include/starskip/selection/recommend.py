"""From votes to the recommendation of one table: the chosen set, the curve over K, the refusals.

Adaptive K (seed 000, II.3 C: "when the marginal gain is smaller than a portion G0 … we will stop"):
of all K up to the limit the one is taken where the saving, less ``min_gain_ratio`` an index, is
largest. Where gains shrink from index to index that is the seed's rule; where two indexes only
help together it does not stop before the pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from starskip.scoring.structure import Structure
from starskip.selection.k_selection import k_selection
from starskip.selection.saving_interval import SavingInterval, saving_interval
from starskip.selection.vote_list import StructureSet, VoteList, total_saving


class Refusal(Enum):
    """Why a structure is not recommended."""

    NO_SEGMENTS = "no_segments"
    NO_DICTIONARY = "no_dictionary"
    MULTI_VALUE = "multi_value"
    ALREADY_INDEXED = "already_indexed"
    ALREADY_SORTED = "already_sorted"
    UNKNOWN_COLUMN = "unknown_column"
    PREDICATE_NOT_SERVED = "predicate_not_served"
    SAVES_NOTHING = "saves_nothing"
    MAKES_QUERIES_SLOWER = "makes_queries_slower"
    BELOW_MIN_GAIN = "below_min_gain"
    COVERED_BY_CHOSEN = "covered_by_chosen"
    OVER_MAX_INDEXES = "over_max_indexes"


class Stop(Enum):
    """Why the curve over K ends where it does."""

    BELOW_MIN_GAIN = "below_min_gain"
    MAX_INDEXES = "max_indexes"
    NO_MORE_CANDIDATES = "no_more_candidates"
    NOTHING_TO_SAVE = "nothing_to_save"


@dataclass(frozen=True, slots=True)
class Budget:
    """``max_indexes``: K, an upper bound; ``min_gain_ratio``: share of all entries an index must add."""

    max_indexes: int
    min_gain_ratio: float
    model_error_ratio: float


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries scanned in filter by all of a table's queries, and the sum over queries of their squares."""

    total: float
    squared: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The best set of at most ``k`` structures, ranked, with its saving."""

    k: int
    structures: tuple[Structure, ...]
    saving: SavingInterval


@dataclass(frozen=True, slots=True)
class Chosen:
    """A chosen structure; ratios of all entries: what it saves alone, and beyond those ranked before it."""

    structure: Structure
    individual_saving_ratio: float
    progressive_saving_ratio: float
    shapes_helped: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A structure that is not recommended, why, and a sentence with the figures."""

    structure: Structure
    reason: Refusal
    detail: str
    individual_saving_ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The advice for one table."""

    chosen: tuple[Chosen, ...]
    saving: SavingInterval
    curve: tuple[CurvePoint, ...]
    stop: Stop
    refused: tuple[Refused, ...]


def recommend(
    lists: Sequence[VoteList],
    entries: Entries,
    budget: Budget,
    *,
    ranked: Sequence[Structure] | None = None,
) -> Recommendation:
    """Choose among the structures that ``lists`` vote for.

    ``ranked``: a baseline's order, best first; its first K are the set of size K, instead of the best one.
    """
    curve = _curve(lists, entries, budget, ranked)
    best = _best_point(curve, budget.min_gain_ratio)
    structures = best.structures if best else ()
    chosen = _chosen(lists, structures, entries)
    return Recommendation(
        chosen=chosen,
        saving=_saving(lists, structures, entries, budget),
        curve=tuple(curve),
        stop=_stop(curve, best, budget),
        refused=_refused(lists, frozenset(structures), entries, budget),
    )


def _curve(
    lists: Sequence[VoteList], entries: Entries, budget: Budget, ranked: Sequence[Structure] | None
) -> list[CurvePoint]:
    points: list[CurvePoint] = []
    for k in range(1, budget.max_indexes + 1):
        best = frozenset(ranked[:k]) if ranked is not None else k_selection(lists, k).chosen
        if len(best) < k:
            # No set of this size beats the smaller ones; a larger one still may, if two only help together.
            continue
        structures = tuple(ranked[:k]) if ranked is not None else _ranked(lists, best)
        points.append(CurvePoint(k, structures, _saving(lists, structures, entries, budget)))
    return points


def _best_point(curve: Sequence[CurvePoint], min_gain_ratio: float) -> CurvePoint | None:
    best, best_net = None, 0.0
    for point in curve:
        net = point.saving.ratio - min_gain_ratio * point.k
        if net > best_net + 1e-12:
            best, best_net = point, net
    return best


def _stop(curve: Sequence[CurvePoint], best: CurvePoint | None, budget: Budget) -> Stop:
    if best is None:
        return Stop.BELOW_MIN_GAIN if curve else Stop.NOTHING_TO_SAVE
    if best.k < curve[-1].k:
        return Stop.BELOW_MIN_GAIN
    return Stop.MAX_INDEXES if best.k == budget.max_indexes else Stop.NO_MORE_CANDIDATES


def _saving(
    lists: Sequence[VoteList], structures: Sequence[Structure], entries: Entries, budget: Budget
) -> SavingInterval:
    return saving_interval(
        lists,
        structures,
        entries=entries.total,
        entries_squared=entries.squared,
        model_error_ratio=budget.model_error_ratio,
    )


def _ranked(lists: Sequence[VoteList], structures: StructureSet) -> tuple[Structure, ...]:
    """Return the set best first: each adds the most to those before it."""
    order: list[Structure] = []
    rest = set(structures)
    while rest:
        best = max(sorted(rest), key=lambda item: total_saving(lists, [*order, item]))
        order.append(best)
        rest.remove(best)
    return tuple(order)


def _chosen(
    lists: Sequence[VoteList], structures: Sequence[Structure], entries: Entries
) -> tuple[Chosen, ...]:
    total = max(entries.total, 1.0)
    chosen, before = [], 0.0
    for position, item in enumerate(structures):
        after = total_saving(lists, structures[: position + 1])
        helped = {votes.shape_id for votes in lists if votes.saving(frozenset([item])).entries > 0}
        chosen.append(
            Chosen(item, total_saving(lists, [item]) / total, (after - before) / total, len(helped))
        )
        before = after
    return tuple(chosen)


def _refused(
    lists: Sequence[VoteList], chosen: StructureSet, entries: Entries, budget: Budget
) -> tuple[Refused, ...]:
    candidates = frozenset().union(*(votes.structures for votes in lists)) - chosen if lists else frozenset()
    total = max(entries.total, 1.0)
    base = total_saving(lists, chosen)
    refused = []
    for item in sorted(candidates):
        alone = total_saving(lists, [item]) / total
        added = (total_saving(lists, chosen | {item}) - base) / total
        reason = _reason(alone, added, chosen, budget)
        detail = f"saves {alone:.2%} of the entries scanned by itself, {added:+.2%} beside the chosen indexes"
        refused.append(Refused(item, reason, detail, alone))
    return tuple(sorted(refused, key=lambda r: (-r.individual_saving_ratio, r.structure)))


def _reason(alone: float, added: float, chosen: StructureSet, budget: Budget) -> Refusal:
    if alone < 0:
        return Refusal.MAKES_QUERIES_SLOWER
    if alone == 0 and added <= 0:
        return Refusal.SAVES_NOTHING
    if added >= budget.min_gain_ratio and len(chosen) >= budget.max_indexes and added > 0:
        return Refusal.OVER_MAX_INDEXES
    return Refusal.COVERED_BY_CHOSEN if alone >= budget.min_gain_ratio > added else Refusal.BELOW_MIN_GAIN
