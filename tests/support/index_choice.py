"""Advice of one table in few words: families by name, config edits by kind, trees beside indexes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starskip.advisor.families.column_indexes import INVERTED, RANGE, SORTED
from starskip.advisor.families.families import families_named, families_of
from starskip.advisor.families.index import Index
from starskip.advisor.families.star_tree.family import STAR_TREE
from starskip.advisor.families.star_tree.recommend.candidates import CandidateTree
from starskip.advisor.families.star_tree.recommend.star_tree_offer import answer_of, tree_index
from starskip.advisor.selection.advise_table import advise_table
from starskip.advisor.selection.choice import ChoiceLimits, choose
from starskip.advisor.selection.chosen_answers import AnswerTerms, ChosenAnswers, chosen_answers
from starskip.advisor.selection.recommendation import Budget
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.vote_list import VoteList, total_saving
from starskip.pinot.proposed_config import KeyEdit
from starskip.star_tree.star_tree_config import StarTreeConfig


def in_force(inverted: Collection[str] = (), ranges: Collection[str] = ()) -> dict[str, frozenset[str]]:
    """Columns with an index in force."""
    return {INVERTED.name: frozenset(inverted), RANGE.name: frozenset(ranges)}


def advised(
    table: str, shapes: Any, votes: Any, overview: Any, settings: Any, families: str = "inverted", **more: Any
) -> TableAdvice:
    """The advice, for families by their names."""
    asked = families_of(settings) if families == "all" else families_named(families)
    question = TableQuestion(table, shapes, votes, overview, settings, asked, **more)
    return advise_table(question)


def edits(
    add_inverted: Sequence[str] = (),
    drop_inverted: Sequence[str] = (),
    add_range: Sequence[str] = (),
    sorted_column: str | None = None,
    add_star_trees: Sequence[Mapping[str, Any]] = (),
) -> list[KeyEdit]:
    """The edits of a table config."""
    found = [KeyEdit(INVERTED.config, add_inverted, drop_inverted), KeyEdit(RANGE.config, add_range)]
    if sorted_column is not None:
        found.append(KeyEdit(SORTED.config, [sorted_column]))
    return [*found, KeyEdit(STAR_TREE.config, add_star_trees)]


@dataclass(frozen=True)
class Selection:
    """Chosen indexes, and the entries that they save."""

    chosen: frozenset[Index]
    saving_entries: float


def k_selection(
    lists: Sequence[VoteList],
    k: int,
    *,
    upkeep_entries: Mapping[Index, float] | None = None,
    size_bytes: Mapping[Index, int] | None = None,
    budget_bytes: int | None = None,
) -> Selection:
    """The best set of at most ``k`` indexes, proved to be the best."""
    limits = ChoiceLimits(k, storage_bytes=budget_bytes, size_bytes=size_bytes or {})
    found = choose(lists, limits, upkeep_entries=upkeep_entries)
    assert found.gap_ratio == 0
    return Selection(found.indexes, total_saving(lists, found.indexes))


def with_star_trees(
    trees: Sequence[CandidateTree],
    lists: Sequence[VoteList],
    budget: Budget,
    index_entries: float,
    terms: AnswerTerms,
    *,
    size_bytes: Mapping[Index, int] | None = None,
    kept: Sequence[StarTreeConfig] = (),
) -> ChosenAnswers:
    """The best trees beside the best indexes."""
    return chosen_answers(
        list(map(answer_of, trees)),
        lists,
        budget,
        index_entries,
        {STAR_TREE.name: terms},
        size_bytes=size_bytes,
        kept=frozenset(map(tree_index, kept)),
    )


def trees_of(chosen: ChosenAnswers) -> tuple[CandidateTree, ...]:
    """The chosen trees."""
    return tuple(answer.detail for answer in chosen.answers)
