"""The one choice as a mixed integer linear programme, solved by HiGHS.

As in Dash, Polyzotis and Ailamaki, "CoPhy: A Scalable, Portable, and Interactive Index Advisor" (2011): a 0/1
variable y stands for an index or answer, x for an alternative of a vote list, z for an exclusive answer of a
group of shapes, w for another answer of a shape. Maximise the savings of x, z and w less the upkeep of y,
subject to

    for each list and index: sum of x whose set needs the index <= y;   for each list: sum of x <= 1
    for each group of shapes: z <= y of its answer;  z >= y - sum of y tried before it
    for each of its answers: y + sum of z tried after it <= 1, with sum of x of each of its lists
    w <= y;  sum of x + sum of w <= 1 for each list of the shape;  and the limits over y.

If all sets of a list save the same (such as a group of files that any of several indexes skips), the list has
one variable: at most the sum of y of its sets of one index, and of a variable for each set of several, which
all such lists share (the maximum coverage problem). If a set of a list saves less than one of its subsets,
the list is tied to the exact set that is chosen, since the engine uses an index whether it helps or not; if
not all sets are listed, to the best listed set that is built. In a large programme, sets that save hardly
more than one of their subsets are left out, and the most that they could save is added to the bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic

import highspy
import numpy as np

from starskip.advisor.families.index import Index
from starskip.advisor.selection.choice_items import Flags, ItemList
from starskip.advisor.selection.greedy_set import LinearLimits
from starskip.advisor.selection.set_values import SetValues
from starskip.advisor.selection.vote_list import NOTHING, IndexSet, VoteList

_GAP_RATIO = 1e-9
_HEURISTICS = ("feasibility_jump", "rens", "rins", "root_reduced_cost", "shifting", "zi_round")
_LEAST_TIME_S = 0.1
_MANY_SETS = 5_000
_LEFT_OUT_RATIO = 5e-4
"""Share of a large programme's worth that the left out sets may save together."""


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """The best set that was found, None if none was, and a bound on the worth of every set.

    The bound is infinite if the solver failed.
    """

    chosen: Flags | None
    bound: float
    is_proven: bool


def solve(values: SetValues, limits: LinearLimits, start: Flags, time_s: float) -> Solved:
    """Return the best set, or the best found in ``time_s``; ``start``: a set within the limits."""
    deadline = monotonic() + time_s
    rows = _Rows(values.variables)
    later = _add_exclusive(rows, values)
    others = _add_others(rows, values)
    number = {index: position for position, index in enumerate(values.items.indexes)}
    bundles: dict[IndexSet, int] = {}
    least = 0.0
    if len(values.savings) > _MANY_SETS:
        worth = float(values.worth(start[None, :])[0])
        least = max(worth, 0.0) * _LEFT_OUT_RATIO / len(values.items.lists)
    lost = 0.0
    for item in values.items.lists:
        if not item.answered_by and item.shape < 0 and _is_covered(item.votes):
            _add_covered(rows, number, bundles, item.votes)
        else:
            after = later.get(item.answered_by, {})
            lost += _add_list(rows, number, item, after, others.get(item.shape, ()), least)
    for amounts, most in zip(limits.amounts, limits.at_most, strict=True):
        scale = max(float(most), 1.0)
        columns = np.flatnonzero(amounts).tolist()
        rows.at_most({each: float(amounts[each]) / scale for each in columns}, float(most) / scale)
    found = rows.solved(values, start, max(deadline - monotonic(), _LEAST_TIME_S))
    bound = found.bound + lost
    if found.chosen is not None:
        bound = min(bound, most_worth(values))
    return replace(found, bound=bound, is_proven=found.is_proven and not lost)


def most_worth(values: SetValues) -> float:
    """Return a bound on any set's worth without a programme: each list and group of shapes at its best.

    It replaces the solver's bound if time ends before the first relaxation is solved.
    """
    items = values.items
    of_group: dict[frozenset[int], float] = {}
    for item in items.lists:
        best = max(0.0, *(each.entries for each in item.votes.alternatives.values()))
        of_group[item.answered_by] = of_group.get(item.answered_by, 0.0) + best
    for gains in items.exclusive_gains:
        group = frozenset(np.flatnonzero(~np.isnan(gains)).tolist())
        of_group[group] = max(of_group.get(group, 0.0), float(np.nanmax(gains)))
    others = np.nan_to_num(items.other_gains, nan=0.0).max(axis=1, initial=0.0)
    return sum(of_group.values()) + float(others.sum() - np.minimum(values.costs, 0.0).sum())


@dataclass(slots=True)
class _Rows:
    """Variables and constraints; the first variables are indexes and answers, which alone are integral."""

    variables: int
    gains: list[float] = field(default_factory=list)
    _rows: list[dict[int, float]] = field(default_factory=list)
    _upper: list[float] = field(default_factory=list)

    def variable(self, gain: float) -> int:
        self.gains.append(gain)
        return self.variables + len(self.gains) - 1

    def at_most(self, coefficients: dict[int, float], upper: float) -> None:
        self._rows.append(coefficients)
        self._upper.append(upper)

    def solved(self, values: SetValues, start: Flags, time_s: float) -> Solved:
        scale = max(map(abs, (*self.gains, *values.costs, 1.0)))
        costs = np.concatenate([-values.costs, np.array(self.gains, dtype=float)]) / scale
        pointers = np.cumsum([0, *map(len, self._rows)])
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(costs), len(self._rows)
        lp.col_cost_ = -costs
        lp.col_lower_ = np.zeros(len(costs))
        lp.col_upper_ = np.ones(len(costs))
        lp.row_lower_ = np.full(len(self._rows), -highspy.kHighsInf)
        lp.row_upper_ = np.array(self._upper, dtype=float)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = pointers.astype(np.int32)
        lp.a_matrix_.index_ = np.array([key for row in self._rows for key in row], np.int32)
        lp.a_matrix_.value_ = np.array([value for row in self._rows for value in row.values()], float)
        # Given indexes and answers, the best of the rest is a vertex: only the first variables have to be
        # integral.
        kinds = [highspy.HighsVarType.kInteger] * self.variables
        lp.integrality_ = kinds + [highspy.HighsVarType.kContinuous] * len(self.gains)
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.silent()
        solver.setOptionValue("mip_rel_gap", _GAP_RATIO)
        solver.setOptionValue("time_limit", time_s)
        solver.setOptionValue("threads", 1)
        # A good set to start with is known; the remaining time proves how good it is.
        solver.setOptionValue("mip_heuristic_effort", 0.0)
        for heuristic in _HEURISTICS:
            solver.setOptionValue(f"mip_heuristic_run_{heuristic}", False)
        solver.setOptionValue("mip_allow_restart", False)
        solver.passModel(lp)
        known = np.arange(self.variables, dtype=np.int32)
        solver.setSolution(self.variables, known, start.astype(float))
        solver.run()
        status, info = solver.getModelStatus(), solver.getInfo()
        is_optimal = status == highspy.HighsModelStatus.kOptimal
        if not is_optimal and status != highspy.HighsModelStatus.kTimeLimit:
            # Only the set to start with is known, and no bound on how much better another set is.
            return Solved(None, inf, is_proven=False)
        found = np.array(solver.getSolution().col_value[: self.variables])
        has_set = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        return Solved(found > 0.5 if has_set else None, -float(info.mip_dual_bound) * scale, is_optimal)


def _add_exclusive(rows: _Rows, values: SetValues) -> dict[frozenset[int], dict[int, list[int]]]:
    """Add the variables z; return for each group, by answer's y, the z of the answers tried after it."""
    first = len(values.items.indexes)
    of_lists = {item.answered_by for item in values.items.lists}
    found: dict[frozenset[int], dict[int, list[int]]] = {}
    for gains in values.items.exclusive_gains:
        positions = np.flatnonzero(~np.isnan(gains)).tolist()
        taken = [rows.variable(float(gains[position])) for position in positions]
        answers = [first + position for position in positions]
        later = {answer: taken[number + 1 :] for number, answer in enumerate(answers)}
        for number, answer in enumerate(answers):
            rows.at_most({taken[number]: 1.0, answer: -1.0}, 0.0)
            # A list of these shapes brings rows of its own that say the same and more.
            if later[answer] and frozenset(positions) not in of_lists:
                rows.at_most({answer: 1.0, **dict.fromkeys(later[answer], 1.0)}, 1.0)
            if gains[positions[number]] < 0:
                before = dict.fromkeys(answers[:number], -1.0)
                rows.at_most({answer: 1.0, taken[number]: -1.0, **before}, 0.0)
        found[frozenset(positions)] = later
    return found


def _add_others(rows: _Rows, values: SetValues) -> dict[int, list[int]]:
    """Add the variables w; return them by their shape."""
    first = len(values.items.indexes)
    of_shape: dict[int, list[int]] = {}
    for shape, gains in enumerate(values.items.other_gains):
        for position in np.flatnonzero(np.nan_to_num(gains) > 0).tolist():
            taken = rows.variable(float(gains[position]))
            rows.at_most({taken: 1.0, first + position: -1.0}, 0.0)
            for answering in np.flatnonzero(values.items.answered_shapes[shape]).tolist():
                rows.at_most({taken: 1.0, first + answering: 1.0}, 1.0)
            of_shape.setdefault(shape, []).append(taken)
        if len(of_shape.get(shape, ())) > 1:
            rows.at_most(dict.fromkeys(of_shape[shape], 1.0), 1.0)
    return of_shape


def _add_list(
    rows: _Rows,
    number: Mapping[Index, int],
    item: ItemList,
    later: Mapping[int, Sequence[int]],
    others: Sequence[int],
    least: float,
) -> float:
    """Add a list; return the most that its left out sets could save, each at most ``least`` beyond a subset.

    ``later``: by the y of each answer that serves the list's shape, the z of the answers tried after it.
    ``others``: the w of the list's shape.
    """
    votes = item.votes
    harmed = _is_harmed(votes)
    exact = votes.is_complete and harmed
    sets, lost = (_savings(votes), 0.0) if harmed else needed_sets(votes, least)
    if exact:
        sets = {**sets, frozenset(): 0.0}
    taken = {needed: rows.variable(saving) for needed, saving in sets.items()}
    if not taken and not later:
        return lost
    one_of = dict.fromkeys([*taken.values(), *others], 1.0)
    if not later:
        rows.at_most(one_of, 1.0)
    for answer, after in later.items():
        # The list, the answer, or an answer tried after it: without this row half of the list could count
        # beside half of each of two answers.
        rows.at_most({**one_of, answer: 1.0, **dict.fromkeys(after, 1.0)}, 1.0)
    # If the list is tied to the built set, either the list counts or an answer does.
    instead = dict.fromkeys([*later, *others], -1.0)
    if exact:
        rows.at_most({**dict.fromkeys(taken.values(), -1.0), **instead}, -1.0)
    # One row for each index and not for each set: at most one set is taken, so their sum needs no more of y
    # than each alone, and the relaxation is tighter.
    for index in sorted(frozenset().union(*taken)):
        with_index = dict.fromkeys((x for needed, x in taken.items() if index in needed), 1.0)
        rows.at_most({**with_index, number[index]: -1.0}, 0.0)
        if exact:
            rows.at_most({**dict.fromkeys(with_index, -1.0), **instead, number[index]: 1.0}, 0.0)
    if harmed and not exact:
        for needed in taken:
            # Once this set is built, one of the sets must be taken.
            built = dict.fromkeys((number[index] for index in needed), 1.0)
            rows.at_most({**built, **dict.fromkeys(taken.values(), -1.0), **instead}, len(needed) - 1.0)
    return lost


def _savings(votes: VoteList) -> Mapping[IndexSet, float]:
    return {needed: saving.entries for needed, saving in votes.alternatives.items()}


def _is_covered(votes: VoteList) -> bool:
    """Return whether every listed set saves the same, a larger one no more, and none loses anything."""
    savings = {each.entries for each in votes.alternatives.values()}
    return not votes.is_complete and len(savings) == 1 and min(savings) >= 0


def _add_covered(
    rows: _Rows, number: Mapping[Index, int], bundles: dict[IndexSet, int], votes: VoteList
) -> None:
    """Add a list that any one of its sets saves whole; ``bundles``: variables of sets of several indexes."""
    (saved,) = {each.entries for each in votes.alternatives.values()}
    if saved <= 0:
        return
    covering: dict[int, float] = {}
    for needed in votes.alternatives:
        if len(needed) == 1:
            (index,) = needed
            covering[number[index]] = -1.0
            continue
        if needed not in bundles:
            bundles[needed] = rows.variable(0.0)
            for index in sorted(needed):
                rows.at_most({bundles[needed]: 1.0, number[index]: -1.0}, 0.0)
        covering[bundles[needed]] = -1.0
    rows.at_most({rows.variable(saved): 1.0, **covering}, 0.0)


def _is_harmed(votes: VoteList) -> bool:
    """Return whether a set saves less than one of its subsets, the empty set included."""
    return any(
        saving.entries < votes.alternatives.get(needed - {item}, NOTHING).entries
        for needed, saving in votes.alternatives.items()
        for item in needed
    )


def needed_sets(votes: VoteList, least: float = 0.0) -> tuple[Mapping[IndexSet, float], float]:
    """Return the sets that save more than ``least`` beyond each of their subsets, with their entries.

    Also return the most entries by which the list can save more than the returned sets say, whatever is
    built. ``votes``: a list that no set harms.
    """
    needed: dict[IndexSet, float] = {}
    lost = 0.0
    for indexes, saving in sorted(votes.alternatives.items(), key=lambda item: len(item[0])):
        beyond = saving.entries - max((each for part, each in needed.items() if part < indexes), default=0.0)
        if beyond > least:
            needed[indexes] = saving.entries
        else:
            lost = max(lost, beyond)
    return needed, lost
