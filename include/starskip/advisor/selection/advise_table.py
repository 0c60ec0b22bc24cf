"""The advice for one table, from the votes of its queries.

One choice is made among the indexes on columns and the answers of whole queries ("Automated inverted index
recommendation", II.3 C, with star-trees and other answers beside them). Then the curve over K is drawn for
the indexes, each candidate that was not chosen gets its reason, and an existing index that helps no query is
proposed as a drop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starskip.advisor.families.config_limits import barred_also, edit_faults
from starskip.advisor.families.families import named, reorders
from starskip.advisor.families.family_edit import family_edit
from starskip.advisor.families.index import Index
from starskip.advisor.families.verdict import Verdict
from starskip.advisor.latency.shape_times import ShapeTimes, fit_shape_times, mistrust
from starskip.advisor.selection.advised_edits import advised_edits
from starskip.advisor.selection.choice_steps import (
    ChosenColumns,
    choose_answers,
    choose_columns,
    choose_order,
    combined,
    curve_of,
    order_in_entries,
    told_in_entries,
    told_lists,
)
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.entries_percentile import entries_percentile
from starskip.advisor.selection.fresh_choice import fresh_choice
from starskip.advisor.selection.harmed_shapes import harmed_shapes
from starskip.advisor.selection.own_index_notes import own_index_notes
from starskip.advisor.selection.raw_columns import raw_column_notes
from starskip.advisor.selection.refusals import refusals
from starskip.advisor.selection.segment_notes import segment_notes
from starskip.advisor.selection.table_advice import TableAdvice, TypicalEntries
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.time_saving import index_times, time_saving
from starskip.advisor.selection.timed_tonight import in_unit_of, timed
from starskip.advisor.selection.tonight import Tonight, tonight_of
from starskip.advisor.selection.unneeded_indexes import unneeded_indexes
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.pinot.proposed_config import KeyEdit
from starskip.settings.advice_groups import ENTRIES, MS
from starskip.tables.table_overview import TableOverview


def advise_table(question: TableQuestion) -> TableAdvice:
    """Return the advice for one table; applied as a whole, it breaks no rule of table configs."""
    return advice_and_votes(question)[0]


def advice_and_votes(question: TableQuestion) -> tuple[TableAdvice, Tonight]:
    """Return the advice for one table, and what was known before it was chosen."""
    advice, tonight = _advised(question)
    while question.overview is not None:
        breaking = _breaking(question, question.overview, advice)
        if breaking is None:
            break
        overview = barred_also(question.overview, *breaking)
        question = replace(question, overview=overview)
        advice, tonight = _advised(question)
    return advice, tonight


def _breaking(
    question: TableQuestion, overview: TableOverview, advice: TableAdvice
) -> tuple[str, str, str] | None:
    """Return family, name and broken rule of the first chosen index that cannot stand beside the others.

    Each index alone breaks no rule, but the configs of users' families may contradict each other.
    """
    version, families = question.settings.scoring.pinot_version, question.families.known
    if not edit_faults(overview, question.configs, advised_edits(advice, families), version):
        return None
    known = {family.name: family for family in families}
    chosen: list[tuple[Index, list[Mapping[str, Any]]]] = [
        *((each.index, []) for each in advice.recommendation.chosen),
        *((each.index, [each.config]) for each in advice.answers.answers),
    ]
    edits: list[KeyEdit] = []
    for index, configs in chosen:
        edits.append(family_edit(known[index.family], () if configs else [index.column], (), configs))
        faults = edit_faults(overview, question.configs, edits, version)
        if faults:
            return index.family, index.column, faults[0].sentence(version)
    return None


def _advised(question: TableQuestion) -> tuple[TableAdvice, Tonight]:
    tonight = tonight_of(question)
    times = fit_shape_times(question.shapes)
    doubts = mistrust(times, question.settings.latency.r2_threshold)
    by_time = timed(tonight, times) if times is not None else None
    unit = _unit(tonight, times, doubts)
    judged = by_time if by_time is not None and unit == MS else tonight
    answers = choose_answers(judged)
    columns = choose_columns(judged, answers)
    order = choose_order(judged, answers, columns)
    plain = in_unit_of(tonight, answers)
    told = told_in_entries(columns, judged, plain)
    advice = TableAdvice(
        question.table,
        tonight.log,
        judged.nights,
        replace(told.recommendation, curve=tuple(curve_of(judged, answers, columns))),
        combined(tonight, told.indexes, plain, told.whole),
        refused=refusals(judged, answers, columns, order),
        drops=_drops(tonight, told),
        drops_withheld=tonight.drops_withheld,
        typical=_typical(tonight, plain, told),
        sort_order=order_in_entries(order, judged),
        answers=plain,
        offers=tonight.offers,
        unit=unit,
        mistrust=doubts,
        times=times,
        notes=_notes(tonight, plain, told),
        harmed=harmed_shapes(
            told.lists,
            told.indexes,
            tonight.window.shapes,
            question.parsed,
            question.settings.scoring.pinot_version,
        ),
        fresh=fresh_choice(judged, answers, columns, times if judged is by_time else None),
    )
    if by_time is not None and times is not None:
        advice = _with_times(advice, by_time, times, told)
    return advice, tonight


def _unit(tonight: Tonight, times: ShapeTimes | None, doubts: str) -> str:
    """Return the unit in which the choice is made; a baseline ranks by its own rule, of entries."""
    asked = tonight.question.settings.advice.unit
    if times is None or tonight.ranking is not None or asked == ENTRIES:
        return ENTRIES
    return MS if asked == MS or not doubts else ENTRIES


def _with_times(advice: TableAdvice, by_time: Tonight, times: ShapeTimes, told: ChosenColumns) -> TableAdvice:
    """Return the advice with the time that it saves, as a whole and by index."""
    window, whole = by_time.window, told_lists(by_time)
    answers = in_unit_of(by_time, advice.answers)
    error = by_time.budget.model_error_ratio
    return replace(
        advice,
        time=time_saving(window, times, whole, told.indexes, answers, error),
        index_times=index_times(window, whole, told.indexes, answers),
    )


def _notes(tonight: Tonight, answers: ChosenAnswers, columns: ChosenColumns) -> tuple[str, ...]:
    question = tonight.question
    found = own_index_notes(question.parsed, question.overview)
    if question.overview is not None:
        found += segment_notes(question.parsed, question.overview, question.configs)
    kept = [
        f"dropping the {item.family} index on {item.column} is not proposed: {why}"
        for item, why in tonight.not_to_drop.items()
    ]
    return (*found, *kept, *_raw_columns(tonight, answers, columns))


def _raw_columns(tonight: Tonight, answers: ChosenAnswers, columns: ChosenColumns) -> tuple[str, ...]:
    question = tonight.question
    terms = question.settings.advice
    if question.overview is None or question.rows is None or not question.is_enough:
        return ()
    # The leaf of a multi-stage query does not show what the stages above it join and group by.
    if question.leaves or tonight.evidence.lack(terms.min_drop_queries, terms.max_drop_unparsed_ratio):
        return ()
    chosen = {index.column for index in columns.indexes}
    chosen.update(name for answer in answers.answers for name in answer.columns)
    return raw_column_notes(question.parsed, question.overview, question.configs, question.rows, chosen)


def _drops(tonight: Tonight, columns: ChosenColumns) -> tuple[Verdict, ...]:
    question, window = tonight.question, tonight.window
    if not question.parsed or not question.is_enough or tonight.drops_withheld:
        return ()
    # Segments that are pruned cost time also where they cost no entries.
    names = {family.name for family in tonight.paths if family.path is None or family.path.prunes is None}
    found = unneeded_indexes(
        [item for item in window.lists if not any(map(reorders, item.indexes))],
        frozenset(item.index for item in columns.recommendation.chosen),
        window.entries.total,
        {item for item in window.in_force if item.family in names} - tonight.not_to_drop.keys(),
        window.asked,
        question.settings.advice.max_drop_loss_ratio,
        str(tonight.evidence),
    )
    return tuple(drop for drop in found if not _breaks_by_drop(question, drop.index))


def _breaks_by_drop(question: TableQuestion, index: Index) -> bool:
    """Return whether the table config needs the index, as one without a forward index may."""
    family, version = named(index.family), question.settings.scoring.pinot_version
    if family is None or question.overview is None:
        return False
    edit = family_edit(family, (), [index.column])
    return bool(edit_faults(question.overview, question.configs, [edit], version))


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
