"""The choice without the past: what the last advice kept, and what this night's queries alone would choose.

Both are choices among the candidates of tonight; no row is read for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer
from starskip.advisor.families.index import Index
from starskip.advisor.latency.shape_times import ShapeTimes
from starskip.advisor.selection.choice_steps import (
    ChosenColumns,
    choose_answers,
    choose_columns,
    combined,
    told_lists,
)
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.look_back import NightVotes
from starskip.advisor.selection.past_changes import (
    BELOW_MIN_GAIN,
    NEAR_EQUAL,
    FreshChoice,
    KeptIndex,
    OtherChoice,
)
from starskip.advisor.selection.past_nights import NO_PAST
from starskip.advisor.selection.timed_tonight import in_unit_of, timed
from starskip.advisor.selection.tonight import Tonight
from starskip.advisor.selection.vote_list import lists_of, total_saving

_TIME_RATIO = 0.25
"""Share of the time of a choice that each of these two may take: the advice does not hang on them."""


def fresh_choice(
    tonight: Tonight, answers: ChosenAnswers, columns: ChosenColumns, times: ShapeTimes | None
) -> FreshChoice | None:
    """Return what the past changed of a choice; None if there is no past, or a baseline's ranking decides.

    ``tonight``: in the unit of the choice; ``times``: given if that is milliseconds.
    """
    past = tonight.question.past
    advised = answers.answer_indexes.union(columns.indexes)
    held = past.order if tonight.is_only_sorting else past.chosen | past.kept_answers
    kept: tuple[KeptIndex, ...] = ()
    fresh = tonight_choice = tonight_saving = None
    if tonight.ranking is not None:
        return None
    # Without a member of the last advice, no set but the chosen one could be better.
    if advised & held:
        found = _chosen(_without_past(tonight))
        kept = _kept(tonight, answers, columns, (advised & held) - found.indexes)
        fresh = found.other if found.indexes != advised else None
    if tonight.earlier:
        alone = _alone(tonight.in_entries)
        found = _chosen(_without_past(timed(alone, times) if times is not None else alone))
        tonight_choice = found.other if found.indexes != advised else None
        of_night = in_unit_of(alone, answers)
        tonight_saving = combined(alone, columns.indexes, of_night, told_lists(alone)).saving
    if not kept and fresh is None and tonight_saving is None:
        return None
    return FreshChoice(kept, fresh, tonight_choice, tonight_saving)


@dataclass(frozen=True, slots=True)
class _Found:
    indexes: frozenset[Index]
    other: OtherChoice


def _chosen(tonight: Tonight) -> _Found:
    answers = choose_answers(tonight)
    columns = choose_columns(tonight, answers)
    plain = tonight.in_entries
    in_entries = in_unit_of(plain, answers)
    saving = combined(plain, columns.indexes, in_entries, told_lists(plain)).saving
    named: list[tuple[str, tuple[str, ...]]] = [(index.family, (index.column,)) for index in columns.indexes]
    named += [(each.index.family, each.columns) for each in answers.answers]
    return _Found(answers.answer_indexes.union(columns.indexes), OtherChoice(tuple(named), saving))


def _without_past(tonight: Tonight) -> Tonight:
    budget = replace(tonight.budget, time_s=tonight.budget.time_s * _TIME_RATIO)
    return replace(tonight, question=replace(tonight.question, past=NO_PAST), budget=budget)


def _alone(tonight: Tonight) -> Tonight:
    """Return ``tonight``, in entries, with the votes of its own queries alone."""
    window = tonight.window
    allowed = {item for votes in window.lists for item in votes.indexes}
    alone = replace(tonight.votes, lists=lists_of(tonight.votes.lists, allowed))
    offers = {name: _of_night(offer, window, alone) for name, offer in tonight.offers.items()}
    return replace(tonight, window=alone, offers=offers)


def _of_night(offer: AnswerOffer, window: NightVotes, alone: NightVotes) -> AnswerOffer:
    """Return the offer with the share of this night in what each candidate saves, shape by shape."""
    shares = {
        shape_id: alone.shapes[shape_id].all_entries / shape.all_entries
        for shape_id, shape in window.shapes.items()
        if shape_id in alone.shapes and shape.all_entries > 0
    }

    def of_night(candidate: AnswerCandidate) -> AnswerCandidate:
        saved = {shape: each * shares.get(shape, 0.0) for shape, each in candidate.saving_entries.items()}
        return replace(candidate, saving_entries=saved)

    whole = alone.all_entries / max(window.all_entries, 1.0)
    return replace(
        offer,
        candidates=tuple(map(of_night, offer.candidates)),
        total_entries=offer.total_entries * whole,
    )


def _kept(
    tonight: Tonight, answers: ChosenAnswers, columns: ChosenColumns, indexes: frozenset[Index] | set[Index]
) -> tuple[KeptIndex, ...]:
    chosen, total = set(columns.indexes), max(tonight.window.entries.total, 1.0)
    asked = tonight.budget.min_gain_ratio
    lists = answers.unanswered(told_lists(tonight))
    whole = total_saving(lists, chosen)
    found = []
    for index in columns.indexes:
        if index in indexes:
            adds = (whole - total_saving(lists, chosen - {index})) / total
            rule = BELOW_MIN_GAIN if adds < asked else NEAR_EQUAL
            found.append(KeptIndex(index.family, (index.column,), rule, adds, asked))
    found += [
        KeptIndex(each.index.family, each.columns, NEAR_EQUAL)
        for each in answers.answers
        if each.index in indexes
    ]
    return tuple(found)
