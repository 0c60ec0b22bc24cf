"""The family of star-trees: stored aggregates that answer whole queries."""

from __future__ import annotations

from starskip.advisor.families.family import Family
from starskip.advisor.families.lazy import lazy_function, lazy_value, lazy_values
from starskip.advisor.families.star_tree.settings import STAR_TREE_NAME, StarTreeSettings
from starskip.pinot.star_trees_key import StarTreesKey

STAR_TREE = Family(
    name=STAR_TREE_NAME,
    singular="a star-tree",
    plural="star-trees",
    answer=lazy_function("starskip.advisor.families.star_tree.recommend.star_tree_offer:star_tree_offer"),
    config=StarTreesKey(),
    settings=StarTreeSettings,
    proof=lazy_function(
        "starskip.advisor.families.star_tree.proof.verify_star_trees:publish_star_tree_verdicts"
    ),
    gates=lazy_values(
        select_indexes="starskip.advisor.families.star_tree.chosen_trees_gate:CHOSEN_TREES_GATE",
        verify_indexes="starskip.advisor.families.star_tree.proof.verdicts_gate:STAR_TREE_VERDICTS_GATE",
    ),
    section=lazy_value("starskip.advisor.families.star_tree.report.section:SECTION"),
    properties=lazy_function("starskip.advisor.families.star_tree.tree_properties:offered_tree_properties"),
)
"""Star-trees, of Pinot's segments and of tables of the lake."""
