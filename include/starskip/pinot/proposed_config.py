"""Apply the advice to a table configuration; all other keys stay as they are.

What is in force and is not dropped is still in it, star-trees included; so are keys that Starskip does not
know, and the order of all keys.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starskip.pinot.table_config import TableConfig, given_config, read_table_configs

COLUMN_KEYS = {"inverted": "invertedIndexColumns", "range": "rangeIndexColumns"}
"""The keys of tableIndexConfig that list the columns of an index, by its kind."""

DEFAULT_MAX_LEAF_RECORDS = 10_000
"""Pinot's, of a star-tree that gives none."""


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """The indexes of one table to add and to drop; ``sorted_column`` None leaves the sort order alone.

    ``add_star_trees``: entries of starTreeIndexConfigs.
    """

    add_inverted: Sequence[str] = ()
    drop_inverted: Sequence[str] = ()
    add_range: Sequence[str] = ()
    drop_range: Sequence[str] = ()
    sorted_column: str | None = None
    add_star_trees: Sequence[Mapping[str, Any]] = ()


def proposed_config(paths: Sequence[str | Path], table: str, changes: IndexChanges) -> Any:
    """Return the configuration of ``table`` as in its file, with the changes; None where no file has it.

    A hybrid table whose two configurations lie in two files comes as ``{"OFFLINE": …, "REALTIME": …}``.
    """
    found = {}
    for path in paths:
        configs = read_table_configs([path]).get(table, ())
        if configs:
            document = given_config(path, lambda config: with_index_changes(config, changes))
            found[configs[0].table_type or "OFFLINE"] = document
    return next(iter(found.values())) if len(found) == 1 else found or None


def with_index_changes(config: TableConfig, changes: IndexChanges) -> dict[str, Any]:
    """Return one configuration with the changes under Pinot's keys, the rest as it was.

    A dropped index is taken out of fieldConfigList too, and an added one that is switched off there is
    switched on there. New star-trees come behind those that are there: Pinot takes the first that fits.
    """
    document = copy.deepcopy(dict(config.document))
    index_config = document["tableIndexConfig"] = dict(document.get("tableIndexConfig") or {})
    fields = document.get("fieldConfigList") or []
    for kind, in_force, added, dropped in (
        ("inverted", config.inverted_index_columns, changes.add_inverted, changes.drop_inverted),
        ("range", config.range_index_columns, changes.add_range, changes.drop_range),
    ):
        key = COLUMN_KEYS[kind]
        listed = index_config.get(key) or []
        listed = [listed] if isinstance(listed, str) else listed
        new = [name for name in dict.fromkeys(added) if name not in in_force]
        new = [name for name in new if not _switched_on(fields, name, kind)]
        proposed = [name for name in listed if name not in dropped] + new
        if proposed != listed:
            index_config[key] = proposed
        for entry in fields:
            if entry.get("name") in dropped:
                _drop_field_index(entry, kind.upper())
    if changes.sorted_column is not None and changes.sorted_column != config.sorted_column:
        index_config["sortedColumn"] = [changes.sorted_column]
    new_trees = new_star_trees([config], changes.add_star_trees)
    if new_trees:
        index_config["starTreeIndexConfigs"] = [*map(dict, config.star_tree_index_configs), *new_trees]
    if not index_config:
        del document["tableIndexConfig"]
        return document | {k: v for k, v in config.document.items() if k == "tableIndexConfig"}
    return document


def new_star_trees(
    configs: Sequence[TableConfig], proposed: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return those of ``proposed`` that some configuration does not hold, in whatever words it says them."""
    held = [set(map(_said, config.star_tree_index_configs)) for config in configs]
    return [dict(tree) for tree in proposed if not all(_said(tree) in of_config for of_config in held)]


def _said(tree: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what an entry of starTreeIndexConfigs says, the same for all ways to say it."""
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


def _switched_on(fields: Sequence[dict[str, Any]], column: str, kind: str) -> bool:
    """Switch on an index that the column's entry of fieldConfigList has switched off, if it has."""
    for entry in fields:
        options = (entry.get("indexes") or {}).get(kind) if entry.get("name") == column else None
        if isinstance(options, dict) and options.get("disabled") is True:
            del options["disabled"]
            return True
    return False


def _drop_field_index(entry: dict[str, Any], index: str) -> None:
    if str(entry.get("indexType", "")).upper() == index:
        del entry["indexType"]
    if entry.get("indexTypes"):
        entry["indexTypes"] = [name for name in entry["indexTypes"] if str(name).upper() != index]
    if isinstance(entry.get("indexes"), dict):
        entry["indexes"].pop(index.lower(), None)
