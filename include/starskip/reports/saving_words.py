"""Sentences on the saving of all changes together: what it is a share of, and what each part of it brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any

from starskip.advisor.families.families import named
from starskip.advisor.selection.combined_saving import OF_COLUMNS
from starskip.number_text import LEAST_WHOLE, fine_percent, percent, percent_range, share
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


def share_with_interval(ratio: float, interval: Interval, decimals: int | None = None) -> str:
    """Return a saving as sentences show it: ``63 % (90 % interval 60–66 %)``; ``decimals``: of the saving."""
    of_range = 0 if abs(ratio) >= LEAST_WHOLE else 1
    saving = share(ratio) if decimals is None else percent(ratio, decimals)
    return f"{saving} (90 % interval {percent_range(interval.low, interval.high, of_range)})"


def together_words(combined: CombinedSavingEvidence, changes: int) -> str:
    """Return a clause: ``all changes together save 85.3 % of all entries scanned, … : 65.8 % by …``."""
    has_parts = len(combined.parts) > 1
    saved = share_with_interval(combined.saving_ratio, combined.interval, decimals=1 if has_parts else None)
    subject = "the change saves" if changes == 1 else "all changes together save"
    words = f"{subject} {saved.replace(' (', f' of {ALL_ENTRIES} (', 1)}"
    if has_parts:
        shown = _adding_up(combined.saving_ratio, list(combined.parts.values()))
        words += ": " + ", ".join(
            f"{part} by {_noun(name)}" for part, name in zip(shown, combined.parts, strict=True)
        )
    return words


def _adding_up(whole: float, parts: Sequence[float]) -> list[str]:
    """Return the parts of a share as sentences show them, rounded so that they add up to it."""
    shown = [floor(part * 1_000) for part in parts]
    # Rounded as the whole is shown: 6.35 % is 6.3 %, since it lies a trace below.
    missing = max(round(round(whole * 100, 1) * 10) - sum(shown), 0)
    for place in sorted(range(len(parts)), key=lambda each: shown[each] - parts[each] * 1_000)[:missing]:
        shown[place] += 1
    return [
        percent(rounded / 1_000) if rounded else f"{'−' if part < 0 else ''}{fine_percent(abs(part))}"
        for rounded, part in zip(shown, parts, strict=True)
    ]


def _noun(part: str) -> str:
    family = named(part)
    if family is not None:
        return family.plural
    if part == OF_COLUMNS:
        return "indexes on columns"
    return code_as_words(part) if is_plain_code(part) else "others"
