"""The entries of starTreeIndexConfigs in a table config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starskip.pinot.column_key import INDEX_CONFIG, ListKey
from starskip.pinot.table_config import TableConfig

DEFAULT_MAX_LEAF_RECORDS = 10_000
"""Pinot's default for a star-tree."""
_SKIPPED = "skipStarNodeCreationForDimensions"


@dataclass(frozen=True, slots=True)
class StarTreesKey(ListKey):
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
        """See ConfigKey; an entry whose queries an existing one answers as well is not added."""
        # An earlier edit may have added trees.
        written = document[INDEX_CONFIG].get(self.key)
        present = written if isinstance(written, list) else config.star_tree_index_configs
        new = [dict(tree) for tree in added if not any(_serves(each, tree) for each in present)]
        if new:
            document[INDEX_CONFIG][self.key] = [*map(dict, present), *new]


def _serves(held: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Return whether a tree does all that another one would: it may have more functions, and smaller leaves.

    Who applies advice by hand may do so. Each tree can be written in several ways.
    """
    return (
        _names(held, "dimensionsSplitOrder") == _names(asked, "dimensionsSplitOrder")
        and set(_names(held, _SKIPPED)) <= set(_names(asked, _SKIPPED))
        and _functions(asked) <= _functions(held)
        and _leaf_records(held) <= _leaf_records(asked)
    )


def _names(tree: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(tree.get(key) or ())


def _leaf_records(tree: Mapping[str, Any]) -> int:
    """Return the records as Pinot reads them: of a text, and its default for zero and less."""
    written = str(tree.get("maxLeafRecords", ""))
    return int(written) if written.isdecimal() and int(written) > 0 else DEFAULT_MAX_LEAF_RECORDS


def _functions(tree: Mapping[str, Any]) -> frozenset[str]:
    pairs = [
        f"{each.get('aggregationFunction')}__{each.get('columnName', '*')}"
        for each in tree.get("aggregationConfigs") or ()
    ]
    return frozenset(map(_upper_function, [*pairs, *_names(tree, "functionColumnPairs")]))


def _upper_function(pair: str) -> str:
    function, _, column = pair.partition("__")
    return f"{function.upper()}__{column}"
