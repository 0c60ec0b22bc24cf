"""The family of star-trees: stored aggregates that answer whole queries."""

from __future__ import annotations

from starskip.indexes.answer import AnswerOffer, TableQueries
from starskip.indexes.family import Family
from starskip.indexes.star_tree.settings import StarTreeSettings
from starskip.pinot.star_trees_key import StarTreesKey


def _answer(queries: TableQueries) -> AnswerOffer:
    # Imported here: whoever names the family alone, as the DAG file does, needs none of it.
    from starskip.indexes.star_tree.recommend.star_tree_offer import star_tree_offer  # noqa: PLC0415

    return star_tree_offer(queries)


STAR_TREE = Family(
    name="star_tree",
    singular="a star-tree",
    plural="star-trees",
    answer=_answer,
    config=StarTreesKey(),
    settings=StarTreeSettings,
)
"""Star-trees, of Pinot's segments and of tables of the lake."""
