"""The saving of all changes together, as a share of all entries that the queries scan.

In filter and post filter: an index leaves the entries post filter as they are, an index that serves whole
queries replaces both. A shape that such an index serves counts with what it still reads there, any other with
what the indexes on columns save. The parts add up to the whole.

The interval is that of ``saving_interval``, over whole queries: the night's queries are a draw from the
workload that the changes are meant for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from starskip.advisor.families.index import Index
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.look_back import NightVotes
from starskip.advisor.selection.saving_interval import Z_90, SavingInterval, squared_savings
from starskip.advisor.selection.vote_list import VoteList
from starskip.advisor.workload.shape_entries import ShapeEntries

OF_COLUMNS = "indexes"
"""The part of the indexes on columns, or of the sort order where it alone was asked for."""


@dataclass(frozen=True, slots=True)
class CombinedSaving:
    """Entries in filter and post filter, as they are and with all changes, and the saving as their ratio.

    ``parts``: by family of indexes that serve whole queries, and for all others under ``indexes``, the share
    of all entries that each saves beside the rest; they add up to ``saving.ratio``.
    """

    saving: SavingInterval
    entries_before: float
    entries_after: float
    parts: Mapping[str, float] = field(default_factory=dict)

    def to_document(self) -> dict[str, Any]:
        """Return the saving as JSON has it."""
        return {
            "saving_ratio": self.saving.ratio,
            "interval": [self.saving.low, self.saving.high],
            "entries_before": round(self.entries_before),
            "entries_after": round(self.entries_after),
            "parts": dict(self.parts),
        }


NO_SAVING = CombinedSaving(SavingInterval(0.0, 0.0, 0.0), 0.0, 0.0)


def combined_saving(
    window: NightVotes,
    lists: Sequence[VoteList],
    chosen: Collection[Index],
    answers: ChosenAnswers,
    model_error_ratio: float,
) -> CombinedSaving:
    """Return the saving of ``chosen`` and ``answers``; ``lists``: the votes for indexes on columns."""
    shapes = window.shapes
    before = window.all_entries
    if before <= 0:
        return NO_SAVING
    built = frozenset(chosen)
    left = [(votes, votes.saving(built)) for votes in answers.unanswered(lists)]
    parts = {OF_COLUMNS: sum(saving.entries for _, saving in left)} if built else {}
    squared = squared_savings(left)
    cross = sum(saving.cross * _whole_ratio(shapes.get(votes.shape_id)) for votes, saving in left)
    for shape_id, position in answers.answered.items():
        shape = shapes.get(shape_id)
        if shape is None or shape.all_entries <= 0:
            continue
        answer = answers.answers[position]
        saved = min(answer.saving_entries[shape_id], shape.all_entries)
        parts[answer.index.family] = parts.get(answer.index.family, 0.0) + saved
        # The queries of a shape that one index serves are taken to save the same share.
        ratio = saved / shape.all_entries
        squared += ratio**2 * shape.squared
        cross += ratio * shape.squared
    saved = sum(parts.values())
    ratio = saved / before
    of_queries = squared - 2 * ratio * cross + ratio**2 * sum(shape.squared for shape in shapes.values())
    model = model_error_ratio * 4 * max(ratio, 0.0) * (1 - min(ratio, 1.0))
    half = Z_90 * sqrt(max(of_queries, 0.0) / before**2 + model**2)
    return CombinedSaving(
        SavingInterval(ratio, ratio - half, min(ratio + half, 1.0)),
        before,
        before - saved,
        {family: entries / before for family, entries in parts.items()},
    )


def _whole_ratio(shape: ShapeEntries | None) -> float:
    """Return all entries of a shape for one in filter."""
    return shape.all_entries / shape.entries if shape is not None and shape.entries > 0 else 1.0
