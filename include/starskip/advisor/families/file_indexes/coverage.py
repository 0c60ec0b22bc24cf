"""The choice of indexes as a weighted coverage problem over skip patterns, in arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starskip.advisor.families.file_indexes.skip_patterns import SkipPatterns

Positions = npt.NDArray[np.int64]
Amounts = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Patterns as pairs (pattern, bundle); a bundle is a set of indexes, by position in ``indexes``.

    ``must``: the least saving of each index, negative for an index of the last choice. ``sizes``: bytes.
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
        """Return the saving of a set of indexes."""
        held = frozenset(chosen)
        built = np.fromiter((bundle <= held for bundle in self.bundles), np.bool_, len(self.bundles))
        covered = np.zeros(len(self.weights), np.bool_)
        covered[self.pattern_of_pair[built[self.bundle_of_pair]]] = True
        return float(self.weights[covered].sum())

    def fits(self, chosen: Collection[int]) -> bool:
        """Return whether a set fits the budget exactly."""
        return self.budget_bytes is None or self.size_bytes(chosen) <= self.budget_bytes

    def size_bytes(self, chosen: Collection[int]) -> int:
        """Return the size of a set."""
        return sum(self.sizes[number] for number in chosen)


def coverage(
    patterns: SkipPatterns, must: Mapping[str, float], sizes: Mapping[str, int], budget_bytes: int | None
) -> Coverage:
    """Build the problem for the indexes in ``must``; bundles with other indexes are dropped."""
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
