"""The family of star-trees: stored aggregates that answer whole queries.

The functions import what they call: the candidates, gates, proof and section of star-trees bring DuckDB,
sqlglot and deltalake, which whoever only looks at families does not need.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.advisor.families.answer import AnswerOffer, AnswersChosen, TableQueries
from starskip.advisor.families.family import Family
from starskip.advisor.families.family_section import FamilySection
from starskip.advisor.families.star_tree.settings import STAR_TREE_NAME, StarTreeSettings
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night, StageResult
from starskip.execution.engine import Engine
from starskip.pinot.star_trees_key import StarTreesKey


def _answer(queries: TableQueries) -> AnswerOffer:
    from starskip.advisor.families.star_tree.recommend.star_tree_offer import star_tree_offer

    return star_tree_offer(queries)


def _proof(engine: Engine, night: Night) -> StageResult:
    from starskip.advisor.families.star_tree.proof.verify_star_trees import publish_star_tree_verdicts

    return publish_star_tree_verdicts(engine, night)


def _gates() -> Mapping[str, Gate]:
    from starskip.advisor.families.star_tree.proof.verdicts_gate import (
        CHOSEN_TREES_GATE,
        STAR_TREE_VERDICTS_GATE,
    )

    return {"select_indexes": CHOSEN_TREES_GATE, "verify_indexes": STAR_TREE_VERDICTS_GATE}


def _section() -> FamilySection:
    from starskip.advisor.families.star_tree.report.section import SECTION

    return SECTION


def _properties(chosen: AnswersChosen, offer: AnswerOffer | None) -> Mapping[str, Any]:
    from starskip.advisor.families.star_tree.tree_properties import offered_tree_properties

    return offered_tree_properties(chosen, offer)


STAR_TREE = Family(
    name=STAR_TREE_NAME,
    singular="a star-tree",
    plural="star-trees",
    answer=_answer,
    config=StarTreesKey(),
    settings=StarTreeSettings,
    proof=_proof,
    gates=_gates,
    section=_section,
    properties=_properties,
)
"""Star-trees, of Pinot's segments and of tables of the lake."""
