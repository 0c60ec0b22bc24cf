"""Reasons for what was not chosen tonight: indexes on columns, and columns that got no vote."""

from __future__ import annotations

from starskip.advisor.families.families import named
from starskip.advisor.families.verdict import Reason, Verdict, refused
from starskip.advisor.selection.choice_steps import ChosenColumns
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.filtered_columns import (
    breaking_config_rules,
    columns_without_votes,
    without_enough_queries,
    without_segments,
)
from starskip.advisor.selection.recommendation import Recommendation
from starskip.advisor.selection.tonight import Tonight
from starskip.advisor.selection.vote_list import building_lists, order_lists, total_saving
from starskip.number_text import saves


def refusals(
    tonight: Tonight, answers: ChosenAnswers, columns: ChosenColumns, order: Recommendation | None = None
) -> tuple[Verdict, ...]:
    """Return a refusal for each index that was not chosen, and for each filtered column without a vote.

    ``order``: the choice of a sort order beside the indexes; the best one is named if K has no room for it.
    """
    orders = order.refused if order and not order.chosen else ()
    return (
        *tonight.decided_against,
        *columns.recommendation.refused,
        *[each for each in orders if each.reason is Reason.OVER_MAX_INDEXES][:1],
        *_answered_by_another(tonight, answers, columns),
        *_without_votes(tonight),
    )


def _answered_by_another(
    tonight: Tonight, answers: ChosenAnswers, columns: ChosenColumns
) -> tuple[Verdict, ...]:
    """Return a refusal for each index that only shapes voted for which an answer serves."""
    window = tonight.window
    before = order_lists(window.lists) if tonight.is_only_sorting else building_lists(window.lists)
    left = {item for votes in columns.lists for item in votes.indexes}
    gone = {item for votes in before for item in votes.indexes if not item.is_drop} - left
    answering = _answering(tonight, answers)
    found = []
    for item in sorted(gone):
        alone = total_saving(before, [item]) / max(window.entries.total, 1.0)
        of_filters = tonight.budget.of_filters
        detail = f"by itself it {saves(alone)} {of_filters}, of queries that {answering} answers"
        found.append(refused(item, Reason.ANSWERED_BY_ANOTHER, detail, alone))
    return tuple(found)


def _answering(tonight: Tonight, answers: ChosenAnswers) -> str:
    """Return the families that answer whole queries, chosen or in force, as a sentence names them."""
    serving = {answer.index.family for answer in answers.answers}
    serving |= {name for name, offer in tonight.offers.items() if offer.answered}
    known = [family for name in sorted(serving) if (family := named(name)) is not None]
    return " or ".join(family.singular for family in known)


def _without_votes(tonight: Tonight) -> tuple[Verdict, ...]:
    question, paths = tonight.question, tonight.paths
    rules = question.rules
    if paths and not question.is_enough:
        least = question.settings.workload.num_queries_threshold
        return without_enough_queries(question.uses, paths[0], rules, question.queries, least)
    if not question.overview:
        return without_segments(question.uses, (paths or question.families.known)[0], rules)
    if not paths:
        return ()
    voted = {item for votes in tonight.window.lists for item in votes.indexes if not item.is_drop}
    breaking = breaking_config_rules(question.uses, question.overview, paths, rules)
    told = voted.union(each.index for each in (*breaking, *tonight.decided_against))
    return (*breaking, *columns_without_votes(question.uses, question.overview, told, paths, rules))
