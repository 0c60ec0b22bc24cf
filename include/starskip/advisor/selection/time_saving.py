"""Time that a mean query saves by a set of changes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from starskip.advisor.families.index import Index
from starskip.advisor.latency.shape_times import ShapeTimes
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.combined_saving import combined_saving
from starskip.advisor.selection.look_back import NightVotes
from starskip.advisor.selection.saving_interval import Z_90
from starskip.advisor.selection.vote_list import VoteList

MISFIT_RATIO = 0.2
"""Error of what one shape saves of its time, as a standard deviation: prices of entries are rough."""
UNSEEN_RATIO = 0.0125
"""Error of a query's time that no entries show, as a standard deviation: what it costs to have an index."""


@dataclass(frozen=True, slots=True)
class TimeSaving:
    """Time that a mean query saves, with the 90 % interval, of ``ms_per_query``, which it takes today."""

    ms_per_query: float
    saving_ms: float
    low_ms: float
    high_ms: float

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "ms_per_query": self.ms_per_query,
            "saving_ms": self.saving_ms,
            "interval_ms": [self.low_ms, self.high_ms],
        }


def time_saving(
    window: NightVotes,
    times: ShapeTimes,
    lists: Sequence[VoteList],
    chosen: Collection[Index],
    answers: ChosenAnswers,
    model_error_ratio: float,
) -> TimeSaving:
    """Return what the changes save of a query's time; ``window``, ``lists`` and ``answers`` are timed."""
    queries = sum(shape.queries for shape in window.shapes.values())
    if not queries:
        return TimeSaving(times.ms_per_query, 0.0, 0.0, 0.0)
    combined = combined_saving(window, lists, chosen, answers, model_error_ratio)
    before_ms = combined.entries_before / queries
    saving_ms = combined.saving.ratio * before_ms
    built = frozenset(chosen)
    by_shape: dict[str, float] = {}
    for votes in answers.unanswered(lists):
        by_shape[votes.shape_id] = by_shape.get(votes.shape_id, 0.0) + votes.saving(built).entries
    for shape_id, position in answers.answered.items():
        by_shape[shape_id] = answers.answers[position].saving_entries[shape_id]
    of_rates = sqrt(
        sum(
            saved**2 * (times.rate(shape_id).error_ratio ** 2 + MISFIT_RATIO**2)
            for shape_id, saved in by_shape.items()
        )
    )
    of_entries = (combined.saving.ratio - combined.saving.low) * before_ms
    unseen = UNSEEN_RATIO * times.ms_per_query if built or answers.answers else 0.0
    half = sqrt(of_entries**2 + Z_90**2 * ((of_rates / queries) ** 2 + unseen**2))
    high = min(saving_ms + half, times.ms_per_query)
    return TimeSaving(times.ms_per_query, saving_ms, saving_ms - half, max(high, saving_ms))
