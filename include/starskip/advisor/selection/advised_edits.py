"""The changes of a table config that the advice for a table asks for."""

from __future__ import annotations

from collections.abc import Iterable

from starskip.advisor.families.family import Family
from starskip.advisor.families.family_edit import family_edit
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.pinot.proposed_config import KeyEdit


def advised_edits(advice: TableAdvice, families: Iterable[Family]) -> list[KeyEdit]:
    """Return the edits of the families that are used; a sort order beside other indexes is not among them."""
    chosen = [item.index for item in advice.recommendation.chosen]
    drops = [drop.index for drop in advice.drops]
    return [
        family_edit(
            family,
            [item.column for item in chosen if item.family == family.name],
            [item.column for item in drops if item.family == family.name],
            [item.config for item in advice.answers.answers if item.index.family == family.name],
        )
        for family in families
        if family.name not in advice.not_used
    ]
