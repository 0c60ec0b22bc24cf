"""Simulate the documents of a tree in file order: dimension codes, and the rows behind each document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from starskip.advisor.families.star_tree.recommend.combinations import Codes, Keys
from starskip.advisor.families.star_tree.recommend.cuboids import Dimensions, Flags
from starskip.advisor.families.star_tree.recommend.simulated_tree import SimulatedTree


@dataclass(frozen=True, slots=True)
class DocumentCodes:
    """Documents in their order: an array for each dimension in split order, and the rows of each."""

    codes: tuple[Codes, ...]
    rows: Keys

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.rows)

    def take(self, positions: Keys) -> DocumentCodes:
        """Return the documents at ``positions``."""
        return DocumentCodes(tuple(column[positions] for column in self.codes), self.rows[positions])


def base_documents(tree: SimulatedTree, most: int) -> DocumentCodes:
    """Return the documents without a star, sorted; evenly thinned to ``most``."""
    everything = tree.layout.below(0)
    found = _documents(tree, everything, np.ones(tree.cuboids.combinations(everything).kept, bool))
    return _sorted([_thinned(found, most / max(len(found), 1))])


def star_documents(tree: SimulatedTree, most: int) -> DocumentCodes:
    """Return the documents with a star, sorted, the star the greatest; evenly thinned to ``most``."""
    parts = list(_star_parts(tree))
    if not parts:
        nothing = np.empty(0, np.int32)
        return DocumentCodes((nothing,) * len(tree.layout.dimensions_split_order), np.empty(0, np.int64))
    ratio = most / max(sum(map(len, parts)), 1)
    return _sorted([_thinned(part, ratio) for part in parts])


def _star_parts(tree: SimulatedTree) -> Iterator[DocumentCodes]:
    for level, nodes in enumerate(tree.levels()):
        for item in nodes:
            if item.has_own.any():
                yield _documents(tree, item.concrete, item.has_own)
            if item.has_star.any():
                below = item.concrete | tree.layout.below(level + 1)
                positions = tree.cuboids.projection(below, item.concrete)
                yield _documents(tree, below, item.has_star[positions] & (positions >= 0))


def _documents(tree: SimulatedTree, of: Dimensions, which: Flags) -> DocumentCodes:
    combinations = tree.cuboids.combinations(of)
    positions = np.flatnonzero(which)
    codes = []
    for name in tree.layout.dimensions_split_order:
        star = len(tree.cuboids.values[name]) + 1
        column = (
            combinations.codes[name][positions] if name in of else np.full(len(positions), star, np.int32)
        )
        codes.append(column)
    return DocumentCodes(tuple(codes), combinations.rows[positions])


def _thinned(found: DocumentCodes, ratio: float) -> DocumentCodes:
    if ratio >= 1:
        return found
    return found.take(np.linspace(0, len(found) - 1, max(int(len(found) * ratio), 1)).astype(np.int64))


def _sorted(parts: Sequence[DocumentCodes]) -> DocumentCodes:
    codes = tuple(np.concatenate(columns) for columns in zip(*(part.codes for part in parts), strict=True))
    rows = np.concatenate([part.rows for part in parts])
    return DocumentCodes(codes, rows).take(np.lexsort(codes[::-1]))
