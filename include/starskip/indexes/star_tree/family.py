"""The family of star-trees: stored aggregates that answer whole queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.execution.engine import Engine
from starskip.indexes.answer import AnswerOffer, AnswersChosen, TableQueries
from starskip.indexes.family import Family
from starskip.indexes.family_section import FamilySection
from starskip.indexes.star_tree.settings import StarTreeSettings
from starskip.pinot.star_trees_key import StarTreesKey
from starskip.run.gate import Gate
from starskip.run.night import Night, StageResult


def _answer(queries: TableQueries) -> AnswerOffer:
    # Imported here: whoever names the family alone, as the DAG file does, needs none of it.
    from starskip.indexes.star_tree.recommend.star_tree_offer import star_tree_offer  # noqa: PLC0415

    return star_tree_offer(queries)


def _proof(engine: Engine, night: Night) -> StageResult:
    from starskip.indexes.star_tree.proof.verify_star_trees import (  # noqa: PLC0415
        publish_star_tree_verdicts,
    )

    return publish_star_tree_verdicts(engine, night)


def _gates() -> Mapping[str, Gate]:
    from starskip.indexes.star_tree.chosen_trees_gate import CHOSEN_TREES_GATE  # noqa: PLC0415
    from starskip.indexes.star_tree.proof.verdicts_gate import STAR_TREE_VERDICTS_GATE  # noqa: PLC0415

    return {"select_indexes": CHOSEN_TREES_GATE, "verify_indexes": STAR_TREE_VERDICTS_GATE}


def _section() -> FamilySection:
    from starskip.indexes.star_tree.report.section import SECTION  # noqa: PLC0415

    return SECTION


def _properties(chosen: AnswersChosen, offer: AnswerOffer | None) -> Mapping[str, Any]:
    from starskip.indexes.star_tree.tree_properties import star_tree_properties  # noqa: PLC0415

    if offer is None or offer.detail is None:
        return star_tree_properties(chosen)
    return star_tree_properties(chosen, offer.detail.candidates, offer.detail.in_force)


STAR_TREE = Family(
    name="star_tree",
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
