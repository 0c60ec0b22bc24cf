"""Nodes of a tree in memory; the children of a node are side by side and sorted by value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starskip.star_tree.build.node_arrays import STORED
from starskip.star_tree.build.tree_files import naming_damage, read_rows
from starskip.star_tree.build.tree_parts import Prefix, TreeLayout, TreePart
from starskip.storage.manifest import DataFile
from starskip.storage.storage import Storage

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NodeTable:
    """One entry a node, the root first; nodes of one depth are together.

    ``code``: the value of the node's own dimension, -1 for the root. ``start`` and ``end``: the documents of
    a node without children. ``first_child`` and ``end_child`` are equal where a node has no children. No
    nodes at all: a table without rows.
    """

    depth: npt.NDArray[np.int16]
    code: npt.NDArray[np.int32]
    start: Integers
    end: Integers
    aggregated: Integers
    first_child: Integers
    end_child: Integers

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.code)


def load_nodes(storage: Storage, layout: TreeLayout, files: Mapping[str, DataFile]) -> NodeTable:
    """Read the nodes of all parts, with ``files`` by name, and sort them.

    Raises StorageError for a damaged file.
    """
    firsts = _first_documents(layout)
    columns = _gathered(storage, layout, files, firsts)
    order, parent = _ordered(columns["depth"], columns["code"], columns["parent"])
    depth, code, start, end, aggregated = (
        columns[name][order] for name in ("depth", "code", "start", "end", "aggregated")
    )
    nodes = len(order)
    children = np.bincount(parent[parent >= 0], minlength=nodes) if nodes else np.zeros(0, np.int64)
    # Children follow one another in the order of their parents, the root's first.
    first_child = 1 + np.cumsum(children) - children
    end_child = first_child + children
    _inherit(depth, parent, aggregated)
    return NodeTable(
        depth.astype(np.int16), code.astype(np.int32), start, end, aggregated, first_child, end_child
    )


def document_files(layout: TreeLayout) -> list[tuple[str, int]]:
    """Return the files of all documents in their order, each with the number of its documents."""
    base = [(part.base_file, part.base_documents) for part in layout.parts if part.base_file]
    star = [(part.star_file, part.star_documents) for part in layout.parts if part.star_file]
    return base + star


def _first_documents(layout: TreeLayout) -> dict[str, int]:
    found, first = {}, 0
    for name, documents in document_files(layout):
        found[name] = first
        first += documents
    return found


def _gathered(
    storage: Storage, layout: TreeLayout, files: Mapping[str, DataFile], firsts: dict[str, int]
) -> dict[str, Integers]:
    """Return the columns of all nodes, split ones first; parents and documents numbered across the tree."""
    split = sorted(layout.split_nodes, key=lambda node: len(node.prefix))
    place: dict[Prefix, int] = {node.prefix: number for number, node in enumerate(split)}
    totals = {part.place: part for part in layout.parts if not part.nodes}
    rows = [
        {
            "depth": len(node.prefix),
            "code": node.prefix[-1] if node.prefix else -1,
            "parent": place[node.prefix[:-1]] if node.prefix else -1,
            "start": -1,
            "end": -1,
            "aggregated": -1 if node.total_place is None else firsts[str(totals[node.total_place].star_file)],
        }
        for node in split
    ]
    gathered = {name: [np.array([row[name] for row in rows], np.int64)] for name in STORED}
    first = len(split)
    for part in layout.parts:
        if not part.node_file:
            continue
        read = _read(storage, files[part.node_file], part.nodes)
        for name, values in _part_columns(read, part, firsts, first, place).items():
            gathered[name].append(values)
        first += part.nodes
    return {name: np.concatenate(arrays) for name, arrays in gathered.items()}


def _part_columns(
    read: dict[str, Integers],
    part: TreePart,
    firsts: dict[str, int],
    first: int,
    place: dict[Prefix, int],
) -> dict[str, Integers]:
    base, star = firsts.get(part.base_file or "", 0), firsts.get(part.star_file or "", 0)

    def placed(position: Integers) -> Integers:
        in_base = position < part.base_documents
        return np.where(in_base, position + base, position - part.base_documents + star)

    hung_below = -1 if part.parent is None else place[part.parent]
    parent = np.where(read["parent"] < 0, hung_below, read["parent"] + first)
    return {
        "depth": read["depth"],
        "code": read["code"],
        "parent": parent,
        "start": placed(read["start"]),
        "end": placed(read["end"] - 1) + 1,
        "aggregated": placed(read["aggregated"]),
    }


def _ordered(depth: Integers, code: Integers, parent: Integers) -> tuple[Integers, Integers]:
    """Return the nodes' order, and their parents' new numbers."""
    order: list[Integers] = []
    number = np.full(len(depth), -1, np.int64)
    known = 0
    for level in range(int(depth.max(initial=-1)) + 1):
        nodes = np.flatnonzero(depth == level)
        of_parents = number[parent[nodes]] if level else np.full(len(nodes), -1)
        nodes = nodes[np.lexsort((code[nodes], of_parents))]
        number[nodes] = known + np.arange(len(nodes))
        known += len(nodes)
        order.append(nodes)
    together = np.concatenate(order) if order else np.zeros(0, np.int64)
    parents = parent[together]
    return together, np.where(parents < 0, -1, number[parents])


def _inherit(depth: Integers, parent: Integers, aggregated: Integers) -> None:
    """Give split nodes the aggregated document of their last child, the star child or the only child."""
    for level in range(int(depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(depth == level)
        parents = parent[nodes]
        wanted = aggregated[parents] < 0
        aggregated[parents[wanted]] = aggregated[nodes[wanted]]


def _read(storage: Storage, file: DataFile, nodes: int) -> dict[str, Integers]:
    table = read_rows(storage, file, STORED, rows=nodes)
    with naming_damage(file.name):
        return {column: table.column(column).to_numpy().astype(np.int64) for column in STORED}
