"""Time that a mean query saves by a set of changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

from starskip.advisor.families.index import Index
from starskip.advisor.latency.shape_times import ShapeTimes, TimeSaving
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.combined_saving import combined_saving
from starskip.advisor.selection.look_back import NightVotes
from starskip.advisor.selection.saving_interval import Z_90
from starskip.advisor.selection.vote_list import VoteList

MISFIT_RATIO = 0.2
"""Error of what one shape saves of its time, as a standard deviation: prices of entries are rough."""
UNSEEN_RATIO = 0.0125
"""Error of a query's time that no entries show, as a standard deviation: what it costs to have an index."""


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


@dataclass(frozen=True, slots=True)
class IndexTimes:
    """Milliseconds that a mean query saves by each part of an advice; they add up to that of the whole.

    ``columns``: by index, what it saves beyond the indexes ranked before it, of queries that no answer
    serves. ``answers``: by position among the chosen answers.
    """

    columns: Mapping[Index, float] = field(default_factory=dict)
    answers: tuple[float, ...] = ()


def index_times(
    window: NightVotes, lists: Sequence[VoteList], ranked: Sequence[Index], answers: ChosenAnswers
) -> IndexTimes:
    """Return the time saved by index; ``ranked``: the indexes, best first; all is timed."""
    queries = sum(shape.queries for shape in window.shapes.values())
    if not queries:
        return IndexTimes()
    left = answers.unanswered(lists)
    columns: dict[Index, float] = {}
    before = 0.0
    for number, index in enumerate(ranked, start=1):
        built = frozenset(ranked[:number])
        saved = sum(votes.saving(built).entries for votes in left) / queries
        columns[index], before = saved - before, saved
    served = [answers.saving_entries(position) / queries for position in range(len(answers.answers))]
    return IndexTimes(columns, tuple(served))
