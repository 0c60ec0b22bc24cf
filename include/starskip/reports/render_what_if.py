"""Answer what another set of indexes would save, and render the page that says so."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from starskip.advisor.run.night import Night
from starskip.advisor.selection.other_sets import Member, OtherSets, ShapeChange
from starskip.advisor.selection.set_saving import SetSaving
from starskip.advisor.selection.stored_question import stored_question
from starskip.advisor.selection.vote_list import IndexSet
from starskip.advisor.workload.shape_workload import UNPARSED
from starskip.errors import ConfigError
from starskip.reports.page_links import PageLinks
from starskip.reports.template_environment import rendered_page
from starskip.settings import Settings
from starskip.settings.overrides import with_overrides
from starskip.sql.mask_unparsed import mask_unparsed
from starskip.sql.masking import MAX_TEXT, mask_literals

SHAPES = 12
"""Changed shapes that the page shows."""
_MEMBERS = 40
"""Indexes that the page offers besides the advised and the asked ones."""
_OTHERS_AT_ONCE = 5
"""Other indexes that the page shows unfolded."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A question and its answer: ``asked`` is the set of ``indexes``, chosen by K and budget or by hand.

    ``max_indexes``, ``budget``: as a person wrote them. ``problem``: what is wrong with the question, empty
    where it is answered. ``texts``: by shape, its masked text.
    """

    sets: OtherSets
    indexes: IndexSet
    asked: SetSaving
    changes: Sequence[ShapeChange]
    texts: Mapping[str, str]
    max_indexes: str
    budget: str
    problem: str = ""


def render_what_if(
    links: PageLinks,
    table: str,
    run_date: date,
    found: WhatIf,
    *,
    may_decide: bool,
    lacks_right: bool = False,
) -> str:
    """Return the page of one question; ``lacks_right``: the reader may not approve what others may."""
    stored = found.sets.stored
    offered = _offered(found)
    return rendered_page(
        "page_what_if.html.j2",
        links=links,
        table=table,
        run_date=run_date,
        found=found,
        offered=offered,
        first=len(found.indexes | stored.chosen) + _OTHERS_AT_ONCE,
        left_out=len(found.sets.members) - len(offered),
        sets=(("the advised set", found.sets.advised), ("this set", found.asked)),
        is_advised=found.indexes == stored.chosen,
        worse=sum(each.asked > each.advised for each in found.changes),
        harmed=sum(each.asked > each.today for each in found.changes),
        shapes=found.changes[:SHAPES],
        is_trusted=found.asked.time is not None and not stored.mistrust,
        may_decide=may_decide,
        lacks_right=lacks_right,
    )


def _offered(found: WhatIf) -> list[Member]:
    """Return the indexes to tick: the advised and the asked ones, and what saves most by itself."""
    members = list(found.sets.members.values())
    wanted = found.indexes | found.sets.stored.chosen
    others = [each for each in members if each.index not in wanted and each.alone_ratio > 0]
    kept = {each.index for each in others[:_MEMBERS]} | wanted
    # Advised and asked ones first.
    return sorted((each for each in members if each.index in kept), key=lambda each: each.index not in wanted)


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
