"""Queries of one shape and their entries scanned, over the nights that vote."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShapeEntries:
    """The entries that the queries of one shape scanned, together: ``entries`` in filter.

    ``squared``: the sum over queries of the squares of all their entries, in filter and post filter.
    """

    queries: float
    entries: float
    post_filter: float = 0.0
    squared: float = 0.0

    @property
    def all_entries(self) -> float:
        """The entries in filter and post filter."""
        return self.entries + self.post_filter
