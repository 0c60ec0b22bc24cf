"""A choice of skipping indexes: chosen and refused ones, and the limits that it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf

from starskip.advisor.families.verdict import Verdict
from starskip.number_text import share, size


@dataclass(frozen=True, slots=True)
class FileIndexLimits:
    """Limits of the choice.

    ``min_gain_ratio``: least share of all bytes read that an index must save. ``switch_gain_ratio``: how much
    more another set must save to replace an index of the last choice.
    """

    budget_bytes: int | None = None
    min_gain_ratio: float = 0.0
    switch_gain_ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class IndexChoice:
    """The choice of one table's skipping indexes, best first.

    ``total``: bytes (or rows) that the queries read without indexes. ``gap_ratio``: how much a better set
    could add at most, as a share of its value; 0 if the choice is optimal.
    """

    chosen: tuple[Verdict, ...]
    refused: tuple[Verdict, ...]
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
        proved = "unproved" if isinf(self.gap_ratio) else proved
        return (
            f"{len(self.chosen)} of {len(self.chosen) + len(self.refused)} indexes, {size(self.size_bytes)},"
            f" save {share(self.saving_ratio)} of all data read"
            f" ({self.patterns} patterns, {proved})"
        )
