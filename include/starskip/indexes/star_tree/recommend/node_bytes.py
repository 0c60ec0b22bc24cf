"""What the nodes of a simulated tree would take in their file: such a file is made up and weighed.

Positions are running ones within the nodes of one star pattern, which compress as the real ones do, though
they are not the same numbers.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from starskip.indexes.star_tree.build.node_arrays import STORED, NodeArrays
from starskip.indexes.star_tree.recommend.simulated_tree import NodeSet, SimulatedTree

_MOST_NODES = 200_000


def node_bytes(tree: SimulatedTree) -> float:
    """Return the bytes of the file of all nodes."""
    nodes = NodeArrays.empty()
    documents = total = 0.0
    for level, found in enumerate(tree.levels()):
        for item in found:
            scale = 1 / tree.cuboids.combinations(item.concrete).kept_ratio
            here = float(np.count_nonzero(item.exists)) * scale
            total += here
            if len(nodes) < _MOST_NODES:
                _add(nodes, tree, level, item, int(documents))
            documents += float(item.documents[item.exists].sum()) * scale
    columns = {name: pa.array(getattr(nodes, name)) for name in STORED}
    few = _file_bytes(pa.table(columns).slice(0, 1))
    whole = _file_bytes(pa.table(columns))
    return few + (whole - few) * (total - 1) / max(len(nodes) - 1, 1)


def _add(nodes: NodeArrays, tree: SimulatedTree, level: int, item: NodeSet, first_document: int) -> None:
    order = tree.layout.dimensions_split_order
    combinations = tree.cuboids.combinations(item.concrete)
    keys = [combinations.codes[name] for name in order[:level] if name in item.concrete]
    positions = np.flatnonzero(item.exists)
    if keys:
        positions = positions[np.lexsort([column[positions] for column in keys[::-1]])]
    positions = positions[: _MOST_NODES - len(nodes)]
    ends = first_document + np.cumsum(item.documents[positions]).astype(np.int64)
    starts = ends - item.documents[positions].astype(np.int64)
    is_star = level > 0 and order[level - 1] not in item.concrete
    codes = np.full(len(positions), len(tree.cuboids.values[order[level - 1]]) + 1 if is_star else -1)
    parents = len(nodes) + np.arange(len(positions))
    if level and not is_star:
        last, *above = [column[positions] for column in keys[::-1]]
        codes = last.astype(np.int64)
        changes = (
            np.any([np.diff(column) != 0 for column in above], axis=0) if above else np.zeros(len(last) - 1)
        )
        parents = len(nodes) + np.cumsum([0, *changes]).astype(np.int64)
    first = nodes.add(level, codes, parents, 0, starts, ends)
    # A document of one's own lies among the others with as many stars, one after the other.
    nodes.aggregated[first:] = np.where(
        item.documents[positions] > 1, ends[-1:] + np.arange(len(positions)), starts
    )


def _file_bytes(nodes: pa.Table) -> int:
    # As build.node_tasks writes them.
    sink = pa.BufferOutputStream()
    pq.write_table(nodes, sink, compression="zstd", write_page_checksum=True)
    return int(sink.tell())
