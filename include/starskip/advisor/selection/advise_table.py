"""The advice for one table, from the votes of its queries.

One choice is made among the indexes on columns and the answers of whole queries ("Automated inverted index
recommendation", II.3 C, with star-trees and other answers beside them). Then the curve over K is drawn for
the indexes, each candidate that was not chosen gets its reason, and an existing index that helps no query is
proposed as a drop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from starskip.advisor.cost.alternatives import SORTED_BY_ANOTHER
from starskip.advisor.cost.baseline_ranking import baseline_ranking
from starskip.advisor.cost.planned_votes import candidate_indexes, indexes_in_force
from starskip.advisor.families.answer import AnswerOffer, TableQueries
from starskip.advisor.families.families import named, reorders
from starskip.advisor.families.index import Index
from starskip.advisor.families.verdict import Reason, Verdict, refused
from starskip.advisor.selection.chosen_answers import AnswerTerms, ChosenAnswers, chosen_answers
from starskip.advisor.selection.drop_evidence import drop_evidence
from starskip.advisor.selection.entries_percentile import DesirableEntries, entries_percentile
from starskip.advisor.selection.exclusive_orders import exclusive_orders
from starskip.advisor.selection.filtered_columns import (
    answering_indexes,
    columns_without_votes,
    without_enough_queries,
    without_segments,
)
from starskip.advisor.selection.look_back import NightVotes, look_back
from starskip.advisor.selection.model_error import model_error_ratio
from starskip.advisor.selection.past_nights import NO_PAST, night_votes
from starskip.advisor.selection.recommend import recommend
from starskip.advisor.selection.recommendation import Budget, Recommendation
from starskip.advisor.selection.table_advice import TableAdvice, TypicalEntries
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.unneeded_indexes import unneeded_indexes
from starskip.advisor.selection.vote_list import VoteList, building_lists, lists_of, order_lists, total_saving
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.advisor.workload.unlogged_texts import UnloggedTexts, unlogged_texts
from starskip.number_text import saves
from starskip.settings import Settings


def advise_table(question: TableQuestion) -> TableAdvice:
    """Return the advice for one table."""
    votes = _window(question)
    texts = unlogged_texts(question.shapes)
    budget = _budget(question, votes.window, texts)
    offers = _offers(question, votes.window)
    answered = frozenset().union(*(offer.answered for offer in offers.values())) if offers else frozenset()
    left = [item for item in votes.window.lists if item.shape_id not in answered]
    totals = {name: offer.total_entries or votes.window.entries.total for name, offer in offers.items()}
    answers = _answers(question, offers, totals, left, votes.window, budget)
    columns = _columns(question, answers, left, votes.window, budget, answered)
    shapes = question.shapes
    return TableAdvice(
        table=question.table,
        recommendation=columns.indexes,
        refused=(
            *columns.indexes.refused,
            *_answered_by_answers(votes.window, columns.lists, _answering(answers, offers), columns.is_order),
            *_without_votes(question, votes.window),
        ),
        drops=_drops(question, votes, columns.indexes),
        drops_withheld=votes.drops_withheld,
        queries=sum(shape.queries for shape in shapes),
        failed=round(sum(shape.failed for shape in shapes)),
        unparsed=sum(shape.queries for shape in shapes if not shape.is_parsed),
        shapes=len(question.parsed),
        entries=sum(shape.entries_scanned_in_filter for shape in shapes),
        unlogged_queries=sum((shape.unlogged_queries for shape in shapes), start=0.0),
        unlogged_entries=sum((shape.unlogged_entries_scanned_in_filter for shape in shapes), start=0.0),
        typical=_typical(votes.window, columns.lists, columns.indexes, answers, question.settings),
        sort_order=columns.order,
        nights=votes.nights,
        in_force=votes.tonight.in_force,
        asked=votes.asked,
        sorted_columns=votes.tonight.order,
        answers=answers,
        offers=offers,
        total_entries=totals,
        unlogged_texts=texts,
        leaves=question.leaves,
        voted_entries=votes.window.entries.total,
    )


@dataclass(frozen=True, slots=True)
class _Votes:
    """Votes of tonight, and of the window of nights restated for tonight's indexes."""

    tonight: NightVotes
    window: NightVotes
    asked: frozenset[Index]
    nights: int
    evidence: str
    drops_withheld: str


def _window(question: TableQuestion) -> _Votes:
    settings, overview = question.settings, question.overview
    votes, past = question.votes, question.past
    if not question.is_enough:
        votes, past = votes.slice(0, 0), NO_PAST
    asked: frozenset[Index] = frozenset()
    if overview:
        asked = answering_indexes(question.uses, indexes_in_force(overview), question.rules)
    tonight = night_votes(question.shapes, votes, overview, asked)
    earlier = past.comparable_with(tonight)
    nights = [tonight, *(votes_of for _, votes_of in earlier)]
    evidence = drop_evidence(nights)
    withheld = (
        evidence.lack(settings.advice.min_drop_queries, settings.advice.max_drop_unparsed_ratio)
        if tonight.in_force
        else ""
    )
    window = _judged(look_back(tonight, earlier), question)
    return _Votes(tonight, window, asked, len(nights), str(evidence), withheld)


def _judged(window: NightVotes, question: TableQuestion) -> NightVotes:
    """Leave out earlier nights' votes for indexes that are no candidates tonight (a dropped column)."""
    overview = question.overview
    found = (
        candidate_indexes(overview, question.families.with_path, question.settings).values()
        if overview
        else ()
    )
    candidates = {SORTED_BY_ANOTHER, *(item for of_column in found for item in of_column)}
    return replace(window, lists=lists_of(window.lists, candidates))


def _offers(question: TableQuestion, window: NightVotes) -> dict[str, AnswerOffer]:
    """Return the offer of each family with answers; without candidates if it is not asked for."""
    offers = {}
    for family in question.families.known:
        if family.answer is None:
            continue
        is_asked = question.families.has(family) and question.is_enough
        queries = TableQueries(
            question.table,
            question.shapes,
            window.shapes,
            question.overview,
            question.settings,
            question.configs,
            question.rows if is_asked else None,
            question.past.answers.get(family.name, ()),
        )
        offer = family.answer(queries)
        offers[family.name] = offer if is_asked else replace(offer, candidates=())
    return offers


def _answers(
    question: TableQuestion,
    offers: Mapping[str, AnswerOffer],
    totals: Mapping[str, float],
    lists: Sequence[VoteList],
    window: NightVotes,
    budget: Budget,
) -> ChosenAnswers:
    candidates = [candidate for offer in offers.values() for candidate in offer.candidates]
    if not candidates and not question.skips:
        return ChosenAnswers()
    settings = question.settings
    terms = {
        name: AnswerTerms(
            totals[name],
            settings.advice.min_gain_ratio,
            offer.max_answers,
            offer.gain_bytes,
            settings.advice.switch_gain_ratio,
        )
        for name, offer in offers.items()
    }
    return chosen_answers(
        candidates,
        building_lists(lists),
        budget,
        window.entries.total,
        terms,
        size_bytes=question.size_bytes,
        kept=question.past.kept_answers,
        skips=question.skips,
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """The chosen indexes on columns, the votes that they were chosen by, and the sort order beside them."""

    indexes: Recommendation
    lists: Sequence[VoteList]
    order: Recommendation | None
    is_order: bool


def _columns(
    question: TableQuestion,
    answers: ChosenAnswers,
    lists: Sequence[VoteList],
    window: NightVotes,
    budget: Budget,
    answered: frozenset[str],
) -> _Columns:
    """Choose among the indexes on columns for the shapes that no answer serves."""
    paths = question.families.with_path
    sorting = [family for family in paths if family.path is not None and family.path.reorders]
    is_order = len(sorting) == len(paths) > 0
    ranking = [shape for shape in question.parsed if shape.shape_id not in answered]
    ranked = baseline_ranking(
        question.settings, ranking if question.is_enough else (), question.overview, paths
    )
    unanswered = answers.unanswered(lists)
    orders = exclusive_orders(order_lists(unanswered)) if sorting else []
    order = (
        # Sorting needs no room.
        recommend(
            orders,
            window.entries,
            replace(budget, max_indexes=1, storage_bytes=None, desirable=None),
            ranked=ranked if is_order else None,
            kept=question.past.order,
        )
        if sorting
        else None
    )
    if is_order and order is not None:
        return _Columns(order, orders, None, is_order=True)
    building = building_lists(unanswered)
    room = budget.storage_bytes
    indexes = recommend(
        building,
        window.entries,
        budget if room is None else replace(budget, storage_bytes=room - ceil(answers.size_bytes)),
        ranked=ranked,
        size_bytes=question.size_bytes,
        kept=question.past.chosen,
        found=answers.indexes,
    )
    return _Columns(indexes, building, order, is_order=False)


def _without_votes(question: TableQuestion, window: NightVotes) -> tuple[Verdict, ...]:
    paths, rules = question.families.with_path, question.rules
    if paths and not question.is_enough:
        least = question.settings.workload.num_queries_threshold
        return without_enough_queries(question.uses, paths[0], rules, question.queries, least)
    if not question.overview:
        return without_segments(question.uses, (paths or question.families.known)[0], rules)
    if not paths:
        return ()
    voted = {item for votes in window.lists for item in votes.indexes if not item.is_drop}
    return columns_without_votes(question.uses, question.overview, voted, paths, rules)


def _answering(answers: ChosenAnswers, offers: Mapping[str, AnswerOffer]) -> str:
    """Return the families with answers of whole queries, chosen or in force, as a sentence names them."""
    serving = {answer.index.family for answer in answers.answers}
    serving |= {name for name, offer in offers.items() if offer.answered}
    known = [family for name in sorted(serving) if (family := named(name)) is not None]
    return " or ".join(family.singular for family in known)


def _answered_by_answers(
    window: NightVotes, lists: Sequence[VoteList], answering: str, is_order: bool
) -> tuple[Verdict, ...]:
    """Return a refusal for each index that only shapes voted for which an answer serves.

    ``lists``: the votes of the other shapes.
    """
    before = order_lists(window.lists) if is_order else building_lists(window.lists)
    left = {item for votes in lists for item in votes.indexes}
    gone = {item for votes in before for item in votes.indexes if not item.is_drop} - left
    found = []
    for item in sorted(gone):
        alone = total_saving(before, [item]) / max(window.entries.total, 1.0)
        detail = f"by itself it {saves(alone)} of the entries scanned, of queries that {answering} answers"
        found.append(refused(item, Reason.ANSWERED_BY_ANOTHER, detail, alone))
    return tuple(found)


def _drops(question: TableQuestion, votes: _Votes, recommendation: Recommendation) -> tuple[Verdict, ...]:
    if not question.parsed or not question.is_enough or votes.drops_withheld:
        return ()
    names = {family.name for family in question.families.with_path}
    in_force = {item for item in votes.window.in_force if item.family in names}
    chosen = frozenset(item.index for item in recommendation.chosen)
    lists = [item for item in votes.window.lists if not any(map(reorders, item.indexes))]
    return unneeded_indexes(
        lists,
        chosen,
        votes.window.entries.total,
        in_force,
        votes.window.asked,
        question.settings.advice.max_drop_loss_ratio,
        votes.evidence,
    )


def _typical(
    window: NightVotes,
    lists: Sequence[VoteList],
    recommendation: Recommendation,
    answers: ChosenAnswers,
    settings: Settings,
) -> TypicalEntries | None:
    if not window.shapes:
        return None
    ratio = settings.advice.desirable_query_ratio
    chosen = [item.index for item in recommendation.chosen]
    today = entries_percentile([], [], window.shapes, ratio)
    advised = {
        shape_id: replace(shape, entries=_left(answers, shape_id, shape))
        if shape_id in answers.answered
        else shape
        for shape_id, shape in window.shapes.items()
    }
    return TypicalEntries(ratio, today, entries_percentile(lists, chosen, advised, ratio))


def _left(answers: ChosenAnswers, shape_id: str, shape: ShapeEntries) -> float:
    """Return the entries that an answered shape still reads."""
    answer = answers.answers[answers.answered[shape_id]]
    if shape_id in answer.entries_read:
        return shape.queries * answer.entries_read[shape_id]
    return max(shape.entries - answer.saving_entries[shape_id], 0.0)


def _budget(question: TableQuestion, window: NightVotes, texts: UnloggedTexts) -> Budget:
    settings = question.settings
    wanted = settings.advice.desirable_entries_scanned_in_filter
    return Budget(
        settings.advice.max_indexes,
        settings.advice.min_gain_ratio,
        model_error_ratio(question.shapes, texts, settings.advice.model_error_ratio),
        storage_bytes=settings.advice.index_budget_bytes,
        switch_gain_ratio=settings.advice.switch_gain_ratio,
        desirable=None
        if wanted is None
        else DesirableEntries(wanted, settings.advice.desirable_query_ratio, window.shapes),
        time_s=settings.advice.choice_time_s,
    )
