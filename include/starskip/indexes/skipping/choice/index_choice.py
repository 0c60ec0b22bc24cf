"""What a choice of skipping indexes is: chosen and refused ones, and the limits that it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from starskip.number_text import share, size


class IndexRefusal(Enum):
    """Reasons why a skipping index is not chosen."""

    NO_QUERY = "no_query"
    SAVES_NOTHING = "saves_nothing"
    BELOW_MIN_GAIN = "below_min_gain"
    COVERED_BY_CHOSEN = "covered_by_chosen"
    NEEDS_ANOTHER = "needs_another"
    OVER_BUDGET = "over_budget"
    SIZE_UNKNOWN = "size_unknown"
    LAYOUT = "layout"


@dataclass(frozen=True, slots=True)
class ChoiceLimits:
    """Limits of the choice.

    ``min_gain_ratio``: least share of all bytes read that an index must save. ``switch_gain_ratio``: how much
    more another set must save to replace an index of the last choice.
    """

    budget_bytes: int | None = None
    min_gain_ratio: float = 0.0
    switch_gain_ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class ChosenIndex:
    """A chosen index with shares of all bytes read: saved alone, and beyond the indexes ranked before it."""

    specification: str
    individual_saving_ratio: float
    progressive_saving_ratio: float
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class RefusedIndex:
    """A refused index, the reason, and a sentence with figures."""

    specification: str
    reason: IndexRefusal
    detail: str
    individual_saving_ratio: float
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class IndexChoice:
    """The choice of one table's skipping indexes, best first.

    ``total``: bytes (or rows) that the queries read without indexes. ``gap_ratio``: how much a better set
    could add at most, as a share of its value; 0 if the choice is optimal.
    """

    chosen: tuple[ChosenIndex, ...]
    refused: tuple[RefusedIndex, ...]
    total: float
    saving: float
    size_bytes: int
    gap_ratio: float
    patterns: int

    @property
    def saving_ratio(self) -> float:
        """The share of all bytes read that the chosen indexes save."""
        return self.saving / self.total if self.total else 0.0

    @property
    def sentence(self) -> str:
        """One line for logs: the choice, its saving and its proof."""
        gap = share(self.gap_ratio)
        proved = f"at most {gap} more could be saved" if self.gap_ratio > 0 else "proved best"
        return (
            f"{len(self.chosen)} of {len(self.chosen) + len(self.refused)} indexes, {size(self.size_bytes)},"
            f" save {share(self.saving_ratio)} of what is read"
            f" ({self.patterns} patterns, {proved})"
        )
