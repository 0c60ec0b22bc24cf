"""The one choice: the set of indexes and answers of all families that is worth most within the limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isinf
from time import monotonic

import numpy as np

from starskip.advisor.families.answer import AnswerCandidate
from starskip.advisor.families.families import reorders
from starskip.advisor.families.index import Index
from starskip.advisor.selection.choice_items import Amounts, ChoiceItems, Flags, choice_items
from starskip.advisor.selection.greedy_set import LinearLimits, greedy_set
from starskip.advisor.selection.programme import Solved, solve
from starskip.advisor.selection.set_values import SetValues, set_values
from starskip.advisor.selection.vote_list import IndexSet, VoteList

TIME_S = 10.0
_EQUAL_RATIO = 1e-9
_GREEDY_TIME_RATIO = 0.3
_POLISH_TIME_RATIO = 0.05
_MOST_CUTS = 20


@dataclass(frozen=True, slots=True)
class ChoiceLimits:
    """Limits of a choice.

    ``max_indexes``: indexes on columns and answers, together; one of the indexes may be a sort order.
    ``max_answers``: answers by their family. ``storage_bytes``: all
    together, None for no limit; an index without a size in ``size_bytes`` exceeds any limit. ``time_s``:
    seconds of the whole choice, after which the best set found is taken. ``file_bytes``: by family of indexes
    of files, whose number is not limited, the bytes for them; None for no limit.
    """

    max_indexes: int
    max_answers: Mapping[str, int] = field(default_factory=dict)
    storage_bytes: float | None = None
    size_bytes: Mapping[Index, float] = field(default_factory=dict)
    time_s: float = TIME_S
    file_bytes: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen indexes and answers, their worth (savings less upkeep), and a bound on the worth.

    ``added``: for each answer that is not chosen, by how much adding it would change the worth.
    """

    indexes: IndexSet
    answers: tuple[AnswerCandidate, ...]
    worth: float
    bound: float
    added: Mapping[Index, float] = field(default_factory=dict)

    @property
    def gap_ratio(self) -> float:
        """Share of the bound by which a set could be better; 0 if none is, infinite if unknown."""
        gap = self.bound - self.worth
        if isinf(gap):
            return inf
        return gap / self.bound if gap > _EQUAL_RATIO * abs(self.bound) else 0.0


def choose(
    lists: Sequence[VoteList],
    limits: ChoiceLimits,
    *,
    answers: Sequence[AnswerCandidate] = (),
    upkeep_entries: Mapping[Index, float] | None = None,
) -> Choice:
    """Return the best set; the order of ``lists`` and ``answers`` changes nothing.

    ``upkeep_entries``: by index or answer, the entries that it must pay back; a negative number favours it
    among those that save something. An index or answer that adds nothing is never chosen. If two indexes save
    the same in a set, the smaller one is taken.
    """
    deadline = monotonic() + limits.time_s
    if limits.storage_bytes is not None or not limits.file_bytes:
        return _chosen(lists, limits, answers, upkeep_entries, deadline)
    # Indexes of files share nothing with the rest, so each part is a smaller programme.
    parts: dict[str, list[VoteList]] = {"": []}
    for votes in lists:
        family = min(votes.indexes).family
        parts.setdefault(family if family in limits.file_bytes else "", []).append(votes)
    others = []
    for number, family in enumerate(sorted(parts.keys() - {""})):
        now = monotonic()
        # Each part gets an even share of the remaining time: unused time goes to the next parts.
        until = now + (deadline - now) / (len(parts) - number)
        others.append(_chosen(parts[family], limits, (), upkeep_entries, until))
    main = _chosen(parts[""], limits, answers, upkeep_entries, deadline)
    return Choice(
        indexes=main.indexes.union(*(each.indexes for each in others)),
        answers=main.answers,
        worth=main.worth + sum(each.worth for each in others),
        bound=main.bound + sum(each.bound for each in others),
        added=main.added,
    )


def _chosen(
    lists: Sequence[VoteList],
    limits: ChoiceLimits,
    answers: Sequence[AnswerCandidate],
    upkeep_entries: Mapping[Index, float] | None,
    deadline: float,
) -> Choice:
    """Return the best set found until ``deadline``: greedily, by the solver, and then polished."""
    time_s = deadline - monotonic()
    items = choice_items(lists, answers)
    if not items.indexes and not items.answers:
        return Choice(frozenset(), (), 0.0, 0.0)
    values = set_values(items, upkeep_entries or {})
    linear = _linear_limits(items, limits)
    while True:
        start = greedy_set(values, linear, time_s * _GREEDY_TIME_RATIO)
        solved = _solved(values, linear, start, deadline - time_s * _POLISH_TIME_RATIO)
        found = [start] if solved.chosen is None else [start, solved.chosen]
        taken = max(found, key=lambda chosen: float(values.worth(chosen[None, :])[0]))
        taken = _smallest_twins(values, linear, taken, limits, deadline)
        best = _without_idle(values, taken)
        favoured = taken & ~best & (values.costs < 0)
        if not favoured.any():
            break
        # Their favour took the place of others, and they save nothing.
        values = replace(values, costs=np.where(favoured, 0.0, values.costs))
        time_s = max(deadline - monotonic(), 0.0)
    worth = float(values.worth(best[None, :])[0])
    bound = max(solved.bound, worth)
    return Choice(
        indexes=frozenset(index for index, taken in zip(items.indexes, best, strict=False) if taken),
        answers=tuple(
            answer for answer, taken in zip(items.answers, best[len(items.indexes) :], strict=True) if taken
        ),
        worth=worth,
        bound=worth if solved.is_proven else bound,
        added=_added(values, best, worth),
    )


def _added(values: SetValues, chosen: Flags, worth: float) -> Mapping[Index, float]:
    first = len(values.items.indexes)
    others = [each for each in range(first, values.variables) if not chosen[each]]
    larger = np.repeat(chosen[None, :], len(others), axis=0)
    larger[np.arange(len(others)), others] = True
    gains = values.worth(larger) - worth
    return {
        values.items.answers[each - first].index: float(gain)
        for each, gain in zip(others, gains, strict=True)
    }


def _solved(values: SetValues, limits: LinearLimits, start: Flags, deadline: float) -> Solved:
    cut = limits
    for _ in range(_MOST_CUTS):
        solved = solve(values, cut, start, deadline - monotonic())
        if solved.chosen is None or limits.allow(solved.chosen[None, :])[0]:
            return solved
        # Some bytes too many, within the solver's tolerance: exclude this set and every set that holds it.
        row = solved.chosen.astype(np.float64)
        cut = replace(
            cut, amounts=np.vstack([cut.amounts, row]), at_most=np.append(cut.at_most, row.sum() - 1.0)
        )
    return Solved(None, solved.bound, is_proven=False)


def _linear_limits(items: ChoiceItems, limits: ChoiceLimits) -> LinearLimits:
    first, variables = len(items.indexes), len(items.indexes) + len(items.answers)
    families = np.array([each.family for each in items.indexes] + [a.index.family for a in items.answers])
    is_answer = np.arange(variables) >= first
    counts: list[tuple[Amounts | Flags, float]] = [
        (is_answer | ~np.isin(families, list(limits.file_bytes)), float(limits.max_indexes))
    ]
    orders = np.array([*map(reorders, items.indexes), *(False for _ in items.answers)], np.bool_)
    if orders.any():
        # Rows have one order.
        counts.append((orders, 1.0))
    for family, most in sorted(limits.max_answers.items()):
        counts.append((is_answer & (families == family), float(min(most, variables))))
    bytes_: list[tuple[Amounts, float]] = []
    for family, room in sorted(limits.file_bytes.items()):
        if room is not None:
            sizes = _sizes(items, limits, unknown=room + 1.0)
            bytes_.append((np.where(families == family, sizes, 0.0), room))
    if limits.storage_bytes is not None:
        bytes_.append((_sizes(items, limits, unknown=limits.storage_bytes + 1.0), limits.storage_bytes))
    rows = [*counts, *bytes_]
    shares = np.max([row / max(room, 1.0) for row, room in bytes_], axis=0) if bytes_ else None
    return LinearLimits(
        np.array([row for row, _ in rows], np.float64), np.array([most for _, most in rows]), shares
    )


def _sizes(items: ChoiceItems, limits: ChoiceLimits, unknown: float) -> Amounts:
    """Return the bytes of each index and answer; an unknown size cannot be promised to fit."""
    of_indexes = [limits.size_bytes.get(index, unknown) for index in items.indexes]
    of_answers = [unknown if answer.size_bytes is None else answer.size_bytes for answer in items.answers]
    return np.array([*of_indexes, *of_answers], np.float64)


def _smallest_twins(
    values: SetValues, linear: LinearLimits, chosen: Flags, limits: ChoiceLimits, deadline: float
) -> Flags:
    """Replace each index by a smaller one that saves as much: the solver takes any of a tie."""
    size_of = dict(limits.size_bytes)
    indexes = values.items.indexes
    by_size = sorted(
        (position for position, index in enumerate(indexes) if index in size_of),
        key=lambda position: (size_of[indexes[position]], indexes[position]),
    )
    for position in [each for each in by_size if chosen[each]]:
        if monotonic() > deadline:
            break
        twins = [
            each
            for each in by_size
            if not chosen[each] and size_of[indexes[each]] < size_of[indexes[position]]
        ]
        if not twins:
            continue
        swapped = np.repeat(chosen[None, :], len(twins) + 1, axis=0)
        swapped[1:, position] = False
        swapped[np.arange(1, len(twins) + 1), twins] = True
        worth = values.worth(swapped)
        is_as_good = (worth[1:] >= worth[0] - _EQUAL_RATIO * abs(worth[0])) & linear.allow(swapped[1:])
        if is_as_good.any():
            chosen = swapped[1 + int(np.argmax(is_as_good))]
    return chosen


def _without_idle(values: SetValues, chosen: Flags) -> Flags:
    """Leave out, one after the other, members that do not pay: leaving one out may make another idle."""
    members = np.flatnonzero(chosen)[::-1]
    if not len(members):
        return chosen
    without = np.repeat(chosen[None, :], len(members) + 1, axis=0)
    without[np.arange(1, len(members) + 1), members] = False
    # A bonus for staying is no reason to keep an index that saves nothing.
    bonus = np.concatenate([[0.0], np.minimum(values.costs[members], 0.0)])
    worth = values.worth(without) - bonus
    idle = np.flatnonzero(worth[1:] >= worth[0])
    return _without_idle(values, without[1 + int(idle[0])]) if len(idle) else chosen
