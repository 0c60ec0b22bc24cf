"""Simulate a star-tree without its measures: number of documents and nodes, and the reads of queries.

The rules are in "Star-tree index: Powering fast aggregations on Pinot", "Tree structure" and "Index
generation". A node is the combination C of the values on its path (star nodes add none). Its documents are
the combinations of C and of the dimensions below. With D(X|c), the number of combinations of X that hold c:

    documents = D(all) + sum over star nodes of D(C and the dimensions below | c)
                       + one for each node of several documents that neither has a star node nor re-uses
                         the aggregated document of a single child

A node is split if it has more than T documents. The nodes above it have at least as many documents, so that
the existence of a node depends on its own cuboid and on the stars of its path alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from starskip.advisor.families.star_tree.recommend.cuboids import Counts, Cuboids, Dimensions, Flags
from starskip.advisor.families.star_tree.recommend.tree_read import TreeReading
from starskip.advisor.families.star_tree.recommend.tree_scan import TreeScan


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """The settings that decide the number of documents: the order of the split, T, and the skip list."""

    dimensions_split_order: tuple[str, ...]
    max_leaf_records: int
    skipped: Dimensions = frozenset()

    def below(self, level: int) -> Dimensions:
        """Return the dimensions from ``level`` on."""
        return frozenset(self.dimensions_split_order[level:])


@dataclass(frozen=True, slots=True)
class TreeCounts:
    """Documents of the three kinds and nodes; fractions where combinations were sampled."""

    base_documents: float
    star_documents: float
    aggregated_documents: float
    nodes: float

    @property
    def documents(self) -> float:
        """Number of documents of all kinds."""
        return self.base_documents + self.star_documents + self.aggregated_documents


@dataclass(frozen=True, slots=True)
class NodeSet:
    """Nodes of one level whose paths have values of the same dimensions; a flag for each combination of them.

    ``has_own``: the aggregated document of a node is one more document, not a star node's or an only child's.
    """

    concrete: Dimensions
    exists: Flags
    documents: Counts
    is_split: Flags
    has_star: Flags
    has_own: Flags


@dataclass(frozen=True, slots=True)
class Leaves:
    """Leaves of one level that a query reads: ``flags`` marks them among the nodes of ``concrete``.

    ``below``: the dimensions by which they are not split. ``documents``: ``scale`` times the counted
    documents.
    """

    concrete: Dimensions
    below: Dimensions
    flags: Flags
    scale: float
    documents: float


class SimulatedTree:
    """The nodes of one tree over some cuboids."""

    def __init__(self, cuboids: Cuboids, layout: TreeLayout, *, as_pinot: bool = False) -> None:
        """Keep the cuboids and the layout; the nodes are computed when they are asked for.

        ``as_pinot``: Pinot's BaseSingleTreeBuilder always splits the root, and aggregates the document of an
        only child once more.
        """
        self.cuboids = cuboids
        self.layout = layout
        self._as_pinot = as_pinot
        self._levels: list[list[NodeSet]] | None = None

    def counts(self) -> TreeCounts:
        """Return the numbers of documents and nodes."""
        star = aggregated = nodes = 0.0
        for level, found in enumerate(self.levels()):
            for item in found:
                scale = 1 / self.cuboids.combinations(item.concrete).kept_ratio
                nodes += scale * int(np.count_nonzero(item.exists))
                aggregated += scale * int(np.count_nonzero(item.has_own))
                if item.has_star.any():
                    below = item.concrete | self.layout.below(level + 1)
                    of_stars = self.cuboids.documents(below, item.concrete)[item.has_star]
                    star += scale * float(of_stars.sum())
        base = self.cuboids.combinations(self.layout.below(0)).total
        return TreeCounts(base, star, aggregated, nodes)

    def largest_leaf(self) -> float:
        """Return the documents of the largest leaf, 0 without one: any T above gives the same tree."""
        found = (item.documents[item.exists & ~item.is_split] for level in self.levels() for item in level)
        return max((float(documents.max()) for documents in found if len(documents)), default=0.0)

    def reading(self, scan: TreeScan) -> TreeReading:
        """Return what ``scan`` reads; entries in filter are counted as in Pinot's StarTreeFilterOperator."""
        aggregated, leaves = self._reached(scan.used, scan.masks)
        if not self._as_pinot:
            return TreeReading(aggregated, sum(each.documents for each in leaves))
        remaining = {name for each in leaves for name in each.below if name in scan.masks}
        if scan.is_empty or self._has_no_value(scan.masks, remaining):
            return TreeReading()
        # Runs of documents that lie beside one another.
        runs = aggregated + sum(each.scale * float(np.count_nonzero(each.flags)) for each in leaves)
        documents = aggregated + sum(each.documents for each in leaves)
        passing, entries = sum(each.documents for each in leaves), 0.0
        for count, (name, _) in enumerate(scan.predicates.masks, start=1):
            if name in remaining:
                entries += self._scanned(name, scan.evaluators[count - 1], documents, runs)
                passing = sum(self._passing(each, scan, count) for each in leaves)
                documents = aggregated + passing
        return TreeReading(aggregated, sum(each.documents for each in leaves), passing, entries)

    def _has_no_value(self, masks: Mapping[str, Flags], remaining: Collection[str]) -> bool:
        """Return whether predicates of a dimension on the path exclude one another: Pinot ends there."""
        return any(not mask.any() for name, mask in masks.items() if name not in remaining)

    def _scanned(self, name: str, evaluators: Sequence[Flags], documents: float, runs: float) -> float:
        """Return the entries that evaluating a predicate of ``name`` on ``runs`` runs of documents reads.

        The parts of an OR leap: each part scans from the asked document to its next match, also beyond the
        end of a run.
        """
        if len(evaluators) == 1 or not documents:
            return documents
        rows = self.cuboids.documents(self.layout.below(0), frozenset({name}))
        codes = self.cuboids.combinations(frozenset({name})).codes[name]
        total = max(self._documents, documents)
        matching = [float(rows[mask[codes]].sum() / rows.sum()) for mask in evaluators]
        return sum(min(total, documents + runs / max(ratio, 1 / total)) for ratio in matching)

    @cached_property
    def _documents(self) -> float:
        return self.counts().documents

    def _passing(self, leaves: Leaves, scan: TreeScan, count: int) -> float:
        # Predicates that the path has met do not change which documents pass.
        larger = leaves.concrete | leaves.below
        counts = self.cuboids.passing(larger, leaves.concrete, scan.predicates, count)
        return leaves.scale * float(counts[leaves.flags].sum())

    def documents_read(self, used: Dimensions, masks: Mapping[str, Flags]) -> float:
        """Return how many documents a query reads that filters or groups by ``used``.

        ``masks``: by dimension, the codes that pass its predicates; all codes of a missing dimension pass.
        """
        aggregated, leaves = self._reached(used, masks)
        return aggregated + sum(each.documents for each in leaves)

    def _reached(self, used: Dimensions, masks: Mapping[str, Flags]) -> tuple[float, list[Leaves]]:
        """Return how many nodes' own documents are read, and the leaves whose documents are."""
        if not used:
            return 1.0, []
        reached: dict[Dimensions, Flags] = {frozenset(): np.ones(1, bool)}
        aggregated = 0.0
        leaves: list[Leaves] = []
        order = self.layout.dimensions_split_order
        for level, found in enumerate(self.levels()):
            below: dict[Dimensions, Flags] = {}
            is_done = not used & self.layout.below(level)
            for item in found:
                flags = reached.get(item.concrete)
                if flags is None or not flags.any():
                    continue
                scale = 1 / self.cuboids.combinations(item.concrete).kept_ratio
                if is_done:
                    aggregated += scale * int(np.count_nonzero(flags))
                    continue
                of_leaves = flags & ~item.is_split
                if of_leaves.any():
                    documents = scale * float(item.documents[of_leaves].sum())
                    leaves.append(
                        Leaves(item.concrete, self.layout.below(level), of_leaves, scale, documents)
                    )
                dimension = order[level]
                to_star = flags & item.has_star if dimension not in used else np.zeros_like(flags)
                if to_star.any():
                    below[item.concrete] = to_star
                to_children = flags & item.is_split & ~to_star
                if to_children.any():
                    children = item.concrete | {dimension}
                    of_children = self._of_children(to_children, item.concrete, children)
                    if dimension in masks:
                        codes = self.cuboids.combinations(children).codes[dimension]
                        of_children &= masks[dimension][codes]
                    below[children] = of_children
            reached = below
        return aggregated, leaves

    def levels(self) -> Sequence[Sequence[NodeSet]]:
        """Return the nodes of each level, the root's first."""
        if self._levels is None:
            self._levels = list(self._found_levels())
        return self._levels

    def _found_levels(self) -> Iterator[list[NodeSet]]:
        existing: dict[Dimensions, Flags] = {frozenset(): np.ones(1, bool)}
        order = self.layout.dimensions_split_order
        for level in range(len(order) + 1):
            found = [self._nodes(level, concrete, exists) for concrete, exists in existing.items()]
            yield found
            existing = {}
            for item in found:
                if item.has_star.any():
                    existing[item.concrete] = item.has_star
                if item.is_split.any():
                    children = item.concrete | {order[level]}
                    existing[children] = self._of_children(item.is_split, item.concrete, children)

    def _nodes(self, level: int, concrete: Dimensions, exists: Flags) -> NodeSet:
        below = concrete | self.layout.below(level)
        documents = self.cuboids.documents(below, concrete)
        is_split = exists & (documents > self.layout.max_leaf_records)
        if self._as_pinot and level == 0:
            is_split = exists
        is_wide = has_star = np.zeros_like(is_split)
        if is_split.any():
            dimension = self.layout.dimensions_split_order[level]
            is_wide = is_split & ~self.cuboids.is_single(below, concrete, dimension)
            has_star = is_wide if dimension not in self.layout.skipped else has_star
        merged = is_split if self._as_pinot else is_wide
        has_own = (exists & ~is_split & (documents > 1)) | (merged & ~has_star)
        return NodeSet(concrete, exists, documents, is_split, has_star, has_own)

    def _of_children(self, parents: Flags, concrete: Dimensions, children: Dimensions) -> Flags:
        positions = self.cuboids.projection(children, concrete)
        return parents[positions] & (positions >= 0)
