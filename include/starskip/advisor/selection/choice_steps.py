"""The steps of a table's choice: answers of whole queries, then indexes on columns, then a sort order.

``choice.py`` solves the programme that the first two steps set up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from starskip.advisor.families.answer import AnswerOffer
from starskip.advisor.families.index import Index
from starskip.advisor.selection.chosen_answers import AnswerTerms, ChosenAnswers, chosen_answers
from starskip.advisor.selection.combined_saving import CombinedSaving, combined_saving
from starskip.advisor.selection.exclusive_orders import exclusive_orders
from starskip.advisor.selection.recommend import outlived, ranked_set, recommend, told_in
from starskip.advisor.selection.recommendation import CurvePoint, Recommendation
from starskip.advisor.selection.tonight import Tonight
from starskip.advisor.selection.vote_list import IndexSet, VoteList, building_lists, order_lists


@dataclass(frozen=True, slots=True)
class ChosenColumns:
    """The chosen indexes on columns, and the votes that they were chosen by.

    ``whole``: the votes of all queries, those that a chosen answer serves included.
    """

    recommendation: Recommendation
    lists: Sequence[VoteList]
    whole: Sequence[VoteList]

    @property
    def indexes(self) -> list[Index]:
        """The chosen indexes, best first."""
        return [item.index for item in self.recommendation.chosen]


def choose_answers(tonight: Tonight) -> ChosenAnswers:
    """Choose answers of whole queries, and indexes of files, together with indexes on columns."""
    if not tonight.candidates and not tonight.question.skips:
        return ChosenAnswers(refused=tuple(tonight.barred))
    found = _together(tonight, tonight.question.past.kept_answers)
    return replace(found, refused=(*tonight.barred, *found.refused))


def choose_set(tonight: Tonight) -> IndexSet:
    """Return the indexes on columns and the answers that the steps choose, without a curve and reasons.

    One programme finds them, if a set's saving is all that decides.
    """
    if tonight.is_only_sorting or tonight.ranking is not None or tonight.budget.desirable is not None:
        answers = choose_answers(tonight)
        return answers.answer_indexes.union(choose_columns(tonight, answers).indexes)
    past = tonight.question.past
    kept = past.chosen
    while True:
        found = _together(tonight, kept | past.kept_answers)
        lists = found.unanswered(told_lists(tonight))
        idle = outlived(lists, tonight.window.entries, tonight.budget, kept, found.indexes)
        if not idle:
            return found.indexes | found.answer_indexes
        kept -= idle


def _together(tonight: Tonight, kept: IndexSet) -> ChosenAnswers:
    """Choose answers and indexes at once; ``kept``: members of the last advice, which stay if near equal."""
    question = tonight.question
    return chosen_answers(
        tonight.candidates,
        told_lists(tonight),
        tonight.budget,
        tonight.window.entries.total,
        {name: _terms(tonight, offer) for name, offer in tonight.offers.items()},
        size_bytes=question.size_bytes,
        kept=kept,
        skips=question.skips,
    )


def told_lists(tonight: Tonight) -> Sequence[VoteList]:
    """Return the votes for what may be chosen on columns: indexes, or the order if it alone is asked for."""
    if tonight.is_only_sorting:
        return exclusive_orders(order_lists(tonight.lists))
    return building_lists(tonight.lists)


def choose_columns(tonight: Tonight, answers: ChosenAnswers) -> ChosenColumns:
    """Choose indexes on columns for the shapes that no answer serves, in the room that answers leave.

    Where only a sort order is asked for, it is the one chosen index.
    """
    room = max(tonight.budget.max_indexes - len(answers.answers), 0)
    if tonight.is_only_sorting:
        return _chosen_order(tonight, answers, room)
    budget = replace(tonight.budget, max_indexes=room)
    if budget.storage_bytes is not None:
        budget = replace(budget, storage_bytes=budget.storage_bytes - ceil(answers.size_bytes))
    whole = building_lists(tonight.lists)
    lists = answers.unanswered(whole)
    if budget.desirable is not None:
        in_entries = answers.unanswered(building_lists(tonight.in_entries.lists))
        budget = replace(budget, desirable=replace(budget.desirable, lists=in_entries))
    recommendation = recommend(
        lists,
        tonight.window.entries,
        budget,
        ranked=tonight.ranking,
        size_bytes=tonight.question.size_bytes,
        kept=tonight.question.past.chosen,
        found=answers.indexes,
        whole=whole,
    )
    return ChosenColumns(recommendation, lists, whole)


def choose_order(tonight: Tonight, answers: ChosenAnswers, columns: ChosenColumns) -> Recommendation | None:
    """Choose a sort order beside the indexes; None where none is asked for, or nothing else is.

    It counts among the ``max_indexes``, as all that is chosen does.
    """
    if not tonight.is_sorting or tonight.is_only_sorting:
        return None
    room = tonight.budget.max_indexes - len(answers.answers) - len(columns.indexes)
    return _chosen_order(tonight, answers, room).recommendation


def _chosen_order(tonight: Tonight, answers: ChosenAnswers, room: int) -> ChosenColumns:
    whole = exclusive_orders(order_lists(tonight.lists))
    orders = answers.unanswered(whole)
    recommendation = recommend(
        orders,
        tonight.window.entries,
        # Sorting needs no bytes.
        replace(tonight.budget, max_indexes=min(room, 1), storage_bytes=None, desirable=None),
        ranked=tonight.ranking if tonight.is_only_sorting else None,
        kept=tonight.question.past.order,
        whole=whole,
    )
    return ChosenColumns(recommendation, orders, whole)


def told_in_entries(columns: ChosenColumns, tonight: Tonight, answers: ChosenAnswers) -> ChosenColumns:
    """Return what was chosen, by time or not, with its votes and savings in entries."""
    whole = told_lists(tonight.in_entries)
    return ChosenColumns(
        _in_entries(columns.recommendation, whole, tonight), answers.unanswered(whole), whole
    )


def order_in_entries(order: Recommendation | None, tonight: Tonight) -> Recommendation | None:
    """Return the chosen sort order, by time or not, with its savings in entries."""
    whole = exclusive_orders(order_lists(tonight.in_entries.lists))
    return None if order is None else _in_entries(order, whole, tonight)


def _in_entries(
    recommendation: Recommendation, whole: Sequence[VoteList], tonight: Tonight
) -> Recommendation:
    plain = tonight.in_entries
    if plain is tonight:
        return recommendation
    return told_in(recommendation, whole, plain.window.entries, plain.budget, plain.question.size_bytes)


def combined(
    tonight: Tonight, indexes: Sequence[Index], answers: ChosenAnswers, whole: Sequence[VoteList]
) -> CombinedSaving:
    """Return the saving of indexes and answers together; ``whole``: as in ChosenColumns."""
    return combined_saving(tonight.window, whole, indexes, answers, tonight.budget.model_error_ratio)


def curve_of(tonight: Tonight, answers: ChosenAnswers, columns: ChosenColumns) -> list[CurvePoint]:
    """Return the best set of each number of indexes and answers, with the saving of the whole set.

    The chosen set stands at its own number. A baseline takes columns in its order, behind the answers.
    """
    count = len(answers.answers)

    def point(k: int, indexes: Sequence[Index], of_point: ChosenAnswers, gap: float = 0.0) -> CurvePoint:
        saving = combined(tonight, indexes, of_point, columns.whole).saving
        return CurvePoint(k, tuple(indexes), saving, gap, answers=of_point.answers)

    curve = columns.recommendation.curve
    if not tonight.candidates or tonight.ranking is not None:
        return [point(each.k + count, each.indexes, answers, each.gap_ratio) for each in curve]
    chosen = columns.indexes
    found: list[CurvePoint] = []
    for k in range(1, tonight.budget.max_indexes + 1):
        if k == count + len(chosen):
            found.append(point(k, chosen, answers, columns.recommendation.gap_ratio))
            continue
        best = _best_of_size(tonight, columns.whole, k)
        if len(best.indexes) + len(best.answers) < k:
            continue
        added = point(k, ranked_set(best.unanswered(columns.whole), best.indexes), best, best.gap_ratio)
        # What stays of the last advice, or pays for its bytes, may save less than a smaller set.
        if not found or added.saving.ratio > found[-1].saving.ratio:
            found.append(added)
    return found


def _best_of_size(tonight: Tonight, lists: Sequence[VoteList], k: int) -> ChosenAnswers:
    """Return the set of at most ``k`` that saves most, whatever its members must gain."""
    budget = tonight.budget
    time_s = budget.time_s / budget.max_indexes
    return chosen_answers(
        tonight.candidates,
        lists,
        replace(budget, max_indexes=k, min_gain_ratio=0.0, switch_gain_ratio=0.0, time_s=time_s),
        tonight.window.entries.total,
        {name: replace(_terms(tonight, offer), min_gain_ratio=0.0) for name, offer in tonight.offers.items()},
        size_bytes=tonight.question.size_bytes,
    )


def _terms(tonight: Tonight, offer: AnswerOffer) -> AnswerTerms:
    settings = tonight.question.settings.advice
    return AnswerTerms(
        offer.entries_of(tonight.window.all_entries),
        settings.min_gain_ratio,
        offer.max_answers,
        offer.gain_bytes,
        settings.switch_gain_ratio,
    )
