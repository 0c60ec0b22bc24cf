"""Star-trees as answers among which the one choice is made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer, RowSource, TableQueries
from starskip.advisor.families.index import Index
from starskip.advisor.families.star_tree.recommend.candidates import CandidateTree
from starskip.advisor.families.star_tree.recommend.star_tree_candidates import (
    NO_TREES,
    StarTreeCandidates,
    TableRows,
    star_tree_candidates,
)
from starskip.advisor.families.star_tree.recommend.trees_in_force import (
    TreesInForce,
    star_trees_in_force,
    trees_in_force,
)
from starskip.advisor.families.star_tree.settings import STAR_TREE_NAME, StarTreeSettings
from starskip.errors import ConfigError, StarskipError, TransientError
from starskip.pinot.column_key import INDEX_CONFIG
from starskip.star_tree.build.published_trees import known_of_table
from starskip.star_tree.build.source_table import SourceFile
from starskip.star_tree.star_tree_config import StarTreeConfig


def star_tree_offer(queries: TableQueries) -> AnswerOffer:
    """Return the candidate trees of a table; none if its rows must not be read."""
    settings = queries.settings
    configured = star_trees_in_force(queries.configs, queries.overview)
    held = trees_in_force(configured, queries.shapes, queries.overview, settings, queries.window)
    found = NO_TREES if queries.rows is None else _candidates(queries, queries.rows, held)
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


def _candidates(queries: TableQueries, rows: RowSource, held: TreesInForce) -> StarTreeCandidates:
    return star_tree_candidates(
        rows.run_tasks,
        rows.staged,
        queries.table,
        queries.shapes,
        queries.overview,
        TableRows(rows.lake, rows.segments, _known_files(queries.table, rows)),
        queries.settings,
        window=queries.window,
        known=_known_trees(queries),
        held=held,
    )


def _known_trees(queries: TableQueries) -> list[StarTreeConfig]:
    """Return the trees of the last advice; trees that another version wrote are left out."""
    found = []
    for document in queries.last:
        try:
            found.append(StarTreeConfig.from_document(document))
        except ConfigError:
            continue
    return found


def _known_files(table: str, rows: RowSource) -> Mapping[str, SourceFile]:
    """Return the facts of its files in the table's published star-trees; none if they cannot be read."""
    if rows.lake is None or rows.store is None:
        return {}
    try:
        return known_of_table(rows.store, table)
    except TransientError:
        raise
    except StarskipError:
        return {}
