"""Items of the one choice: votes for sets of indexes, and answers of whole queries, merged and as arrays.

A vote list is a part of the work of some queries with exclusive alternatives, each a set of indexes and its
saving. An answer serves whole queries. If it is exclusive, the engine takes it whatever indexes there are, so
that the votes of these queries do not count; otherwise it counts only if it saves more than the votes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starskip.advisor.families.answer import AnswerCandidate
from starskip.advisor.families.index import Index
from starskip.advisor.selection.vote_list import NOTHING, IndexSet, Saving, VoteList

Amounts = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ItemList:
    """Vote lists that save the same together, merged into one.

    ``answered_by``: positions of the exclusive answers that serve its queries. ``shape``: the shape whose
    other answers it competes with, -1 if there are none.
    """

    votes: VoteList
    answered_by: frozenset[int] = frozenset()
    shape: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceItems:
    """Items that a choice is made from.

    ``answers`` stand in the order in which the engine tries the exclusive ones. ``exclusive_gains``: by group
    of shapes (rows) and answer, the entries saved; NaN if the answer does not serve the group.
    ``other_gains``: the same for answers that are not exclusive, by the shapes of ``ItemList.shape``.
    """

    indexes: tuple[Index, ...]
    answers: tuple[AnswerCandidate, ...]
    lists: tuple[ItemList, ...]
    exclusive_gains: Amounts
    other_gains: Amounts
    answered_shapes: Flags


def choice_items(lists: Sequence[VoteList], answers: Sequence[AnswerCandidate]) -> ChoiceItems:
    """Return the items of one table; the order of ``lists`` and ``answers`` changes nothing."""
    ordered = tuple(sorted(answers, key=lambda each: (each.rank, each.index)))
    serving = {position: frozenset(each.saving_entries) for position, each in enumerate(ordered)}
    exclusive = [position for position, each in enumerate(ordered) if each.is_exclusive]
    others = [position for position, each in enumerate(ordered) if not each.is_exclusive]
    shapes = sorted(frozenset().union(*serving.values())) if serving else []
    answering = {shape: frozenset(p for p in exclusive if shape in serving[p]) for shape in shapes}
    contested = [shape for shape in shapes if any(shape in serving[p] for p in others)]
    number = {shape: position for position, shape in enumerate(contested)}
    groups: dict[tuple[frozenset[int], int], list[VoteList]] = {}
    for votes in sorted(lists, key=lambda item: (item.table, item.shape_id, item.disjunct)):
        key = (answering.get(votes.shape_id, frozenset()), number.get(votes.shape_id, -1))
        groups.setdefault(key, []).append(votes)
    items = tuple(
        ItemList(merged, by, shape) for (by, shape), each in groups.items() for merged in _together(each)
    )
    gains: dict[frozenset[int], Amounts] = {}
    for shape in shapes:
        if not answering[shape]:
            continue
        row = gains.setdefault(answering[shape], np.full(len(ordered), np.nan))
        for position in answering[shape]:
            saved = ordered[position].saving_entries[shape]
            row[position] = saved if np.isnan(row[position]) else row[position] + saved
    other = np.full((len(contested), len(ordered)), np.nan)
    answered_shapes = np.zeros((len(contested), len(ordered)), np.bool_)
    for shape, row_number in number.items():
        answered_shapes[row_number, sorted(answering[shape])] = True
        for position in others:
            if shape in serving[position]:
                other[row_number, position] = ordered[position].saving_entries[shape]
    return ChoiceItems(
        indexes=tuple(sorted(frozenset().union(*(votes.indexes for votes in lists)))) if lists else (),
        answers=ordered,
        lists=items,
        exclusive_gains=np.array(list(gains.values())).reshape(len(gains), len(ordered)),
        other_gains=other,
        answered_shapes=answered_shapes,
    )


def _together(lists: Iterable[VoteList]) -> list[VoteList]:
    """Merge lists; the merged lists save the same as all of them, whatever set is chosen.

    A complete list knows the saving of every chosen set, so it is added to any list that has all of its
    indexes. In any other list the best built set counts. Two such lists are added if they rank the same sets
    in the same order: then the best built set is the same in both.
    """
    lists = list(lists)
    sums: dict[tuple[IndexSet, ...], dict[IndexSet, float]] = {}
    for votes in lists:
        if not votes.is_complete:
            ranked = sorted(votes.alternatives, key=sorted)
            ranked.sort(key=lambda needed: votes.alternatives[needed].entries)
            _add_to(sums.setdefault(tuple(ranked), dict.fromkeys(ranked, 0.0)), votes)
    found = [_summed(sum_of, number, is_complete=False) for number, sum_of in enumerate(sums.values())]
    holders: dict[Index, list[tuple[IndexSet, dict[IndexSet, float]]]] = {}
    wide_first = sorted((v for v in lists if v.is_complete), key=lambda votes: -len(votes.indexes))
    whole: list[dict[IndexSet, float]] = []
    for votes in wide_first:
        known = holders.get(min(votes.indexes), [])
        holder = next((sum_of for held, sum_of in known if votes.indexes <= held), None)
        if holder is None:
            holder = dict.fromkeys(votes.alternatives, 0.0)
            whole.append(holder)
            for item in votes.indexes:
                holders.setdefault(item, []).append((votes.indexes, holder))
        _add_to(holder, votes)
    return found + [_summed(sum_of, number, is_complete=True) for number, sum_of in enumerate(whole)]


def _add_to(sums: dict[IndexSet, float], votes: VoteList) -> None:
    """Add the saving of ``votes`` to each set of ``sums``; each of these sets contains a set of ``votes``."""
    for needed in sums:
        own = needed & votes.indexes if votes.is_complete else needed
        sums[needed] += votes.alternatives.get(own, NOTHING).entries


def _summed(sums: Mapping[IndexSet, float], number: int, *, is_complete: bool) -> VoteList:
    savings = {needed: Saving(entries) for needed, entries in sums.items()}
    return VoteList("", "", number, savings, is_complete)
