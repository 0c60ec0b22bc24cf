"""The best set of at most K structures, as a mixed integer linear programme.

Seed 000, II.3 C asks for the K dimensions of the highest total vote, and enumerates them all; the
tests do so too, as an oracle. Here, as in CoPhy, a 0/1 variable y_c a structure and x_qa an
alternative of each vote list: maximise sum saving_qa * x_qa - sum upkeep * y_c subject to
sum_{a with c} x_qa <= y_c, sum_a x_qa <= 1, sum y_c <= K, sum size_c * y_c <= budget. A list where a
superset saves less than its subset (an index can make Pinot read more) is tied to the exact set
that is chosen, since the engine uses an index whether it helps or not; where not all sets are
listed, to the best listed one that is built.

Of structures that save the same in a set, the one of fewer bytes is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from starskip.errors import StarskipError
from starskip.indexes.index import Structure
from starskip.selection.vote_list import NOTHING, Saving, StructureSet, VoteList, total_saving

_GAP_RATIO = 1e-9


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen structures and the entries they save; the solver has proved that no set saves more."""

    chosen: StructureSet
    saving_entries: float


def k_selection(
    lists: Sequence[VoteList],
    max_structures: int,
    *,
    upkeep_entries: Mapping[Structure, float] | None = None,
    size_bytes: Mapping[Structure, int] | None = None,
    budget_bytes: int | None = None,
) -> Selection:
    """Return the best set of at most ``max_structures``; ``upkeep_entries`` is what each must pay back.

    A negative upkeep favours a structure among those that save something. The order of ``lists`` changes
    nothing; nothing is in the set that adds nothing.
    """
    structures = sorted(frozenset().union(*(votes.structures for votes in lists)) if lists else ())
    if not structures or max_structures <= 0:
        return Selection(frozenset(), 0.0)
    lists = sorted(lists, key=lambda item: (item.table, item.shape_id, item.leg))
    upkeep = upkeep_entries or {}
    sizes: Mapping[Structure, float] | None = None
    if budget_bytes is not None and size_bytes is not None:
        # What is of unknown size cannot be promised to fit.
        sizes = {item: float(size_bytes.get(item, budget_bytes + 1)) for item in structures}
    limits = _Limits(max_structures, sizes, float(budget_bytes or 0))
    one = max_structures == 1
    chosen = _best_one(lists, structures, limits, upkeep) if one else _best(lists, structures, limits, upkeep)
    chosen = _without_idle(lists, _smallest_twins(lists, chosen, upkeep, size_bytes or {}), upkeep)
    return Selection(chosen, total_saving(lists, chosen))


@dataclass(frozen=True, slots=True)
class _Limits:
    """Limits of a set: its number of structures and, where sizes count, its bytes."""

    max_structures: int
    sizes: Mapping[Structure, float] | None
    budget_bytes: float


def _best(
    lists: Sequence[VoteList],
    structures: Sequence[Structure],
    limits: _Limits,
    upkeep: Mapping[Structure, float],
) -> StructureSet:
    programme = _Programme(structures)
    for votes in _together(lists):
        programme.add(votes)
    scale = max(max(programme.gains, default=0.0), 1.0)
    programme.at_most(dict.fromkeys(range(len(structures)), 1.0), float(limits.max_structures))
    if limits.sizes is not None:
        sizes = {rank: limits.sizes[item] for rank, item in enumerate(structures)}
        programme.at_most(sizes, limits.budget_bytes)
    costs = np.array([upkeep.get(item, 0.0) / scale for item in structures])
    values = programme.solve(costs, scale)
    return frozenset(item for item, value in zip(structures, values, strict=True) if value > 0.5)


def _best_one(
    lists: Sequence[VoteList],
    structures: Sequence[Structure],
    limits: _Limits,
    upkeep: Mapping[Structure, float],
) -> StructureSet:
    """Try each structure: of one there is no need of a programme."""
    saved = dict.fromkeys(structures, 0.0)
    for votes in lists:
        for item in votes.structures:
            saved[item] += votes.saving(frozenset((item,))).entries
    sizes = limits.sizes
    fitting = [item for item in structures if sizes is None or sizes[item] <= limits.budget_bytes]
    net = {item: saved[item] - upkeep.get(item, 0.0) for item in fitting}
    best = max(fitting, key=net.__getitem__, default=None)
    return frozenset() if best is None or net[best] <= 0 else frozenset((best,))


def _together(lists: Sequence[VoteList]) -> list[VoteList]:
    """Return fewer lists that save the same together, whatever is chosen.

    Of a complete list the set counts that is chosen, so one goes into any other that has its structures. Of
    others the best set counts that is built, which is the same one where their sets have the same order.
    """
    sums: dict[tuple[StructureSet, ...], dict[StructureSet, float]] = {}
    found: list[VoteList] = []
    for votes in lists:
        if not votes.is_complete:
            ranked = sorted(votes.alternatives, key=sorted)
            ranked.sort(key=lambda needed: votes.alternatives[needed].entries)
            _add_to(sums.setdefault(tuple(ranked), dict.fromkeys(ranked, 0.0)), votes)
    for number, sum_of in enumerate(sums.values()):
        found.append(_summed(sum_of, number, is_complete=False))
    holders: dict[Structure, list[tuple[StructureSet, dict[StructureSet, float]]]] = {}
    wide_first = sorted((v for v in lists if v.is_complete), key=lambda votes: -len(votes.structures))
    whole: list[dict[StructureSet, float]] = []
    for votes in wide_first:
        known = holders.get(min(votes.structures), [])
        holder = next((sum_of for held, sum_of in known if votes.structures <= held), None)
        if holder is None:
            holder = dict.fromkeys(votes.alternatives, 0.0)
            whole.append(holder)
            for item in votes.structures:
                holders.setdefault(item, []).append((votes.structures, holder))
        _add_to(holder, votes)
    return found + [_summed(sum_of, number, is_complete=True) for number, sum_of in enumerate(whole)]


def _add_to(sums: dict[StructureSet, float], votes: VoteList) -> None:
    """Add what ``votes`` saves with each set of ``sums``, which are sets of its own or hold them."""
    for needed in sums:
        own = needed & votes.structures if votes.is_complete else needed
        sums[needed] += votes.alternatives.get(own, NOTHING).entries


def _summed(sums: Mapping[StructureSet, float], number: int, *, is_complete: bool) -> VoteList:
    savings = {needed: Saving(entries) for needed, entries in sums.items()}
    return VoteList("", "", number, savings, is_complete)


def _smallest_twins(
    lists: Sequence[VoteList],
    chosen: StructureSet,
    upkeep: Mapping[Structure, float],
    size_bytes: Mapping[Structure, int],
) -> StructureSet:
    """Put a smaller structure in the place of each that saves no more: the solver takes any of a tie."""
    voting: dict[Structure, list[VoteList]] = {}
    for votes in lists:
        for item in votes.structures:
            voting.setdefault(item, []).append(votes)
    by_size = sorted(size_bytes.keys() & voting.keys(), key=lambda item: (size_bytes[item], item))
    for item in sorted(chosen & size_bytes.keys()):
        for twin in by_size:
            if twin in chosen:
                continue
            if size_bytes[twin] >= size_bytes[item]:
                break
            swapped = (chosen - {item}) | {twin}
            touched = voting[item] + [votes for votes in voting[twin] if item not in votes.structures]
            before = total_saving(touched, chosen) - upkeep.get(item, 0.0)
            if total_saving(touched, swapped) - upkeep.get(twin, 0.0) >= before - _GAP_RATIO * abs(before):
                chosen = swapped
                break
    return chosen


def _without_idle(
    lists: Sequence[VoteList], chosen: StructureSet, upkeep: Mapping[Structure, float]
) -> StructureSet:
    """Leave out, one after the other, what pays for nothing: leaving one out may make another idle."""
    for item in sorted(chosen, reverse=True):
        rest = chosen - {item}
        pays_back = max(upkeep.get(item, 0.0), 0.0)
        if total_saving(lists, rest) >= total_saving(lists, chosen) - pays_back:
            return _without_idle(lists, rest, upkeep)
    return chosen


class _Programme:
    """Gathers variables and constraints; the first variables are the structures."""

    def __init__(self, structures: Sequence[Structure]) -> None:
        self.gains: list[float] = []
        self._rank = {item: rank for rank, item in enumerate(structures)}
        self._rows: list[dict[int, float]] = []
        self._upper: list[float] = []

    def at_most(self, coefficients: dict[int, float], upper: float) -> None:
        self._rows.append(coefficients)
        self._upper.append(upper)

    def add(self, votes: VoteList) -> None:
        harmed = _is_harmed(votes)
        exact = votes.is_complete and harmed
        alternatives = dict(votes.alternatives)
        if exact:
            alternatives[frozenset()] = NOTHING
        variables = {}
        for needed, saving in alternatives.items():
            if harmed or not _is_idle(votes, needed):
                variables[needed] = len(self._rank) + len(self.gains)
                self.gains.append(saving.entries)
        if not variables:
            return
        self.at_most(dict.fromkeys(variables.values(), 1.0), 1.0)
        if exact:
            self.at_most(dict.fromkeys(variables.values(), -1.0), -1.0)
        # One row a structure and not one a set: at most one set is taken, so their sum needs no more of y
        # than each alone, and the relaxation is tighter.
        for item in sorted(frozenset().union(*variables)):
            with_item = dict.fromkeys((x for needed, x in variables.items() if item in needed), 1.0)
            self.at_most({**with_item, self._rank[item]: -1.0}, 0.0)
            if exact:
                self.at_most({**dict.fromkeys(with_item, -1.0), self._rank[item]: 1.0}, 0.0)
        if harmed and not exact:
            for needed in variables:
                # Once this set is built, nothing is no alternative any more.
                built = dict.fromkeys((self._rank[item] for item in needed), 1.0)
                self.at_most(built | dict.fromkeys(variables.values(), -1.0), len(needed) - 1.0)

    def solve(self, upkeep: npt.NDArray[np.float64], scale: float) -> npt.NDArray[np.float64]:
        integral = len(self._rank)
        costs = np.concatenate([upkeep, -np.array(self.gains, dtype=float) / scale])
        entries = [
            (row, column, value) for row, items in enumerate(self._rows) for column, value in items.items()
        ]
        rows, columns, values = zip(*entries, strict=True)
        matrix = csr_array((values, (rows, columns)), shape=(len(self._rows), len(costs)))
        # Given the structures, the best alternative of each list is a vertex: only y has to be integral.
        answer = milp(
            costs,
            integrality=np.concatenate([np.ones(integral), np.zeros(len(self.gains))]),
            bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(matrix, ub=self._upper),
            options={"mip_rel_gap": _GAP_RATIO},
        )
        if answer.x is None or answer.status != 0:
            raise StarskipError(f"the index selection could not be solved: {answer.message}")
        chosen: npt.NDArray[np.float64] = answer.x[:integral]
        return chosen


def _is_idle(votes: VoteList, needed: StructureSet) -> bool:
    """Tell whether a smaller set saves as much, in a list that no set harms."""
    saving = votes.alternatives[needed].entries
    return saving <= 0 or any(
        saving <= votes.alternatives.get(needed - {item}, NOTHING).entries for item in needed
    )


def _is_harmed(votes: VoteList) -> bool:
    """Tell whether some set saves less than a subset of it, nothing included."""
    return any(
        saving.entries < votes.alternatives.get(needed - {item}, NOTHING).entries
        for needed, saving in votes.alternatives.items()
        for item in needed
    )
