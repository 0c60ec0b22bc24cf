"""Documents that Pinot 0.11 makes and reads, derived from a tree of Starskip's: the two differ by rules.

Pinot's BaseSingleTreeBuilder (createAggregatedDocs) and StarTreeFilterOperator of release 0.11.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from starskip.star_tree.measures.measure_array import range_positions
from starskip.star_tree.serving.star_tree import ScanRequest, StarTree

Masks = Mapping[str, npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class MoreDocuments:
    """Documents that Pinot makes and Starskip does not.

    ``of_only_children``: a split node whose dimension has one value there has no star child; Pinot
    aggregates its only child's document once more, Starskip lets the node point to it. ``of_root``: Pinot
    splits the root always, Starskip (and LinkedIn's article) a root of more than maxLeafRecords documents.
    """

    of_only_children: int
    of_root: int

    @property
    def total(self) -> int:
        """Return all of them."""
        return self.of_only_children + self.of_root


def more_documents(tree: StarTree) -> MoreDocuments:
    """Return how many documents more than ``tree`` Pinot's tree of the same rows has."""
    nodes = tree.nodes
    if len(nodes) == 1:
        return MoreDocuments(0, _of_split_root(tree))
    return MoreDocuments(int((nodes.end_child - nodes.first_child == 1).sum()), 0)


def _of_split_root(tree: StarTree) -> int:
    """Return what splitting the root once adds: its children and its star child are leaves."""
    nodes, order = tree.nodes, tree.config.dimensions_split_order
    base = np.arange(nodes.start[0], nodes.end[0])
    codes = np.stack([tree.documents.codes(base, name) for name in order], axis=1)
    documents_of_child = np.unique(codes[:, 0], return_counts=True)[1]
    added = int((documents_of_child > 1).sum())
    own_total = int(len(base) > 1)  # Starskip's root is a leaf, whose documents are aggregated into one
    if len(documents_of_child) == 1 or order[0] in tree.config.skip_star_node_creation_for_dimensions:
        return added + 1 - own_total
    without_first = len(np.unique(codes[:, 1:], axis=0))
    return added + without_first + int(without_first > 1) - own_total


def documents_scanned(tree: StarTree, masks: Masks, group_by: tuple[str, ...]) -> tuple[int, int]:
    """Return what Pinot calls numDocsScanned, and how many documents of leaves it refuses before.

    ``masks``: which values of a dimension's dictionary meet the predicates. Pinot leaves a predicate out
    that all values meet, and counts a leaf's documents after the predicates that remain there.
    """
    asked = {name: np.append(mask, False) for name, mask in masks.items() if not mask.all()}
    found = tree.traverse(ScanRequest(asked, group_by, ()))
    of_leaves = np.sort(range_positions(found.starts, found.ends))
    kept = of_leaves
    for name, mask in asked.items():
        if len(kept):
            kept = kept[mask[tree.documents.codes(kept, name)]]
    return len(kept) + len(found.aggregated), len(of_leaves) - len(kept)
