"""Describe a read of a star-tree: its filters and grouping, and the documents and entries that it touches."""

from __future__ import annotations

from dataclasses import dataclass

from starskip.star_tree.query.conjuncts import Conjunct


@dataclass(frozen=True, slots=True)
class TreeRead:
    """``conjuncts``: conditions of an AND, each on at most one dimension. ``group_by_columns``: the keys."""

    conjuncts: tuple[Conjunct, ...]
    group_by_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TreeReading:
    """``aggregated``: documents of nodes. ``of_leaves``: documents of leaves, on which predicates remain.

    ``passing``: documents of leaves that meet these predicates. ``entries_in_filter``: scanned by Pinot for
    them.
    """

    aggregated: float = 0.0
    of_leaves: float = 0.0
    passing: float = 0.0
    entries_in_filter: float = 0.0

    @property
    def documents(self) -> float:
        """Documents read."""
        return self.aggregated + self.of_leaves

    @property
    def documents_scanned(self) -> float:
        """Documents that Pinot counts as numDocsScanned: the documents that meet all predicates."""
        return self.aggregated + self.passing

    def times(self, factor: float) -> TreeReading:
        """Return ``factor`` such readings together."""
        return TreeReading(
            factor * self.aggregated,
            factor * self.of_leaves,
            factor * self.passing,
            factor * self.entries_in_filter,
        )

    def plus(self, other: TreeReading) -> TreeReading:
        """Return both together."""
        return TreeReading(
            self.aggregated + other.aggregated,
            self.of_leaves + other.of_leaves,
            self.passing + other.passing,
            self.entries_in_filter + other.entries_in_filter,
        )
