"""Answer what another set of indexes would save, for a page."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from starskip.advisor.run.night import Night
from starskip.advisor.selection.other_sets import OtherSets
from starskip.advisor.selection.stored_question import stored_question
from starskip.advisor.selection.vote_list import IndexSet
from starskip.advisor.workload.shape_workload import UNPARSED
from starskip.errors import ConfigError
from starskip.reports.render_what_if import SHAPES, WhatIf
from starskip.settings import Settings
from starskip.settings.overrides import with_overrides
from starskip.sql.mask_unparsed import mask_unparsed
from starskip.sql.masking import MAX_TEXT, mask_literals

_TERMS = {"advice.max_indexes": "K", "advice.index_budget_bytes": "bytes"}
"""The settings that a person may change here, and what the page calls them."""


@dataclass(frozen=True, slots=True)
class AskedSet:
    """A question as an address has it: ``ask`` is "set" for the ``keys``, "choose" for K and budget."""

    ask: str = ""
    keys: tuple[str, ...] = ()
    max_indexes: str = ""
    budget: str = ""


def what_if_answer(night: Night, table: str, asked: AskedSet) -> WhatIf:
    """Return the answer; of a question that is wrong, the advised set and what is wrong."""
    sets = OtherSets(stored_question(night, table))
    settings = sets.stored.tonight.question.settings
    problem = ""
    try:
        indexes = _indexes(sets, settings, asked)
        sets.require_possible(indexes)
    except ConfigError as error:
        indexes, problem = sets.stored.chosen, str(error)
        for place, words in _TERMS.items():
            problem = problem.replace(place, words)
    found = sets.saving(indexes)
    changes = sets.shape_changes(found)
    budget = settings.advice.index_budget_bytes
    return WhatIf(
        sets,
        indexes,
        found,
        changes,
        _texts(night, table, {each.shape_id for each in changes[:SHAPES]}),
        asked.max_indexes or str(settings.advice.max_indexes),
        asked.budget or ("" if budget is None else str(budget)),
        problem,
    )


def _indexes(sets: OtherSets, settings: Settings, asked: AskedSet) -> IndexSet:
    if asked.ask == "set":
        return sets.of_keys(asked.keys)
    if asked.ask == "choose":
        values = (asked.max_indexes or None, asked.budget or "none")
        terms = with_overrides(settings, dict(zip(_TERMS, values, strict=True)), origin="the form").advice
        return sets.chosen_again(terms.max_indexes, terms.index_budget_bytes)
    return sets.stored.chosen


def _texts(night: Night, table: str, shape_ids: Collection[str]) -> Mapping[str, str]:
    """Return the texts of these shapes, their literals masked as in the report."""
    snapshot = night.store.snapshot("workload", night.date_text) if shape_ids else None
    if snapshot is None:
        return {}
    rows = snapshot.read_table([table], ["shape_id", "text"])
    return {
        row["shape_id"]: mask_unparsed(row["text"], limit=MAX_TEXT)
        if row["shape_id"].startswith(UNPARSED)
        else mask_literals(row["text"], quoted_names=True)
        for row in rows.to_pylist()
        if row["shape_id"] in shape_ids
    }
