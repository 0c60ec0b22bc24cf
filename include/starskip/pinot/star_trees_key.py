"""The entries of starTreeIndexConfigs in a table config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starskip.pinot.column_key import INDEX_CONFIG
from starskip.pinot.table_config import TableConfig

DEFAULT_MAX_LEAF_RECORDS = 10_000
"""Pinot's default for a star-tree."""


@dataclass(frozen=True, slots=True)
class StarTreesKey:
    """A list of entries; new ones are appended, since Pinot takes the first that fits."""

    key: str = "starTreeIndexConfigs"

    def in_force(self, config: TableConfig) -> tuple[Mapping[str, Any], ...]:
        """See ConfigKey."""
        return config.star_tree_index_configs

    def write(
        self,
        document: dict[str, Any],
        config: TableConfig,
        added: Sequence[Mapping[str, Any]],
        _dropped: Sequence[Mapping[str, Any]],
    ) -> None:
        """See ConfigKey; an entry that means the same as an existing one is not added."""
        # An earlier edit may have added trees.
        written = document[INDEX_CONFIG].get(self.key)
        present = written if isinstance(written, list) else config.star_tree_index_configs
        held = set(map(_meaning, present))
        new = [dict(tree) for tree in added if _meaning(tree) not in held]
        if new:
            document[INDEX_CONFIG][self.key] = [*map(dict, present), *new]

    def fragment(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """See ConfigKey."""
        return {INDEX_CONFIG: {self.key: [item]}}

    def entry_of(self, fragment: Mapping[str, Any]) -> Any:
        """See ConfigKey."""
        return fragment[INDEX_CONFIG][self.key][0]


def _meaning(tree: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the meaning of an entry, the same for all ways to write it."""
    pairs = [
        f"{each.get('aggregationFunction')}__{each.get('columnName', '*')}"
        for each in tree.get("aggregationConfigs") or ()
    ]
    return (
        tuple(tree.get("dimensionsSplitOrder") or ()),
        frozenset(tree.get("skipStarNodeCreationForDimensions") or ()),
        frozenset(map(_upper_function, [*pairs, *(tree.get("functionColumnPairs") or ())])),
        tree.get("maxLeafRecords") or DEFAULT_MAX_LEAF_RECORDS,
    )


def _upper_function(pair: str) -> str:
    function, _, column = pair.partition("__")
    return f"{function.upper()}__{column}"
