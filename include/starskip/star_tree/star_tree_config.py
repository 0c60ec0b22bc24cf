"""The configuration of one star-tree: an entry of Pinot's ``starTreeIndexConfigs``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from starskip.errors import ConfigError
from starskip.star_tree.function_column_pair import FunctionColumnPair
from starskip.star_tree.measure import Measure

DEFAULT_MAX_LEAF_RECORDS = 10_000
"""The default of Pinot's StarTreeV2BuilderConfig, also for values of zero and below."""
STAR_TREE_KEYS = {
    "dimensionsSplitOrder",
    "skipStarNodeCreationForDimensions",
    "functionColumnPairs",
    "aggregationConfigs",
    "maxLeafRecords",
}
"""The keys of an entry that Pinot reads."""


@dataclass(frozen=True, slots=True)
class StarTreeConfig:
    """Dimensions in the order of the split, aggregations, and the threshold T of a leaf's documents.

    ``skip_star_node_creation_for_dimensions`` stands in the order of the split; below
    ``max_leaf_records`` documents a node is not split.
    """

    dimensions_split_order: tuple[str, ...]
    function_column_pairs: tuple[FunctionColumnPair, ...]
    max_leaf_records: int = DEFAULT_MAX_LEAF_RECORDS
    skip_star_node_creation_for_dimensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the rules that need no table; raises ConfigError naming the column and the rule."""
        _require_distinct("dimensionsSplitOrder", self.dimensions_split_order)
        _require_distinct("functionColumnPairs", [pair.name for pair in self.function_column_pairs])
        _require_distinct("skipStarNodeCreationForDimensions", self.skip_star_node_creation_for_dimensions)
        if not self.dimensions_split_order:
            raise _wrong("dimensionsSplitOrder", "needs at least one dimension")
        if not self.function_column_pairs:
            raise _wrong("functionColumnPairs", "needs at least one pair, such as COUNT__*")
        ordered = set(self.dimensions_split_order)
        for name in self.skip_star_node_creation_for_dimensions:
            if name not in ordered:
                raise _wrong("skipStarNodeCreationForDimensions", f"{name} is not in dimensionsSplitOrder")
        if self.max_leaf_records < 1:
            raise _wrong("maxLeafRecords", f"{self.max_leaf_records} is less than one")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Return the distinct measures of all pairs, in their order: the metric columns of the documents."""
        return tuple(dict.fromkeys(item for pair in self.function_column_pairs for item in pair.measures))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table from which the tree is made."""
        columns = [item.column for item in self.measures if item.column != "*"]
        return tuple(dict.fromkeys([*self.dimensions_split_order, *columns]))

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Parse an entry of ``starTreeIndexConfigs``.

        Raises ConfigError naming the key, the column and the rule.
        """
        if not isinstance(document, Mapping):
            raise _wrong("starTreeIndexConfigs", "an entry must be an object with dimensionsSplitOrder")
        unknown = sorted(map(str, document.keys() - STAR_TREE_KEYS))
        if unknown:
            raise _wrong(
                unknown[0], f"is no key of a star-tree; there are {', '.join(sorted(STAR_TREE_KEYS))}"
            )
        order = _names(document, "dimensionsSplitOrder")
        skipped = set(_names(document, "skipStarNodeCreationForDimensions"))
        unordered = sorted(skipped - set(order))
        return cls(
            dimensions_split_order=order,
            function_column_pairs=_pairs(document),
            max_leaf_records=_max_leaf_records(document.get("maxLeafRecords")),
            skip_star_node_creation_for_dimensions=(*(d for d in order if d in skipped), *unordered),
        )

    def to_document(self) -> dict[str, Any]:
        """Return the entry as Pinot reads it; the inverse of ``from_document``."""
        return {
            "dimensionsSplitOrder": list(self.dimensions_split_order),
            "skipStarNodeCreationForDimensions": list(self.skip_star_node_creation_for_dimensions),
            "functionColumnPairs": [pair.name for pair in self.function_column_pairs],
            "maxLeafRecords": self.max_leaf_records,
        }


def _pairs(document: Mapping[str, Any]) -> tuple[FunctionColumnPair, ...]:
    configs = document.get("aggregationConfigs")
    if configs is None:
        return tuple(FunctionColumnPair.parse(text) for text in _names(document, "functionColumnPairs"))
    if document.get("functionColumnPairs"):
        raise _wrong("aggregationConfigs", "functionColumnPairs is given too; Pinot takes one of the two")
    if not isinstance(configs, Sequence) or isinstance(configs, str):
        raise _wrong("aggregationConfigs", "must be a list")
    found = []
    for config in configs:
        function = config.get("aggregationFunction") if isinstance(config, Mapping) else None
        column = config.get("columnName", "*") if isinstance(config, Mapping) else None
        if not isinstance(function, str) or not isinstance(column, str):
            raise _wrong("aggregationConfigs", "each needs aggregationFunction and columnName, as text")
        found.append(FunctionColumnPair.named(function, column))
    return tuple(found)


def _names(document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = document.get(key)
    if names is None:
        return ()
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise _wrong(key, "must be a list of texts")
    return tuple(names)


def _max_leaf_records(given: Any) -> int:
    if given is None:
        return DEFAULT_MAX_LEAF_RECORDS
    if isinstance(given, bool) or not isinstance(given, int):
        raise _wrong("maxLeafRecords", f"{given!r} is not a whole number")
    return given if given > 0 else DEFAULT_MAX_LEAF_RECORDS


def _require_distinct(key: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise _wrong(key, f"{name} is there twice")
        seen.add(name)


def _wrong(key: str, what: str) -> ConfigError:
    return ConfigError(f"{key}: {what}", setting=key)
