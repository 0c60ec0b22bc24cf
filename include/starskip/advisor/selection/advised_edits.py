"""The changes of a table config that an advice asks for, tried out before anybody relies on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starskip.advisor.families.families import BUILT_IN, FamilyChoice
from starskip.advisor.families.family import Family
from starskip.advisor.families.family_edit import family_edit
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.pinot.proposed_config import KeyEdit, with_edits
from starskip.pinot.table_config import TableConfig


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


def write_out(advice: TableAdvice, families: FamilyChoice, configs: Sequence[TableConfig]) -> None:
    """Write what is advised of users' families as outputs and table configs hold it; raises FamilyFault."""
    own = [family for family in families.known if family not in BUILT_IN]
    columns = [item.index for item in advice.recommendation.chosen]
    for family in own:
        chosen = [index.column for index in columns if index.family == family.name]
        if family.document is not None:
            family.document(chosen)
        if family.config is not None and family.path is not None:
            for column in chosen:
                family.config.fragment(column)
        if family.properties is not None:
            family.properties(advice.answers, advice.offers.get(family.name))
    for config in configs or (TableConfig(advice.table, document={"tableName": advice.table}),):
        with_edits(config, advised_edits(advice, own))
