"""Estimate the share of a file that Spark reads, to decide which indexes are worth reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from starskip.spark.skipping.leaf_predicates import attribute_identity
from starskip.spark.skipping.plan_tree import Node

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
"""Bytes of a value by its type, Spark's assumption without statistics (DataType.defaultSize)."""


def read_ratio(leaf: Node) -> float:
    """Estimate the share of a relation's bytes that Spark reads: the columns of its filter and project."""
    output = {
        attribute_identity(each): _bytes(each.fields["dataType"]) for each in leaf.expressions("output")
    }
    read: set[tuple[int, str]] = set()
    above = leaf.of
    while above is not None and above.name == "Filter":
        read.update(map(attribute_identity, attributes(above.expression("condition"))))
        above = above.of
    if above is None or above.name != "Project":
        return 1.0
    for each in above.expressions("projectList"):
        read.update(map(attribute_identity, attributes(each)))
    of_columns = sum(size for identity, size in output.items() if identity in read)
    return min(1.0, (_ROW_BYTES + of_columns) / (_ROW_BYTES + sum(output.values())))


def _bytes(data_type: Any) -> int:
    if isinstance(data_type, str) and data_type.startswith("decimal"):
        return 16
    return _BYTES.get(data_type, _OTHER_BYTES) if isinstance(data_type, str) else _OTHER_BYTES


def attributes(expression: Node) -> Iterator[Node]:
    """Yield the columns in an expression."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if node.name == "AttributeReference":
            yield node
        waiting.extend(node.children)
