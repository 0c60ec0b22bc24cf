"""Tell which files of a relation Spark would read without its secondary indexes, and how much of each.

Nothing here decides which files are read: it only decides which indexes are worth reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from starskip.indexes.secondary.whole_files import WholeFiles
from starskip.indexes.skipping.file_metadata import Mask
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.spark.skipping.indexed_relation import IndexedRelation
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.leaf_predicates import Predicates, attribute_identity, is_deterministic
from starskip.spark.skipping.plan_tree import Node
from starskip.spark.skipping.spark_listing import SparkListing, may_hold

_ROW_BYTES = 8
_OTHER_BYTES = 100
_BYTES: Mapping[str, int] = {
    "boolean": 1,
    "byte": 1,
    "short": 2,
    "integer": 4,
    "float": 4,
    "date": 4,
    "long": 8,
    "double": 8,
    "timestamp": 8,
    "timestamp_ntz": 8,
    "string": 20,
}
"""Bytes of a value by its type, as Spark assumes them where it has no statistics (DataType.defaultSize)."""


@dataclass(frozen=True, slots=True)
class FilesLeft:
    """A relation at a ``leaf`` of a plan, with the masks by which indexes of files leave some alone."""

    toolbox: JvmToolbox
    relation: IndexedRelation
    leaf: Node
    predicates: Predicates
    plan: Any
    listing: Callable[[], SparkListing]
    masks: Sequence[tuple[TableMetadata, Mask]]

    def of(self, table: TableMetadata) -> WholeFiles:
        """Return how Spark reads the files of a table's metadata."""
        return WholeFiles(self._to_read(table), self.relation.facts.open_bytes, read_ratio(self.leaf))

    def _to_read(self, table: TableMetadata) -> Mask | None:
        filters = self._partition_filters()
        if not filters and all(mask.all() for _, mask in self.masks):
            return None
        listing = self.listing()
        left = np.ones(listing.files, np.bool_)
        for other, mask in self.masks:
            left &= may_hold(listing, listing.positions(other), mask)
        if filters:
            with suppress(Exception):  # A filter may name a column that is called otherwise further down.
                left &= listing.listed.in_partitions(self.toolbox.scala_list(filters))
        positions = listing.positions(table)
        found = np.zeros(table.files, np.bool_)
        found[positions[left & (positions >= 0)]] = True
        return found

    def _partition_filters(self) -> list[Any]:
        """Return the predicates on partition columns alone, as Spark has them."""
        partitions = self.relation.partition_columns
        return [
            each.java(self.plan)
            for each in (self.predicates if partitions else ())
            if (names := {str(of.fields["name"]) for of in _attributes(each)})
            and names <= partitions
            and is_deterministic(each)
        ]


def read_ratio(leaf: Node) -> float:
    """Estimate which share of its bytes Spark reads of a relation: the columns of its filter and project."""
    output = {
        attribute_identity(each): _bytes(each.fields["dataType"]) for each in leaf.expressions("output")
    }
    read: set[tuple[int, str]] = set()
    above = leaf.of
    while above is not None and above.name == "Filter":
        read.update(map(attribute_identity, _attributes(above.expression("condition"))))
        above = above.of
    if above is None or above.name != "Project":
        return 1.0
    for each in above.expressions("projectList"):
        read.update(map(attribute_identity, _attributes(each)))
    of_columns = sum(size for identity, size in output.items() if identity in read)
    return min(1.0, (_ROW_BYTES + of_columns) / (_ROW_BYTES + sum(output.values())))


def _bytes(data_type: Any) -> int:
    if isinstance(data_type, str) and data_type.startswith("decimal"):
        return 16
    return _BYTES.get(data_type, _OTHER_BYTES) if isinstance(data_type, str) else _OTHER_BYTES


def _attributes(expression: Node) -> Iterator[Node]:
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if node.name == "AttributeReference":
            yield node
        waiting.extend(node.children)
