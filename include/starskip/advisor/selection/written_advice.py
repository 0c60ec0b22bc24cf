"""The advice as users' families write it, tried out before anybody relies on it."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.advisor.families.families import BUILT_IN, FamilyChoice
from starskip.advisor.selection.advised_edits import advised_edits
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.pinot.proposed_config import with_edits
from starskip.pinot.table_config import TableConfig


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
