"""What is chosen, what is refused and why: the values that ``choose_indexes`` answers with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from starskip.number_text import share, size


class IndexRefusal(Enum):
    """Why a skipping index is not chosen."""

    NO_QUERY = "no_query"
    SAVES_NOTHING = "saves_nothing"
    BELOW_MIN_GAIN = "below_min_gain"
    COVERED_BY_CHOSEN = "covered_by_chosen"
    NEEDS_ANOTHER = "needs_another"
    OVER_BUDGET = "over_budget"
    SIZE_UNKNOWN = "size_unknown"
    LAYOUT = "layout"


class Method(Enum):
    """How a choice was found: proved best, or good and within a gap."""

    EXACT = "exact"
    GREEDY = "greedy"


@dataclass(frozen=True, slots=True)
class ChoiceLimits:
    """What chosen indexes may take and must bring, and how long the choice may be thought about.

    ``min_gain_ratio``: share of all that is read which an index must save. ``switch_gain_ratio``: what
    another set must save more than one of the last choice. ``max_patterns``, ``node_limit``: beyond them
    the greedy choice.
    """

    budget_bytes: int | None = None
    min_gain_ratio: float = 0.0
    switch_gain_ratio: float = 0.0
    max_patterns: int = 10_000
    node_limit: int = 5_000


@dataclass(frozen=True, slots=True)
class ChosenIndex:
    """A chosen index; shares of all that is read: what it saves alone, and beyond those ranked before it."""

    specification: str
    individual_saving_ratio: float
    progressive_saving_ratio: float
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class RefusedIndex:
    """An index that is not chosen, why, and a sentence with the figures."""

    specification: str
    reason: IndexRefusal
    detail: str
    individual_saving_ratio: float
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class IndexChoice:
    """The choice of one table's skipping indexes, best first.

    ``total``: bytes (or rows) that the queries read without indexes. ``gap_ratio``: by how much of what it
    is worth a better set could be better; 0 where none is.
    """

    chosen: tuple[ChosenIndex, ...]
    refused: tuple[RefusedIndex, ...]
    total: float
    saving: float
    size_bytes: int
    method: Method
    gap_ratio: float
    patterns: int

    @property
    def saving_ratio(self) -> float:
        """The share of all that is read which the chosen indexes save."""
        return self.saving / self.total if self.total else 0.0

    @property
    def sentence(self) -> str:
        """One line for logs: what was chosen among how much, and how sure that is."""
        gap = share(self.gap_ratio)
        proved = f"at most {gap} more could be saved" if self.gap_ratio > 0 else "proved best"
        return (
            f"{len(self.chosen)} of {len(self.chosen) + len(self.refused)} indexes, {size(self.size_bytes)},"
            f" save {share(self.saving_ratio)} of what is read"
            f" ({self.method.value}, {self.patterns} patterns, {proved})"
        )
