"""Votes and offers of one table in milliseconds.

Entries of a shape's queries become milliseconds by the shape's own rate (``shape_times``), so that the vote
of an index is ``(observed ms - constant) * (1 - L_with / L_without)``. Everything that chooses among votes
does so by their sums, whichever unit they are in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer
from starskip.advisor.families.file_skips import FileSkips
from starskip.advisor.latency.shape_times import ShapeRate, ShapeTimes
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.look_back import NightVotes
from starskip.advisor.selection.recommendation import Entries
from starskip.advisor.selection.tonight import Tonight
from starskip.advisor.selection.vote_list import Saving, VoteList
from starskip.advisor.workload.shape_entries import ShapeEntries


def timed(tonight: Tonight, times: ShapeTimes) -> Tonight:
    """Return ``tonight`` with everything that a choice adds up in milliseconds instead of entries."""
    window = tonight.window
    skips = [_timed_skips(each, times.usual) for each in tonight.question.skips]
    return replace(
        tonight,
        question=replace(tonight.question, skips=skips),
        window=_timed_window(window, times),
        offers={name: _timed_offer(each, window, times) for name, each in tonight.offers.items()},
        budget=replace(tonight.budget, is_timed=True),
        plain=tonight,
    )


def in_unit_of(tonight: Tonight, answers: ChosenAnswers) -> ChosenAnswers:
    """Return chosen answers with savings in the unit of ``tonight``."""
    known = {candidate.index: candidate for candidate in tonight.candidates}
    return replace(
        answers,
        answers=tuple(known[each.index] for each in answers.answers),
        refused=tuple((known.get(each.index, each), why) for each, why in answers.refused),
    )


def _timed_window(window: NightVotes, times: ShapeTimes) -> NightVotes:
    shapes = {
        shape_id: _timed_shape(shape, times.rate(shape_id)) for shape_id, shape in window.shapes.items()
    }
    return replace(
        window,
        lists=[_timed_list(votes, times.rate(votes.shape_id).in_filter_ms) for votes in window.lists],
        shapes=shapes,
        entries=Entries(
            sum((shape.entries for shape in shapes.values()), start=0.0),
            sum((_of_filter_squared(shape) for shape in shapes.values()), start=0.0),
        ),
    )


def _timed_list(votes: VoteList, ms: float) -> VoteList:
    savings = {needed: _timed(saving, ms) for needed, saving in votes.alternatives.items()}
    return VoteList(votes.table, votes.shape_id, votes.disjunct, savings, votes.is_complete)


def _timed(saving: Saving, ms: float) -> Saving:
    each = ms * saving.priced / saving.entries if saving.entries else 0.0
    return Saving(saving.priced * ms, saving.squared * each**2, saving.cross * ms * each)


def _timed_shape(shape: ShapeEntries, rate: ShapeRate) -> ShapeEntries:
    return ShapeEntries(
        shape.queries,
        shape.entries * rate.in_filter_ms,
        shape.post_filter * rate.post_filter_ms,
        shape.squared * _mean_ms(shape, rate) ** 2,
    )


def _of_filter_squared(shape: ShapeEntries) -> float:
    return shape.squared * (shape.entries / shape.all_entries) ** 2 if shape.all_entries > 0 else 0.0


def _mean_ms(shape: ShapeEntries | None, rate: ShapeRate) -> float:
    """Return the milliseconds of a mean entry, in filter or post filter."""
    if shape is None or shape.all_entries <= 0:
        return rate.in_filter_ms
    return (shape.entries * rate.in_filter_ms + shape.post_filter * rate.post_filter_ms) / shape.all_entries


def _timed_offer(offer: AnswerOffer, window: NightVotes, times: ShapeTimes) -> AnswerOffer:
    def timed_candidate(candidate: AnswerCandidate) -> AnswerCandidate:
        return replace(
            candidate, saving_entries=_timed_savings(candidate.saving_entries, window.shapes, times)
        )

    return replace(
        offer,
        candidates=tuple(map(timed_candidate, offer.candidates)),
        total_entries=offer.total_entries * times.usual.in_filter_ms,
    )


def _timed_savings(
    saved: Mapping[str, float], shapes: Mapping[str, ShapeEntries], times: ShapeTimes
) -> dict[str, float]:
    return {
        shape_id: entries * _mean_ms(shapes.get(shape_id), times.rate(shape_id))
        for shape_id, entries in saved.items()
    }


def _timed_skips(skips: FileSkips, usual: ShapeRate) -> FileSkips:
    """Return the skips in milliseconds; a row of a file counts as an entry of usual cost."""
    ms = usual.in_filter_ms
    return replace(
        skips,
        saving_entries={sets: entries * ms for sets, entries in skips.saving_entries.items()},
        must_gain_entries={index: entries * ms for index, entries in skips.must_gain_entries.items()},
    )
