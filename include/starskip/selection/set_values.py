"""Values of many sets of indexes and answers at once, over the items of the one choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from starskip.indexes.index import Index
from starskip.selection.choice_items import Amounts, ChoiceItems, Flags

_CELLS_AT_ONCE = 20_000_000
_NEGATIVE = -np.inf

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SetValues:
    """The items as arrays.

    ``needs``: alternatives x indexes, 1 where the alternative needs the index. ``sizes``: number of indexes
    of each alternative, ``savings`` its entries, ``list_of`` its list; ``starts``: where each list begins.
    ``members``: lists x indexes. ``silencing``: lists x answers, 1 where the answer silences the list.
    ``costs``: upkeep of each index and then of each answer.
    """

    items: ChoiceItems
    needs: csr_array
    sizes: Amounts
    savings: Amounts
    starts: Positions
    list_of: Positions
    members: csr_array
    is_complete: Flags
    silencing: Amounts
    costs: Amounts

    @property
    def variables(self) -> int:
        """Number of indexes and answers."""
        return len(self.costs)

    def of(self, chosen: Flags) -> Amounts:
        """Return what each set is worth, less its upkeep; ``chosen``: sets x (indexes, then answers)."""
        cells = max(len(self.savings), len(self.items.lists), 1)
        step = max(_CELLS_AT_ONCE // cells, 1)
        parts = [self._worth(chosen[first : first + step]) for first in range(0, len(chosen), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _worth(self, chosen: Flags) -> Amounts:
        count = len(self.items.indexes)
        built, answers = chosen[:, :count], chosen[:, count:]
        worth: Amounts = -(chosen @ self.costs)
        of_lists = self._of_lists(built.astype(np.float64))
        if answers.shape[1]:
            counts = (answers @ self.silencing.T) == 0
            of_lists = of_lists * counts
            worth = worth + self._of_exclusive(answers) + self._of_others(of_lists, answers)
        total: Amounts = worth + of_lists.sum(axis=1)
        return total

    def _of_lists(self, built: Amounts) -> Amounts:
        if not len(self.savings):
            return np.zeros((len(built), 0))
        present = (self.needs @ built.T).T
        is_built = present == self.sizes
        found = np.maximum.reduceat(np.where(is_built, self.savings, _NEGATIVE), self.starts, axis=1)
        best = np.where(np.isfinite(found), found, 0.0)
        if not self.is_complete.any():
            return best
        in_list = (self.members @ built.T).T
        is_exact = is_built & (in_list[:, self.list_of] == self.sizes)
        exact = np.add.reduceat(np.where(is_exact, self.savings, 0.0), self.starts, axis=1)
        return np.where(self.is_complete, exact, best)

    def _of_exclusive(self, answers: Flags) -> Amounts:
        gains = self.items.exclusive_gains
        total = np.zeros(len(answers))
        served = np.zeros((len(answers), len(gains)), np.bool_)
        for position in range(answers.shape[1]):
            covers = ~np.isnan(gains[:, position])
            if not covers.any():
                continue
            takes = answers[:, [position]] & covers & ~served
            total += takes @ np.nan_to_num(gains[:, position])
            served |= takes
        return total

    def _of_others(self, of_lists: Amounts, answers: Flags) -> Amounts:
        """Return what answers save beyond the votes of the shapes that they compete for."""
        gains = self.items.other_gains
        if not len(gains):
            return np.zeros(len(answers))
        votes = np.zeros((len(answers), len(gains)))
        for number, item in enumerate(self.items.lists):
            if item.shape >= 0:
                votes[:, item.shape] += of_lists[:, number]
        best = np.full_like(votes, _NEGATIVE)
        for position in range(answers.shape[1]):
            gain = np.where(np.isnan(gains[:, position]), _NEGATIVE, gains[:, position])
            best = np.maximum(best, np.where(answers[:, [position]], gain, _NEGATIVE))
        is_open = (answers @ self.items.silenced_shapes.T.astype(np.float64)) == 0
        beyond: Amounts = (np.maximum(best - votes, 0.0) * is_open).sum(axis=1)
        return beyond


def set_values(items: ChoiceItems, upkeep: Mapping[Index, float]) -> SetValues:
    """Return the items as arrays; ``upkeep``: what an index or answer must save, by it (0 if not named)."""
    number = {index: position for position, index in enumerate(items.indexes)}
    rows = list(_alternatives(items, number))
    sizes = np.array([len(needed) for _, needed, _ in rows], np.float64)
    list_of = np.array([each for each, _, _ in rows], np.int64)
    members = [sorted(number[index] for index in item.votes.indexes) for item in items.lists]
    silencing = np.zeros((len(items.lists), len(items.answers)))
    for position, item in enumerate(items.lists):
        silencing[position, sorted(item.silenced_by)] = 1.0
    variables = (*items.indexes, *(answer.index for answer in items.answers))
    return SetValues(
        items=items,
        needs=_incidence([needed for _, needed, _ in rows], len(items.indexes)),
        sizes=sizes,
        savings=np.array([saved for _, _, saved in rows], np.float64),
        starts=np.searchsorted(list_of, np.arange(len(items.lists))),
        list_of=list_of,
        members=_incidence(members, len(items.indexes)),
        is_complete=np.array([item.votes.is_complete for item in items.lists], np.bool_),
        silencing=silencing,
        costs=np.array([upkeep.get(index, 0.0) for index in variables], np.float64),
    )


def _alternatives(items: ChoiceItems, number: Mapping[Index, int]) -> Iterator[tuple[int, list[int], float]]:
    for position, item in enumerate(items.lists):
        for needed, saving in item.votes.alternatives.items():
            yield position, sorted(number[index] for index in needed), saving.entries


def _incidence(rows: list[list[int]], columns: int) -> csr_array:
    pointers = np.cumsum([0, *map(len, rows)])
    found = np.array([each for row in rows for each in row], np.int64)
    return csr_array((np.ones(len(found)), found, pointers), shape=(len(rows), columns))
