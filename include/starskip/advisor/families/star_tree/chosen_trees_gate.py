"""Expectations of the star-trees in ``recommendations``: their number, saving and size within bounds.

Source: Star-tree index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starskip.advisor.families.star_tree.settings import StarTreeSettings
from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.expectations import Expectation, View, between
from starskip.advisor.run.gate import Gate, mapping_of, number_of
from starskip.advisor.run.night import Night
from starskip.settings import Settings

_TOLERANCE = 1e-6


def _views(night: Night, table: str) -> Mapping[str, View]:
    properties = published(night, "recommendations").parts()[table].properties
    trees = [mapping_of(tree) for tree in properties.get("star_trees") or ()]
    view = {
        "star_trees": len(trees),
        "tree_saving": sum(number_of(tree.get("saving_ratio")) or 0.0 for tree in trees),
        "tree_bytes": sum(number_of(tree.get("size_bytes")) or 0.0 for tree in trees),
    }
    return {"advice": View([view])}


def _expectations(settings: Settings) -> Sequence[Expectation]:
    most_trees = settings.of(StarTreeSettings).max_star_trees
    return (
        between(
            "advice",
            "star_trees",
            "chosen star-trees of {table}: number",
            0,
            most_trees,
        ),
        between(
            "advice",
            "tree_saving",
            "predicted saving of the star-trees of {table}: share of all entries",
            0,
            1 + _TOLERANCE,
        ),
        between(
            "advice",
            "tree_bytes",
            "chosen star-trees of {table}: estimated bytes",
            0,
            settings.advice.index_budget_bytes,
        ),
    )


CHOSEN_TREES_GATE = Gate(_views, _expectations)
