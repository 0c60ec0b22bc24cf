"""Evidence for the proposal of a drop: an index that few logs do not name may still be needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starskip.advisor.selection.look_back import NightVotes


@dataclass(frozen=True, slots=True)
class DropEvidence:
    """Queries of some nights, and how many were not understood; printed as "9 queries in 1 night"."""

    queries: float
    unparsed: float
    nights: int

    def __str__(self) -> str:
        """Return the number of queries and nights in words."""
        nights = "1 night" if self.nights == 1 else f"{self.nights} nights"
        return f"{self.queries:,.0f} queries in {nights}"

    def lack(self, min_queries: int, max_unparsed_ratio: float) -> str:
        """Return why the evidence is too little to call an index unneeded; empty if it is enough."""
        if self.queries < min_queries:
            return f"{self} are too few to call an index unneeded: at least {min_queries:,} are asked for"
        if self.unparsed > max_unparsed_ratio * self.queries:
            return f"{self.unparsed:,.0f} of {self} were not understood, and may need any of the indexes"
        return ""


def drop_evidence(nights: Sequence[NightVotes]) -> DropEvidence:
    """Return the evidence of ``nights``; each counts in full, however old."""
    return DropEvidence(
        sum((night.queries for night in nights), start=0.0),
        sum((night.unparsed for night in nights), start=0.0),
        len(nights),
    )
