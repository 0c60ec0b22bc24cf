"""Sentences on the saving of all changes together: what it is a share of, and what each part of it brings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.advisor.families.families import named
from starskip.advisor.selection.combined_saving import OF_COLUMNS
from starskip.number_text import percent_range, share
from starskip.reports.advice_values import CombinedSavingEvidence, Interval
from starskip.reports.sentences import code_as_words, is_plain_code

ALL_ENTRIES = "all entries scanned, in filters and behind them"
"""The base of all savings that are told together."""


def combined_evidence(document: Mapping[str, Any]) -> CombinedSavingEvidence:
    """Return the saving that CombinedSaving.to_document wrote."""
    low, high = document["interval"]
    return CombinedSavingEvidence(
        document["saving_ratio"],
        Interval(low, high),
        document["entries_before"],
        document["entries_after"],
        document["parts"],
    )


def share_with_interval(ratio: float, interval: Interval) -> str:
    """Return a saving as sentences show it: ``63 % (90 % interval 60–66 %)``."""
    decimals = 0 if abs(ratio) >= 0.095 else 1
    return f"{share(ratio)} (90 % interval {percent_range(interval.low, interval.high, decimals)})"


def together_words(combined: CombinedSavingEvidence, changes: int) -> str:
    """Return a clause: ``all changes together save 85 % of all entries scanned, … : 66 % by …``."""
    saved = share_with_interval(combined.saving_ratio, combined.interval)
    subject = "the change saves" if changes == 1 else "all changes together save"
    words = f"{subject} {saved.replace(' (', f' of {ALL_ENTRIES} (', 1)}"
    if len(combined.parts) > 1:
        words += ": " + ", ".join(f"{share(part)} by {_noun(name)}" for name, part in combined.parts.items())
    return words


def _noun(part: str) -> str:
    family = named(part)
    if family is not None:
        return family.plural
    if part == OF_COLUMNS:
        return "indexes on columns"
    return code_as_words(part) if is_plain_code(part) else "others"
