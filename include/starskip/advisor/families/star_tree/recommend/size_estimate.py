"""Estimate the documents, nodes and bytes of a star-tree before it is built.

The counts come from the simulated tree: exact as long as the sketches hold all combinations. The bytes of a
Starskip tree come from simulated files (document_bytes), with the dictionaries and the table of nodes. The
bytes of a tree in a Pinot segment follow from its format: dictionary ids in as few bits as they need,
measures as they are, 28 bytes a node.

The node file is simulated too: its positions are running numbers within the nodes of one star pattern, which
compress like the real positions, though they are other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from starskip.advisor.families.star_tree.recommend.document_bytes import SampledRows, documents_bytes
from starskip.advisor.families.star_tree.recommend.document_codes import base_documents, star_documents
from starskip.advisor.families.star_tree.recommend.simulated_tree import NodeSet, SimulatedTree, TreeCounts
from starskip.star_tree.build.document_files import parquet_bytes
from starskip.star_tree.build.node_arrays import STORED, NodeArrays
from starskip.star_tree.measure import Measure, MeasureKind
from starskip.star_tree.star_tree_config import StarTreeConfig

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
    # The documents of such nodes lie one after the other, among the documents with as many stars.
    nodes.aggregated[first:] = np.where(
        item.documents[positions] > 1, ends[-1:] + np.arange(len(positions)), starts
    )


def _file_bytes(nodes: pa.Table) -> int:
    # As node_tasks writes them.
    sink = pa.BufferOutputStream()
    pq.write_table(nodes, sink, compression="zstd", write_page_checksum=True)
    return int(sink.tell())


_MOST_DOCUMENTS = 400_000
"""Documents that are laid out in order to weigh some of them."""
_PINOT_NODE_BYTES = 28
_PINOT_MEASURE_BYTES = {
    MeasureKind.HLL: 180.0,  # log2m 8, as Pinot's default has it: 2**8 registers of 5 bits and a header
    MeasureKind.KLL: 2_000.0,
    MeasureKind.T_DIGEST: 1_600.0,
}


@dataclass(frozen=True, slots=True)
class SizeEstimate:
    """The documents, nodes and bytes of one tree."""

    counts: TreeCounts
    size_bytes: float

    @property
    def documents(self) -> float:
        """Number of documents of the tree."""
        return self.counts.documents


def size_estimate(tree: SimulatedTree, config: StarTreeConfig, rows: SampledRows) -> SizeEstimate:
    """Return the size of the tree as Starskip stores it; ``rows`` has the columns of its measures."""
    counts = tree.counts()
    star = counts.star_documents + counts.aggregated_documents
    values = tree.cuboids.values
    weighed = partial(documents_bytes, measures=config.measures, rows=rows, values=values)
    table_rows = float(tree.cuboids.combinations(frozenset()).rows.sum())
    found = weighed(base_documents(tree, _MOST_DOCUMENTS), counts.base_documents, rows_of_base=table_rows)
    of_base = max(table_rows / max(counts.base_documents, 1), 1.0)
    found += weighed(star_documents(tree, _MOST_DOCUMENTS), star, rows_of_base=of_base)
    found += node_bytes(tree)
    dictionaries = (pa.table({"value": values[name]}) for name in config.dimensions_split_order)
    found += sum(parquet_bytes(each, ["value"]).size for each in dictionaries)
    return SizeEstimate(counts, found)


def pinot_size_estimate(tree: SimulatedTree, measures: Sequence[Measure]) -> SizeEstimate:
    """Return the size of the tree in a Pinot segment."""
    counts = tree.counts()
    bits = [
        max(len(tree.cuboids.values[name]).bit_length(), 1) for name in tree.layout.dimensions_split_order
    ]
    of_document = sum(bits) / 8 + sum(_PINOT_MEASURE_BYTES.get(item.kind, 8.0) for item in measures)
    return SizeEstimate(counts, counts.documents * of_document + counts.nodes * _PINOT_NODE_BYTES)
