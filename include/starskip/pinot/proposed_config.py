"""Apply the advice to a table configuration; all other keys stay as they are.

An index in force that is not dropped stays in it, whatever its family; so do keys that Starskip does not
know, and the order of all keys.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starskip.pinot.column_key import INDEX_CONFIG, ConfigKey
from starskip.pinot.hybrid_tables import without_type
from starskip.pinot.table_config import TableConfig, given_config, read_table_configs

_TREES = ("starTreeIndexConfigs", "enableDefaultStarTree")
BUILT_BY_RELOAD = {"enableDynamicStarTreeCreation": True}
"""Lets a reload build new star-trees: without it Pinot leaves the trees of segments as they are."""


@dataclass(frozen=True, slots=True)
class KeyEdit:
    """Entries added to a key of the table config and dropped from it."""

    key: ConfigKey
    added: Sequence[Any] = ()
    dropped: Sequence[Any] = ()


def proposed_config(paths: Sequence[str | Path], table: str, edits: Sequence[KeyEdit]) -> Any:
    """Return the configuration of ``table`` from its file, with the edits; None where no file has it.

    Of a file with both halves of a hybrid table the config of the one half is returned.
    """
    for path in paths:
        for configs in read_table_configs([path]).values():
            if not configs[0].is_of(table):
                continue
            if without_type(configs[0].table)[1]:
                return with_edits(configs[0], edits)
            return given_config(path, lambda config: with_edits(config, edits))
    return None


def with_edits(config: TableConfig, edits: Sequence[KeyEdit]) -> dict[str, Any]:
    """Return the document of one configuration with the edits under Pinot's keys, the rest as it was."""
    document = copy.deepcopy(dict(config.document))
    document[INDEX_CONFIG] = dict(document.get(INDEX_CONFIG) or {})
    for edit in edits:
        edit.key.write(document, config, edit.added, edit.dropped)
    _build_on_reload(document[INDEX_CONFIG], config.document.get(INDEX_CONFIG) or {})
    if not document[INDEX_CONFIG]:
        del document[INDEX_CONFIG]
        return document | {key: value for key, value in config.document.items() if key == INDEX_CONFIG}
    return document


def _build_on_reload(index_config: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Let a reload build the star-trees that the config did not have before."""
    if any(index_config.get(key) and index_config.get(key) != before.get(key) for key in _TREES):
        index_config |= BUILT_BY_RELOAD
