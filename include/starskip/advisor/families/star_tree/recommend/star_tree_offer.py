"""Star-trees as answers among which the one choice is made."""

from __future__ import annotations

import json
from dataclasses import replace

from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer, TableQueries
from starskip.advisor.families.index import Index
from starskip.advisor.families.star_tree.recommend.candidates import CandidateTree
from starskip.advisor.families.star_tree.recommend.star_tree_candidates import NO_TREES, star_tree_candidates
from starskip.advisor.families.star_tree.recommend.trees_in_force import star_trees_in_force, trees_in_force
from starskip.advisor.families.star_tree.settings import STAR_TREE_NAME, StarTreeSettings
from starskip.pinot.column_key import INDEX_CONFIG
from starskip.star_tree.star_tree_config import StarTreeConfig


def star_tree_offer(queries: TableQueries) -> AnswerOffer:
    """Return the candidate trees of a table; none if its rows must not be read."""
    settings = queries.settings
    configured = star_trees_in_force(queries.configs, queries.overview)
    held = trees_in_force(configured, queries.shapes, queries.overview, settings, queries.window)
    found = NO_TREES if queries.rows is None else star_tree_candidates(queries, queries.rows, held)
    return AnswerOffer(
        candidates=tuple(map(answer_of, found.candidates)),
        answered=frozenset(held.answered),
        max_answers=settings.of(StarTreeSettings).max_star_trees,
        total_entries=found.total_entries,
        gain_bytes=settings.of(StarTreeSettings).tree_gain_size_ratio * found.table_bytes,
        detail=replace(found, in_force=held),
    )


def answer_of(tree: CandidateTree) -> AnswerCandidate:
    """Return a candidate tree as an answer; the tree with fewest documents is tried first."""
    document = tree.config.to_document()
    return AnswerCandidate(
        index=tree_index(tree.config),
        columns=tree.config.dimensions_split_order,
        saving_entries=tree.saving_entries,
        size_bytes=tree.size_bytes,
        config={INDEX_CONFIG: {"starTreeIndexConfigs": [document]}},
        is_exclusive=True,
        rank=tree.documents,
        entries_read=tree.documents_read,
        detail=tree,
        variant=", ".join(document["functionColumnPairs"]),
    )


def tree_index(config: StarTreeConfig) -> Index:
    """Return the tree of ``config`` as an index, named by the whole configuration."""
    return Index(STAR_TREE_NAME, json.dumps(config.to_document(), sort_keys=True))
