"""The documents, nodes and bytes of a star-tree before it is built.

Counts are those of the simulated tree: exact as long as the sketches hold all combinations. Bytes are those
of files made up like its own (document_bytes), with the dictionaries and the table of nodes; or as a Pinot
segment stores a tree: dictionary ids in as few bits as they need, measures as they are, 28 bytes a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from starskip.indexes.star_tree.build.document_files import parquet_bytes
from starskip.indexes.star_tree.measure import Measure, MeasureKind
from starskip.indexes.star_tree.recommend.document_bytes import SampledRows, documents_bytes
from starskip.indexes.star_tree.recommend.document_codes import base_documents, star_documents
from starskip.indexes.star_tree.recommend.node_bytes import node_bytes
from starskip.indexes.star_tree.recommend.simulated_tree import SimulatedTree, TreeCounts
from starskip.indexes.star_tree.star_tree_config import StarTreeConfig

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
    """What one tree would take."""

    counts: TreeCounts
    size_bytes: float

    @property
    def documents(self) -> float:
        """All documents of the tree."""
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
