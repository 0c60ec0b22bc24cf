"""Subtrees of one node, built level by level on whole columns (Star-tree index, "Index generation", step 3).

All nodes of a level are split at once: a few array operations for each level and chunk, not a call for each
node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from starskip.star_tree.build.node_arrays import NO_PARENT, NodeArrays
from starskip.star_tree.documents import Documents, appended, sorted_runs
from starskip.star_tree.measures.measure_array import Positions, range_positions

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SplitRules:
    """The rules of splitting a node; all sequences have one entry for each dimension."""

    max_leaf_records: int
    skips_star: tuple[bool, ...]
    star_codes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Subtrees:
    """The sorted documents of a part, ``base_documents`` of them without any star, and its nodes."""

    documents: Documents
    base_documents: int
    nodes: NodeArrays


@dataclass(frozen=True, slots=True)
class _Level:
    """Nodes of one depth whose documents lie in one chunk, each at ``[starts, ends)``."""

    chunk: int
    starts: Positions
    ends: Positions
    nodes: Positions

    def select(self, which: Flags | Positions) -> _Level:
        return _Level(self.chunk, self.starts[which], self.ends[which], self.nodes[which])


def build_subtrees(documents: Documents, depth: int, rules: SplitRules, *, is_node: bool) -> Subtrees:
    """Return the nodes below one prefix and all documents that they point to.

    ``documents``: aggregated and sorted, with equal codes in the first ``depth`` dimensions. With ``is_node``
    they are all documents of one node, which is the only root; else each distinct code of dimension ``depth``
    is a root of its own, and their parent is split elsewhere.
    """
    return _Builder(documents, depth, rules).built(is_node=is_node)


class _Builder:
    def __init__(self, documents: Documents, depth: int, rules: SplitRules) -> None:
        self._depth = depth
        self._rules = rules
        self._dimensions = len(documents.codes)
        self._chunks = [documents]
        self._nodes = NodeArrays.empty()
        # (level of nodes, leading codes that their document keeps): the nodes with an aggregated document.
        self._totals: list[tuple[_Level, int]] = []

    def built(self, *, is_node: bool) -> Subtrees:
        base = self._chunks[0]
        if len(base) == 0:
            return Subtrees(base, 0, self._nodes)
        whole = _Level(0, np.array([0]), np.array([len(base)]), np.array([NO_PARENT]))
        if is_node:
            code = int(base.codes[self._depth - 1][0]) if self._depth else NO_PARENT
            levels = [self._added(whole, self._depth, np.array([code]))]
        else:
            levels = [self._children(whole, self._depth)[0]]
            self._depth += 1
        for depth in range(self._depth, self._dimensions + 1):
            levels = self._split(levels, depth)
        return self._finished()

    def _split(self, levels: Sequence[_Level], depth: int) -> list[_Level]:
        """Split the nodes of one depth by dimension ``depth`` and return their children."""
        children: list[_Level] = []
        for level in levels:
            counts = level.ends - level.starts
            is_split = (counts > self._rules.max_leaf_records) & (depth < self._dimensions)
            self._keep_total(level.select(~is_split & (counts > 1)), depth)
            single = level.select(~is_split & (counts == 1))
            self._nodes.aggregated_chunk[single.nodes] = single.chunk
            self._nodes.aggregated[single.nodes] = single.starts
            parents = level.select(is_split)
            if not len(parents.nodes):
                continue
            of_parents, runs = self._children(parents, depth)
            children.append(of_parents)
            has_several = runs > 1
            if self._rules.skips_star[depth]:
                self._keep_total(parents.select(has_several), depth)
            elif has_several.any():
                children.append(self._star_children(parents.select(has_several), depth))
        return children

    def _children(self, parents: _Level, depth: int) -> tuple[_Level, Positions]:
        """Return a node for each value in each parent's documents, and each parent's number of children."""
        rows, owners = _ranges(parents.starts, parents.ends)
        codes = self._chunks[parents.chunk].codes[depth][rows]
        changes = np.ones(len(rows), np.bool_)
        changes[1:] = (codes[1:] != codes[:-1]) | (owners[1:] != owners[:-1])
        firsts = np.flatnonzero(changes)
        starts = rows[firsts]
        ends = starts + np.diff(firsts, append=len(rows))
        owner = owners[firsts]
        level = _Level(parents.chunk, starts, ends, parents.nodes[owner])
        return self._added(level, depth + 1, codes[firsts]), np.bincount(owner, minlength=len(parents.nodes))

    def _star_children(self, parents: _Level, depth: int) -> _Level:
        """Drop the dimension from the parents' documents, aggregate, and return the star nodes."""
        chunk = self._chunks[parents.chunk]
        rows, owners = _ranges(parents.starts, parents.ends)
        star_codes = self._rules.star_codes
        keys: list[npt.NDArray[Any]] = [
            owners,
            *(chunk.codes[d][rows] for d in range(depth + 1, self._dimensions)),
        ]
        order, runs = sorted_runs(keys, [len(parents.nodes), *(star + 1 for star in star_codes[depth + 1 :])])
        if order is not None:
            rows, owners = rows[order], owners[order]
        starred = chunk.take(rows).merged(runs).with_codes(depth, star_codes[depth])
        owner = owners[runs]
        starts = np.searchsorted(owner, np.arange(len(parents.nodes)), side="left")
        ends = np.append(starts[1:], len(runs))
        self._chunks.append(starred)
        level = _Level(len(self._chunks) - 1, starts, ends, parents.nodes)
        return self._added(level, depth + 1, np.full(len(starts), star_codes[depth]))

    def _added(self, level: _Level, depth: int, codes: npt.NDArray[np.integer]) -> _Level:
        """Add the nodes of a level whose ``nodes`` are the parents; return the level with its own nodes."""
        first = self._nodes.add(depth, codes, level.nodes, level.chunk, level.starts, level.ends)
        return _Level(level.chunk, level.starts, level.ends, first + np.arange(len(codes)))

    def _keep_total(self, level: _Level, depth: int) -> None:
        if len(level.nodes):
            self._totals.append((level, depth))

    def _finished(self) -> Subtrees:
        """Sort all documents and let the nodes point to them."""
        nodes = self._nodes
        for level, depth in self._totals:
            rows, owners = _ranges(level.starts, level.ends)
            totals = (
                self._chunks[level.chunk]
                .take(rows)
                .merged(np.searchsorted(owners, np.arange(len(level.nodes))))
            )
            for dimension in range(depth, self._dimensions):
                totals = totals.with_codes(dimension, self._rules.star_codes[dimension])
            nodes.aggregated_chunk[level.nodes] = len(self._chunks)
            nodes.aggregated[level.nodes] = np.arange(len(level.nodes))
            self._chunks.append(totals)
        base = self._chunks[0]
        is_starred = any(
            int(codes[0]) == star for codes, star in zip(base.codes, self._rules.star_codes, strict=True)
        )
        kept = 0 if is_starred else len(base)
        starred = self._chunks if is_starred else self._chunks[1:]
        ranks = [np.arange(kept)] if kept else []
        documents = base
        if starred:
            together = appended(starred)
            order, _ = sorted_runs(together.codes, [star + 1 for star in self._rules.star_codes])
            if order is None:
                order = np.arange(len(together))
            rank = np.empty(len(order), np.int64)
            rank[order] = np.arange(len(order)) + kept
            ranks += np.split(rank, np.cumsum([len(chunk) for chunk in starred])[:-1])
            together = together.take(order)
            documents = appended([base, together]) if kept else together
        return Subtrees(documents, kept, nodes.placed(ranks))


def _ranges(starts: Positions, ends: Positions) -> tuple[Positions, Positions]:
    """Return all positions of the ranges, one range after the other, and the range's number for each."""
    return range_positions(starts, ends), np.repeat(np.arange(len(starts)), ends - starts)
