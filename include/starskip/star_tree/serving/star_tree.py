"""An opened star-tree: select its documents, apply remaining predicates, aggregate."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.star_tree.build.dimension_values import read_dictionary
from starskip.star_tree.build.document_files import DocumentSchema
from starskip.star_tree.build.tree_files import damaged
from starskip.star_tree.documents import sorted_runs
from starskip.star_tree.measure import Measure
from starskip.star_tree.measures.initial_measure import no_measure
from starskip.star_tree.measures.measure_array import range_positions
from starskip.star_tree.serving.document_reader import DocumentReader
from starskip.star_tree.serving.node_table import NodeTable, document_files, load_nodes
from starskip.star_tree.serving.traverse import Traversal, traverse
from starskip.star_tree.tree_artefact import TreeRecord
from starskip.storage.manifest import DataFile
from starskip.storage.storage import Storage

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """A read of a tree: ``masks`` mark by dimension the qualifying codes; the last code is null's.

    ``measures`` must be among the tree's, dimensions among its split order.
    """

    masks: Mapping[str, npt.NDArray[np.bool_]]
    group_by: tuple[str, ...]
    measures: tuple[Measure, ...]


@dataclass(frozen=True, slots=True)
class ScanResult:
    """One entry a group, sorted by codes; without ``group_by`` there is one group, even without documents."""

    codes: Mapping[str, npt.NDArray[np.int32]]
    measures: Mapping[Measure, Any]
    documents_read: int


class StarTree:
    """One tree; its dictionaries and nodes stay in memory once read. Several threads may use it at once."""

    def __init__(
        self,
        storage: Storage,
        record: TreeRecord,
        column_types: Mapping[str, pa.DataType],
        dictionaries: Mapping[str, DataFile],
        files: Mapping[str, DataFile],
    ) -> None:
        """Take a published tree, with all files of its part by name; nothing is read yet."""
        self.config = record.config
        self.types = column_types
        self.columns_with_nulls = record.columns_with_nulls
        self.documents_total = record.layout.documents
        self.rows = record.rows
        self._storage = storage
        self._record = record
        self._dictionary_files = dictionaries
        self._files = files
        order = record.config.dimensions_split_order
        self.schema = DocumentSchema(order, record.config.measures, column_types)
        of_documents = [(files[name], documents) for name, documents in document_files(record.layout)]
        self.documents = DocumentReader(storage, self.schema, of_documents)
        self._dictionaries: dict[str, pa.Array] = {}
        self._nodes: NodeTable | None = None
        self._lock = threading.Lock()

    def dictionary(self, dimension: str) -> pa.Array:
        """Return a dimension's sorted distinct values, without null, whose positions are their codes."""
        with self._lock:
            if dimension not in self._dictionaries:
                file = self._dictionary_files[dimension]
                values = read_dictionary(self._storage, file, dimension).values
                if values.type != self.types[dimension]:
                    raise damaged(file.name)
                self._dictionaries[dimension] = values
            return self._dictionaries[dimension]

    @property
    def nodes(self) -> NodeTable:
        """Nodes of the tree; read when they are first asked for."""
        with self._lock:
            if self._nodes is None:
                self._nodes = load_nodes(self._storage, self._record.layout, self._files)
            return self._nodes

    def star_code(self, dimension: str) -> int:
        """Return the code of the star, the next after null's."""
        return len(self.dictionary(dimension)) + 1

    def scan(self, request: ScanRequest) -> ScanResult:
        """Return the groups with their merged measures, reading only the documents that the tree selects."""
        found = self.traverse(request)
        numbers = self._qualified(found, request)
        group_by = list(dict.fromkeys(request.group_by))
        codes = {name: self.documents.codes(numbers, name) for name in group_by}
        order, starts = None, np.zeros(1 if len(numbers) else 0, np.int64)
        if group_by:
            sizes = [self.star_code(name) + 1 for name in group_by]
            order, starts = sorted_runs([codes[name] for name in group_by], sizes)
        measures: dict[Measure, Any] = {}
        for measure in request.measures:
            array = self.documents.measure(numbers, measure)
            if array is None:
                measures[measure] = no_measure(measure, self.types.get(measure.column), 0 if group_by else 1)
                continue
            measures[measure] = (array if order is None else array.take(order)).merged(starts)
        grouped = {name: (each if order is None else each[order])[starts] for name, each in codes.items()}
        return ScanResult(grouped, measures, found.documents)

    def traverse(self, request: ScanRequest) -> Traversal:
        """Return the documents that the tree selects for a request."""
        order = self.config.dimensions_split_order
        return traverse(
            self.nodes,
            [request.masks.get(name) for name in order],
            [name in request.group_by for name in order],
            [self.star_code(name) for name in order],
        )

    def _qualified(self, found: Traversal, request: ScanRequest) -> Numbers:
        """Apply the remaining predicates to documents of leaves."""
        of_leaves = np.sort(range_positions(found.starts, found.ends))
        for dimension, mask in request.masks.items():
            if len(of_leaves):
                of_leaves = of_leaves[np.append(mask, False)[self.documents.codes(of_leaves, dimension)]]
        return np.sort(np.concatenate([of_leaves, found.aggregated]))
