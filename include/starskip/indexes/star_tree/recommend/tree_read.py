"""Purpose of one plan's read of a tree."""

from __future__ import annotations

from dataclasses import dataclass

from starskip.indexes.star_tree.query.conjuncts import Conjunct


@dataclass(frozen=True, slots=True)
class TreeRead:
    """``conjuncts``: ANDed, of at most one dimension each. ``group_by_columns``: what is grouped by."""

    conjuncts: tuple[Conjunct, ...]
    group_by_columns: tuple[str, ...]
