"""Choose indexes greedily, with a bound, where there are too many patterns for the exact choice.

Greedy over bundles (sets of indexes that skip together) by added value for each byte, and once more by added
value; the better result, or the best single bundle. With bundles of one index that is at least (1 - 1/e) / 2
of the optimum (Khuller, Moss and Naor, 1999). Evaluation is lazy: the added value of a bundle falls as others
are added, except for bundles that share an index with them, which are evaluated again.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from starskip.indexes.skipping.choice.coverage import Amounts, Coverage, Positions, Solution
from starskip.indexes.skipping.file_metadata import Mask


def greedy_choice(task: Coverage) -> Solution:
    """Return a set within the budget, and an upper bound of the value of any set."""
    dense, plain = _greedy(task, by_size=True), _greedy(task, by_size=False)
    singles = (bundle for bundle in task.bundles if task.fits(bundle))
    best = max((frozenset[int](), dense[-1], plain[-1], *singles), key=task.value)
    bounds = _bounds(task, [*dense, best])
    return Solution(best, max(min(bounds), task.value(best)))


@dataclass(slots=True)
class _Search:
    task: Coverage
    patterns: list[Positions]
    """The patterns of each bundle."""
    touching: list[list[int]]
    """The bundles of each index."""
    covered: Mask
    built: frozenset[int] = frozenset()
    heap: list[tuple[float, int, int]] = field(default_factory=list)

    def newly(self, number: int) -> frozenset[int]:
        return self.task.bundles[number] - self.built

    def added(self, number: int) -> Positions:
        """Return the patterns that a bundle newly covers, with all bundles that it completes."""
        newly = self.newly(number)
        union = self.built | newly
        completed = {each for index in newly for each in self.touching[index]}
        found = [self.patterns[each] for each in completed if self.task.bundles[each] <= union]
        patterns = np.unique(np.concatenate(found)) if len(found) > 1 else found[0]
        return patterns[~self.covered[patterns]]

    def gain(self, number: int, by_size: bool) -> float:
        newly = self.newly(number)
        net = float(self.task.weights[self.added(number)].sum()) - float(sum(self.task.must[list(newly)]))
        return net / max(self.task.size_bytes(newly), 1) if by_size else net

    def push(self, number: int, by_size: bool, step: int) -> None:
        if self.newly(number):
            heapq.heappush(self.heap, (-self.gain(number, by_size), number, step))


def _greedy(task: Coverage, by_size: bool) -> list[frozenset[int]]:
    """Return the sets after each step."""
    search = _Search(task, _by_bundle(task), _touching(task), np.zeros(len(task.weights), np.bool_))
    steps = [search.built]
    for number in range(len(task.bundles)):
        search.push(number, by_size, 0)
    while search.heap:
        gain, number, step = heapq.heappop(search.heap)
        newly = search.newly(number)
        if not newly or not task.fits(search.built | newly):
            continue
        if step < len(steps) - 1:
            search.push(number, by_size, len(steps) - 1)
            continue
        if gain >= 0:
            break
        search.covered[search.added(number)] = True
        search.built |= newly
        steps.append(search.built)
        for each in {other for index in newly for other in search.touching[index]}:
            search.push(each, by_size, len(steps) - 1)
    return steps


def _by_bundle(task: Coverage) -> list[Positions]:
    order = np.argsort(task.bundle_of_pair, kind="stable")
    ends = np.cumsum(np.bincount(task.bundle_of_pair, minlength=len(task.bundles)))
    return np.split(task.pattern_of_pair[order], ends[:-1]) if len(ends) else []


def _touching(task: Coverage) -> list[list[int]]:
    touching: list[list[int]] = [[] for _ in task.indexes]
    for number, bundle in enumerate(task.bundles):
        for index in bundle:
            touching[index].append(number)
    return touching


def _bounds(task: Coverage, sets: list[frozenset[int]]) -> Iterator[float]:
    """Yield an upper bound from each set T: g(T) + the fractional knapsack of what single indexes add to g.

    g counts a pattern as partly covered, by the greatest share of one of its bundles that each index
    contributes. It is never below the saving, and submodular, so no set adds more than the sum of its
    indexes.
    """
    shares = _shares(task)
    rows = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
    for held in sets:
        mask = np.zeros(len(task.indexes))
        mask[list(held)] = 1.0
        cover = np.minimum(shares @ mask, 1.0)
        increase = np.minimum(cover[rows] + shares.data, 1.0) - cover[rows]
        adds = np.bincount(shares.indices, task.weights[rows] * increase, len(task.indexes)) * (1 - mask)
        yield float(task.weights @ cover) + _knapsack(task, np.maximum(adds - task.must, 0.0))


def _shares(task: Coverage) -> csr_array:
    """Return by pattern and index the share: 1 for a bundle of one index, 1/2 for a bundle of two."""
    found: dict[tuple[int, int], float] = {}
    for pattern, number in zip(task.pattern_of_pair.tolist(), task.bundle_of_pair.tolist(), strict=True):
        for index in task.bundles[number]:
            key = (pattern, index)
            found[key] = max(found.get(key, 0.0), 1.0 / len(task.bundles[number]))
    keys = np.array(list(found), np.int64).reshape(-1, 2)
    shape = (len(task.weights), len(task.indexes))
    return csr_array((np.array(list(found.values())), (keys[:, 0], keys[:, 1])), shape=shape)


def _knapsack(task: Coverage, values: Amounts) -> float:
    if task.budget_bytes is None:
        return float(values.sum())
    sizes = np.array(task.sizes, np.float64)
    values = np.where(sizes > task.budget_bytes, 0.0, values)
    order = np.argsort(-values / np.maximum(sizes, 1e-9), kind="stable")
    before = np.concatenate([[0.0], np.cumsum(sizes[order])[:-1]])
    room = np.maximum(task.budget_bytes - before, 0.0)
    taken = np.where(sizes[order] > 0, np.minimum(room / np.maximum(sizes[order], 1e-9), 1.0), 1.0)
    return float((values[order] * taken).sum())
