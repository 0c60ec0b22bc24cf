"""The advice for one table, from the votes of its queries.

One choice is made among the indexes on columns and the answers of whole queries ("Automated inverted index
recommendation", II.3 C, with star-trees and other answers beside them). Then the curve over K is drawn for
the indexes, each candidate that was not chosen gets its reason, and an existing index that helps no query is
proposed as a drop.
"""

from __future__ import annotations

from dataclasses import replace

from starskip.advisor.families.families import reorders
from starskip.advisor.families.verdict import Verdict
from starskip.advisor.selection.choice_steps import (
    ChosenColumns,
    choose_answers,
    choose_columns,
    choose_order,
    combined,
    curve_of,
)
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.entries_percentile import entries_percentile
from starskip.advisor.selection.refusals import refusals
from starskip.advisor.selection.table_advice import TableAdvice, TypicalEntries
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.tonight import Tonight, tonight_of
from starskip.advisor.selection.unneeded_indexes import unneeded_indexes
from starskip.advisor.workload.shape_entries import ShapeEntries


def advise_table(question: TableQuestion) -> TableAdvice:
    """Return the advice for one table."""
    tonight = tonight_of(question)
    answers = choose_answers(tonight)
    columns = choose_columns(tonight, answers)
    order = choose_order(tonight, answers, columns)
    return TableAdvice(
        question.table,
        tonight.log,
        tonight.nights,
        replace(columns.recommendation, curve=tuple(curve_of(tonight, answers, columns))),
        combined(tonight, columns.indexes, answers, columns.whole),
        refused=refusals(tonight, answers, columns, order),
        drops=_drops(tonight, columns),
        drops_withheld=tonight.drops_withheld,
        typical=_typical(tonight, answers, columns),
        sort_order=order,
        answers=answers,
        offers=tonight.offers,
    )


def _drops(tonight: Tonight, columns: ChosenColumns) -> tuple[Verdict, ...]:
    question, window = tonight.question, tonight.window
    if not question.parsed or not question.is_enough or tonight.drops_withheld:
        return ()
    names = {family.name for family in tonight.paths}
    return unneeded_indexes(
        [item for item in window.lists if not any(map(reorders, item.indexes))],
        frozenset(item.index for item in columns.recommendation.chosen),
        window.entries.total,
        {item for item in window.in_force if item.family in names},
        window.asked,
        question.settings.advice.max_drop_loss_ratio,
        str(tonight.evidence),
    )


def _typical(tonight: Tonight, answers: ChosenAnswers, columns: ChosenColumns) -> TypicalEntries | None:
    shapes = tonight.window.shapes
    if not shapes:
        return None
    ratio = tonight.question.settings.advice.desirable_query_ratio
    chosen = [item.index for item in columns.recommendation.chosen]
    advised = {
        shape_id: replace(shape, entries=_left(answers, shape_id, shape))
        if shape_id in answers.answered
        else shape
        for shape_id, shape in shapes.items()
    }
    return TypicalEntries(
        ratio,
        entries_percentile([], [], shapes, ratio),
        entries_percentile(columns.lists, chosen, advised, ratio),
    )


def _left(answers: ChosenAnswers, shape_id: str, shape: ShapeEntries) -> float:
    """Return the entries that an answered shape still reads."""
    answer = answers.answers[answers.answered[shape_id]]
    if shape_id in answer.entries_read:
        return shape.queries * answer.entries_read[shape_id]
    return max(shape.entries - answer.saving_entries[shape_id], 0.0)
