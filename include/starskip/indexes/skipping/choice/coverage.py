"""The choice as numbers: which patterns a set of indexes covers, what that saves, what it takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starskip.indexes.skipping.choice.skip_patterns import SkipPatterns

Positions = npt.NDArray[np.int64]
Amounts = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Solution:
    """Positions of the chosen indexes, and what no set can be worth more than."""

    chosen: frozenset[int]
    bound: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """Patterns as pairs (pattern, bundle), a bundle being a set of indexes, as positions in ``indexes``.

    ``must``: what each index has to save; below 0 for one that is favoured. ``sizes``: its bytes.
    """

    indexes: tuple[str, ...]
    bundles: tuple[frozenset[int], ...]
    pattern_of_pair: Positions
    bundle_of_pair: Positions
    weights: Amounts
    must: Amounts
    sizes: tuple[int, ...]
    budget_bytes: int | None

    def saving(self, chosen: Collection[int]) -> float:
        """Return what a set of indexes saves."""
        held = frozenset(chosen)
        built = np.fromiter((bundle <= held for bundle in self.bundles), np.bool_, len(self.bundles))
        covered = np.zeros(len(self.weights), np.bool_)
        covered[self.pattern_of_pair[built[self.bundle_of_pair]]] = True
        return float(self.weights[covered].sum())

    def value(self, chosen: Collection[int]) -> float:
        """Return what a set saves beyond what it must."""
        return self.saving(chosen) - float(sum(self.must[number] for number in chosen))

    def fits(self, chosen: Collection[int]) -> bool:
        """Tell whether a set stays within the budget, exactly."""
        return self.budget_bytes is None or self.size_bytes(chosen) <= self.budget_bytes

    def size_bytes(self, chosen: Collection[int]) -> int:
        """Return the bytes of a set."""
        return sum(self.sizes[number] for number in chosen)


def coverage(
    patterns: SkipPatterns, must: Mapping[str, float], sizes: Mapping[str, int], budget_bytes: int | None
) -> Coverage:
    """Return the numbers of the indexes in ``must``; what needs another index skips nothing."""
    indexes = tuple(sorted(must))
    rank = {index: number for number, index in enumerate(indexes)}
    bundles: dict[frozenset[int], int] = {}
    pairs: list[tuple[int, int]] = []
    weights: list[float] = []
    for pattern in sorted(patterns.weights, key=lambda item: sorted(map(sorted, item))):
        usable = sorted(sorted(rank[index] for index in part) for part in pattern if part <= rank.keys())
        if usable:
            pairs += [(len(weights), bundles.setdefault(frozenset(part), len(bundles))) for part in usable]
            weights.append(patterns.weights[pattern])
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return Coverage(
        indexes=indexes,
        bundles=tuple(bundles),
        pattern_of_pair=columns[:, 0],
        bundle_of_pair=columns[:, 1],
        weights=np.array(weights, np.float64),
        must=np.array([must[index] for index in indexes], np.float64),
        sizes=tuple(sizes.get(index, 0) for index in indexes),
        budget_bytes=budget_bytes,
    )
