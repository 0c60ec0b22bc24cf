"""The steps of a table's choice: answers of whole queries, then indexes on columns, then a sort order.

``choice.py`` solves the programme that the first two steps set up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from starskip.advisor.families.answer import AnswerOffer
from starskip.advisor.selection.chosen_answers import AnswerTerms, ChosenAnswers, chosen_answers
from starskip.advisor.selection.exclusive_orders import exclusive_orders
from starskip.advisor.selection.recommend import recommend
from starskip.advisor.selection.recommendation import Recommendation
from starskip.advisor.selection.tonight import Tonight
from starskip.advisor.selection.vote_list import VoteList, building_lists, order_lists


@dataclass(frozen=True, slots=True)
class ChosenColumns:
    """The chosen indexes on columns, and the votes that they were chosen by."""

    recommendation: Recommendation
    lists: Sequence[VoteList]


def choose_answers(tonight: Tonight) -> ChosenAnswers:
    """Choose answers of whole queries, and indexes of files, together with indexes on columns."""
    candidates = [candidate for offer in tonight.offers.values() for candidate in offer.candidates]
    question = tonight.question
    if not candidates and not question.skips:
        return ChosenAnswers(refused=tuple(tonight.barred))
    found = chosen_answers(
        candidates,
        building_lists(tonight.lists),
        tonight.budget,
        tonight.window.entries.total,
        {name: _terms(tonight, offer) for name, offer in tonight.offers.items()},
        size_bytes=question.size_bytes,
        kept=question.past.kept_answers,
        skips=question.skips,
    )
    return replace(found, refused=(*tonight.barred, *found.refused))


def choose_columns(tonight: Tonight, answers: ChosenAnswers) -> ChosenColumns:
    """Choose indexes on columns for the shapes that no answer serves, in the room that answers leave.

    Where only a sort order is asked for, it is the one chosen index.
    """
    if tonight.is_only_sorting:
        return _chosen_order(tonight, answers)
    budget = tonight.budget
    if budget.storage_bytes is not None:
        budget = replace(budget, storage_bytes=budget.storage_bytes - ceil(answers.size_bytes))
    lists = building_lists(answers.unanswered(tonight.lists))
    recommendation = recommend(
        lists,
        tonight.window.entries,
        budget,
        ranked=tonight.ranking,
        size_bytes=tonight.question.size_bytes,
        kept=tonight.question.past.chosen,
        found=answers.indexes,
    )
    return ChosenColumns(recommendation, lists)


def choose_order(tonight: Tonight, answers: ChosenAnswers) -> Recommendation | None:
    """Choose a sort order beside the indexes; None where none is asked for, or nothing else is."""
    if not tonight.is_sorting or tonight.is_only_sorting:
        return None
    return _chosen_order(tonight, answers).recommendation


def _chosen_order(tonight: Tonight, answers: ChosenAnswers) -> ChosenColumns:
    orders = exclusive_orders(order_lists(answers.unanswered(tonight.lists)))
    recommendation = recommend(
        orders,
        tonight.window.entries,
        # Sorting needs no room.
        replace(tonight.budget, max_indexes=1, storage_bytes=None, desirable=None),
        ranked=tonight.ranking if tonight.is_only_sorting else None,
        kept=tonight.question.past.order,
    )
    return ChosenColumns(recommendation, orders)


def _terms(tonight: Tonight, offer: AnswerOffer) -> AnswerTerms:
    settings = tonight.question.settings.advice
    return AnswerTerms(
        offer.entries_of(tonight.window.entries.total),
        settings.min_gain_ratio,
        offer.max_answers,
        offer.gain_bytes,
        settings.switch_gain_ratio,
    )
