"""Choose the gaps of a file for queries with OR, each of which needs several gaps.

See "Extensible Data Skipping", problem 11. A query skips the file if each of its ranges lies in a gap or
outside of the bounds: it is a hyperedge over gaps. The choice of k gaps is the densest k-subhypergraph, which
is NP-hard (claim 13). The heuristic:

    1. greedy by hyperedges: among those that fit into the rest of k, complete the one with the greatest
       weight (of all hyperedges that become complete) for each missing gap; once for each of the best few
       hyperedges as the first.
    2. once from the other end: remove the gap whose hyperedges weigh least until k are left.
    3. local search on the best: exchange the least needed gaps for a hyperedge while the weight rises.

With one range a query it equals workload_gap_list.optimal_gaps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.advisor.families.skipping.choice.range_workload import Positions, RangeWorkload
from starskip.skipping.file_metadata import Mask

_STARTS = 4
_MAX_SWAPS = 200
_LOOKAHEAD = 16
_MIN_SETS = 64
_SETS_A_GAP = 8
_MAX_QUERIES = 2_000


@dataclass(frozen=True, slots=True)
class NeededGaps:
    """Distinct sets of gaps (sets x gaps), with the weight of the queries that need each set."""

    gaps: Positions
    needs: Mask
    weights: npt.NDArray[np.float64]

    def weight(self, chosen: Mask) -> float:
        """Return the weight of the queries that a set of gaps (a mask over ``gaps``) skips."""
        return float(self.weights[~(self.needs & ~chosen).any(axis=1)].sum())


def disjunctive_gaps(values: pa.Array, workload: RangeWorkload, k: int) -> Positions:
    """Return at most ``k`` gaps in rising order, for queries that may be ORs of ranges."""
    needed = needed_gaps(values, workload)
    return needed.gaps[densest_gaps(needed, k)]


def needed_gaps(values: pa.Array, workload: RangeWorkload) -> NeededGaps:
    """Return the sets of gaps that queries need to be skipped.

    Queries that cannot be skipped, or need no gap, are left out, and so are the lightest above 2,000.
    """
    places = workload.places(values)
    queries = len(workload.weights)
    full = np.bincount(workload.query, places.low < places.high, queries) > 0
    inside = (places.low == places.high) & (places.low > 0) & (places.low < len(values))
    inside &= ~full[workload.query] & (workload.weights[workload.query] > 0)
    able = np.unique(workload.query[inside])
    if len(able) > _MAX_QUERIES:
        heaviest = able[np.argsort(-workload.weights[able], kind="stable")[:_MAX_QUERIES]]
        inside &= np.isin(workload.query, heaviest)
    gaps, column = np.unique(places.low[inside], return_inverse=True)
    owners, row = np.unique(workload.query[inside], return_inverse=True)
    if not len(gaps):
        return NeededGaps(gaps, np.zeros((0, 0), np.bool_), np.zeros(0))
    needs = np.zeros((len(owners), len(gaps)), np.bool_)
    needs[row, column] = True
    packed, which = np.unique(np.packbits(needs, axis=1), axis=0, return_inverse=True)
    distinct = np.unpackbits(packed, axis=1, count=len(gaps)).astype(np.bool_)
    weights = np.bincount(which.ravel(), workload.weights[owners], len(packed)).astype(np.float64)
    return NeededGaps(gaps.astype(np.int64), distinct, weights)


def densest_gaps(needed: NeededGaps, k: int) -> Mask:
    """Return a mask of at most ``k`` of the gaps."""
    fits = needed.needs.sum(axis=1) <= k
    none = np.zeros(len(needed.gaps), np.bool_)
    if k <= 0 or not fits.any():
        return none
    used: Mask = np.any(needed.needs[fits], axis=0)
    if used.sum() <= k:
        return used
    task = _promising(needed, fits, max(_MIN_SETS, _SETS_A_GAP * k))
    starts = list(task.needs[:_STARTS])
    starts.append(_peeled(task, k))
    best = max((_completed(task, start, k) for start in starts), key=task.weight)
    return np.isin(needed.gaps, task.gaps[_swapped(task, best, k)])


def _promising(needed: NeededGaps, fits: Mask, most: int) -> NeededGaps:
    """Return the sets of greatest weight for each gap, in that order, and their gaps."""
    density = np.where(fits, needed.weights / needed.needs.sum(axis=1), -1.0)
    sets = np.argsort(-density, kind="stable")[: min(most, int(fits.sum()))]
    gaps = np.flatnonzero(needed.needs[sets].any(axis=0))
    return NeededGaps(needed.gaps[gaps], needed.needs[np.ix_(sets, gaps)], needed.weights[sets])


def _completed(task: NeededGaps, chosen: Mask, k: int) -> Mask:
    """Add hyperedges while one fits."""
    while True:
        missing = (task.needs & ~chosen).sum(axis=1)
        able = np.flatnonzero((missing > 0) & (missing <= k - chosen.sum()))
        if not len(able):
            return chosen
        # The other hyperedges that a hyperedge completes are computed for the most promising hyperedges only.
        promising = able[np.argsort(-task.weights[able] / missing[able], kind="stable")[:_LOOKAHEAD]]
        lacking = (task.needs & ~chosen).astype(np.float32)
        brought = lacking @ task.needs[promising].T.astype(np.float32)
        adds = task.weights @ ((brought == missing[:, None]) & (missing[:, None] > 0))
        chosen = chosen | task.needs[promising[int(np.argmax(adds / missing[promising]))]]


def _peeled(task: NeededGaps, k: int) -> Mask:
    chosen = np.ones(len(task.gaps), np.bool_)
    alive = np.ones(len(task.weights), np.bool_)
    degree = task.weights @ task.needs
    for _ in range(int(chosen.sum()) - k):
        weakest = int(np.argmin(np.where(chosen, degree, np.inf)))
        chosen[weakest] = False
        gone = alive & task.needs[:, weakest]
        alive &= ~gone
        degree = degree - task.weights[gone] @ task.needs[gone]
    return chosen


def _swapped(task: NeededGaps, chosen: Mask, k: int) -> Mask:
    """Exchange the least needed gaps for hyperedges while the weight rises."""
    best = task.weight(chosen)
    for _ in range(_MAX_SWAPS):
        missing = (task.needs & ~chosen).sum(axis=1)
        entering = np.flatnonzero(missing > 0)
        entering = entering[np.argsort(-task.weights[entering] / missing[entering], kind="stable")]
        for each in entering[:_LOOKAHEAD]:
            other = _made_room(task, chosen | task.needs[each], task.needs[each], k)
            if (weight := task.weight(other)) > best * (1 + 1e-12):
                chosen, best = other, weight
                break
        else:
            return chosen
    return chosen


def _made_room(task: NeededGaps, chosen: Mask, fixed: Mask, k: int) -> Mask:
    chosen = chosen.copy()
    while chosen.sum() > k:
        complete = ~(task.needs & ~chosen).any(axis=1)
        lost = task.weights[complete] @ task.needs[complete]
        leaving = int(np.argmin(np.where(chosen & ~fixed, lost, np.inf)))
        chosen[leaving] = False
    return _completed(task, chosen, k)
