"""Render the page that answers what another set of indexes would save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from starskip.advisor.selection.other_sets import Member, OtherSets, ShapeChange
from starskip.advisor.selection.set_saving import SetSaving
from starskip.advisor.selection.vote_list import IndexSet
from starskip.reports.page_links import PageLinks
from starskip.reports.template_environment import rendered_page

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
