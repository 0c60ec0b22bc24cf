"""Traverse a tree from its root: select documents by predicates and groups, a whole level at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starskip.star_tree.measures.measure_array import range_positions
from starskip.star_tree.serving.node_table import Integers, NodeTable

_BINARY_SEARCH_RATIO = 16
"""Searching for each value pays off where a node has this many times more children than wanted values."""


@dataclass(frozen=True, slots=True)
class Traversal:
    """The documents to read: ranges of leaves, where predicates remain to apply, and single documents."""

    starts: Integers
    ends: Integers
    aggregated: Integers

    @property
    def documents(self) -> int:
        """Return the number of documents to read."""
        return int((self.ends - self.starts).sum()) + len(self.aggregated)


def traverse(
    nodes: NodeTable,
    masks: Sequence[npt.NDArray[np.bool_] | None],
    is_grouped: Sequence[bool],
    star_codes: Sequence[int],
) -> Traversal:
    """Return the documents that answer a query; all sequences have one entry a dimension.

    ``masks``: which codes qualify, None for a dimension without a predicate.
    """
    asked = [mask is not None or grouped for mask, grouped in zip(masks, is_grouped, strict=True)]
    last_asked = max((depth for depth, is_asked in enumerate(asked) if is_asked), default=-1)
    frontier = np.zeros(1 if len(nodes) else 0, np.int64)
    starts: list[Integers] = []
    ends: list[Integers] = []
    for depth, mask in enumerate(masks):
        if depth > last_asked or not len(frontier):
            break
        is_leaf = nodes.first_child[frontier] == nodes.end_child[frontier]
        leaves = frontier[is_leaf]
        starts.append(nodes.start[leaves])
        ends.append(nodes.end[leaves])
        parents = frontier[~is_leaf]
        if asked[depth]:
            frontier = _matching(nodes, parents, mask, star_codes[depth])
        else:
            frontier = _undivided(nodes, parents, star_codes[depth])
    none = np.zeros(0, np.int64)
    return Traversal(
        np.concatenate(starts) if starts else none,
        np.concatenate(ends) if ends else none,
        np.sort(nodes.aggregated[frontier]),
    )


def _matching(
    nodes: NodeTable, parents: Integers, mask: npt.NDArray[np.bool_] | None, star_code: int
) -> Integers:
    """Return the children with qualifying values, never the star child."""
    if mask is not None:
        wanted = np.flatnonzero(mask)
        children = int((nodes.end_child[parents] - nodes.first_child[parents]).sum())
        if len(wanted) * len(parents) * _BINARY_SEARCH_RATIO < children:
            return _found(nodes, parents, wanted)
    below = _children(nodes, parents)
    codes = nodes.code[below]
    qualifies = codes != star_code if mask is None else np.append(mask, False)[codes]
    matching: Integers = below[qualifies]
    return matching


def _undivided(nodes: NodeTable, parents: Integers, star_code: int) -> Integers:
    """Return the star children, and all children of nodes without a star child."""
    last = nodes.end_child[parents] - 1
    has_star = nodes.code[last] == star_code
    return np.concatenate([last[has_star], _children(nodes, parents[~has_star])])


def _children(nodes: NodeTable, parents: Integers) -> Integers:
    return range_positions(nodes.first_child[parents], nodes.end_child[parents])


def _found(nodes: NodeTable, parents: Integers, wanted: Integers) -> Integers:
    """Search the sorted children of every parent for every wanted code, all at once."""
    low = np.repeat(nodes.first_child[parents], len(wanted))
    end = np.repeat(nodes.end_child[parents], len(wanted))
    high = end.copy()
    code = np.tile(wanted, len(parents))
    while (low < high).any():
        middle = (low + high) // 2
        is_below = (low < high) & (nodes.code[np.minimum(middle, len(nodes) - 1)] < code)
        high = np.where((low < high) & ~is_below, middle, high)
        low = np.where(is_below, middle + 1, low)
    is_inside = low < end
    low, code = low[is_inside], code[is_inside]
    found: Integers = low[nodes.code[low] == code]
    return found
