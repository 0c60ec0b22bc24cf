"""Values of many sets of indexes and answers at once, over the items of the one choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from starskip.advisor.families.index import Index
from starskip.advisor.selection.choice_items import Amounts, ChoiceItems, Flags

_CELLS_AT_ONCE = 2_000_000
_NEGATIVE = -np.inf

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _CompleteLists:
    """Lists in which every set has a saving: ``savings[start + code]``, the code having a bit for each index.

    ``lists``: their positions among all lists. ``bits``: lists x indexes, the value of the index's bit.
    """

    lists: Positions
    bits: csr_array
    starts: Positions
    savings: Amounts

    def saved(self, built: Amounts) -> Amounts:
        """Return the lists' savings, lists x sets; ``built``: indexes x sets."""
        codes = (self.bits @ built).astype(np.int64)
        found: Amounts = self.savings[self.starts[:, None] + codes]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _ListedSets:
    """Lists in which the best set that is built counts.

    ``lists``: their positions among all lists. ``needs``: sets listed x indexes, 1 if the set needs the
    index; ``sizes``: the number of indexes of each set; ``starts``: the positions at which the sets of each
    list begin.
    """

    lists: Positions
    needs: csr_array
    sizes: Amounts
    savings: Amounts
    starts: Positions

    def saved(self, built: Amounts) -> Amounts:
        """Return the lists' savings, lists x sets; ``built``: indexes x sets."""
        is_built = (self.needs @ built) == self.sizes[:, None]
        best = np.maximum.reduceat(np.where(is_built, self.savings[:, None], _NEGATIVE), self.starts, axis=0)
        found: Amounts = np.where(np.isfinite(best), best, 0.0)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class SetValues:
    """The items as arrays.

    ``needs``: alternatives x indexes, 1 if the alternative needs the index. ``sizes``: number of indexes of
    each alternative, ``savings`` its entries. ``parts``: the lists, as they are evaluated. ``answering``:
    lists x answers, 1 if the answer serves the list's shape. ``costs``: upkeep of each
    index and then of each
    answer.
    """

    items: ChoiceItems
    needs: csr_array
    sizes: Amounts
    savings: Amounts
    parts: Sequence[_CompleteLists | _ListedSets]
    answering: csr_array
    costs: Amounts

    @property
    def variables(self) -> int:
        """Number of indexes and answers."""
        return len(self.costs)

    def worth(self, chosen: Flags) -> Amounts:
        """Return the worth of each set, less its upkeep; ``chosen``: sets x (indexes, then answers)."""
        cells = max(len(self.items.lists), *(part.savings.size for part in self.parts), 1)
        step = max(_CELLS_AT_ONCE // cells, 1)
        parts = [self._worth(chosen[first : first + step]) for first in range(0, len(chosen), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _worth(self, chosen: Flags) -> Amounts:
        count = len(self.items.indexes)
        built, answers = chosen[:, :count], chosen[:, count:]
        worth: Amounts = -(chosen @ self.costs)
        of_lists = self._of_lists(built.astype(np.float64))
        if answers.shape[1]:
            of_lists[(self.answering @ answers.T.astype(np.float64)) > 0] = 0.0
            worth = worth + self._of_exclusive(answers) + self._of_others(of_lists, answers)
        total: Amounts = worth + of_lists.sum(axis=0)
        return total

    def _of_lists(self, built: Amounts) -> Amounts:
        """Return the lists' savings, lists x sets; ``built``: sets x indexes."""
        saved = np.zeros((len(self.items.lists), len(built)))
        for part in self.parts:
            saved[part.lists] = part.saved(built.T)
        return saved

    def _of_exclusive(self, answers: Flags) -> Amounts:
        gains = self.items.exclusive_gains
        total = np.zeros(len(answers))
        served = np.zeros((len(answers), len(gains)), np.bool_)
        for position in range(answers.shape[1]):
            sets = np.flatnonzero(answers[:, position])
            groups = np.flatnonzero(~np.isnan(gains[:, position]))
            if not sets.size or not groups.size:
                continue
            where = np.ix_(sets, groups)
            total[sets] += ~served[where] @ gains[groups, position]
            served[where] = True
        return total

    def _of_others(self, of_lists: Amounts, answers: Flags) -> Amounts:
        """Return the entries that answers save beyond the votes of the shapes that they compete for."""
        gains = self.items.other_gains
        if not len(gains):
            return np.zeros(len(answers))
        votes = np.zeros((len(answers), len(gains)))
        for number, item in enumerate(self.items.lists):
            if item.shape >= 0:
                votes[:, item.shape] += of_lists[number]
        best = np.full_like(votes, _NEGATIVE)
        for position in range(answers.shape[1]):
            gain = np.where(np.isnan(gains[:, position]), _NEGATIVE, gains[:, position])
            best = np.maximum(best, np.where(answers[:, [position]], gain, _NEGATIVE))
        is_open = (answers @ self.items.answered_shapes.T.astype(np.float64)) == 0
        beyond: Amounts = (np.maximum(best - votes, 0.0) * is_open).sum(axis=1)
        return beyond


def set_values(items: ChoiceItems, upkeep: Mapping[Index, float]) -> SetValues:
    """Return the items as arrays; ``upkeep``: entries that an index or answer must save (0 if not named)."""
    number = {index: position for position, index in enumerate(items.indexes)}
    rows = list(_alternatives(items, range(len(items.lists)), number))
    variables = (*items.indexes, *(answer.index for answer in items.answers))
    complete = [position for position, item in enumerate(items.lists) if item.votes.is_complete]
    listed = [position for position, item in enumerate(items.lists) if not item.votes.is_complete]
    parts: list[_CompleteLists | _ListedSets] = []
    if complete:
        parts.append(_complete_lists(items, complete, number))
    if listed:
        parts.append(_listed_sets(items, listed, number))
    return SetValues(
        items=items,
        needs=_incidence([needed for _, needed, _ in rows], len(items.indexes)),
        sizes=np.array([len(needed) for _, needed, _ in rows], np.float64),
        savings=np.array([saved for _, _, saved in rows], np.float64),
        parts=parts,
        answering=_incidence([sorted(item.answered_by) for item in items.lists], len(items.answers)),
        costs=np.array([upkeep.get(index, 0.0) for index in variables], np.float64),
    )


def _complete_lists(items: ChoiceItems, lists: Sequence[int], number: Mapping[Index, int]) -> _CompleteLists:
    members = [sorted(items.lists[position].votes.indexes) for position in lists]
    starts = np.cumsum([0, *(1 << len(of_list) for of_list in members)])
    savings = np.zeros(starts[-1])
    for start, position, of_list in zip(starts.tolist(), lists, members, strict=False):
        bit = {index: 1 << place for place, index in enumerate(of_list)}
        for needed, saving in items.lists[position].votes.alternatives.items():
            savings[start + sum(map(bit.__getitem__, needed))] = saving.entries
    bits = _incidence([[number[index] for index in of_list] for of_list in members], len(items.indexes))
    bits.data = np.array([1 << place for of_list in members for place in range(len(of_list))], np.float64)
    return _CompleteLists(np.array(lists), bits, starts[:-1], savings)


def _listed_sets(items: ChoiceItems, lists: Sequence[int], number: Mapping[Index, int]) -> _ListedSets:
    rows = list(_alternatives(items, lists, number))
    return _ListedSets(
        lists=np.array(lists),
        needs=_incidence([needed for _, needed, _ in rows], len(items.indexes)),
        sizes=np.array([len(needed) for _, needed, _ in rows], np.float64),
        savings=np.array([saved for _, _, saved in rows], np.float64),
        starts=np.searchsorted([position for position, _, _ in rows], lists),
    )


def _alternatives(
    items: ChoiceItems, lists: Iterable[int], number: Mapping[Index, int]
) -> Iterator[tuple[int, list[int], float]]:
    for position in lists:
        for needed, saving in items.lists[position].votes.alternatives.items():
            yield position, sorted(number[index] for index in needed), saving.entries


def _incidence(rows: list[list[int]], columns: int) -> csr_array:
    pointers = np.cumsum([0, *map(len, rows)])
    found = np.array([each for row in rows for each in row], np.int64)
    return csr_array((np.ones(len(found)), found, pointers), shape=(len(rows), columns))
