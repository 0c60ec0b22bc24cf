"""Read the given table configurations of a night, and apply the advice to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starskip.pinot.hidden_secrets import without_secrets
from starskip.pinot.proposed_config import KeyEdit, proposed_config
from starskip.pinot.table_config import TableConfig


@dataclass(frozen=True, slots=True)
class GivenConfig:
    """The configurations of one table, one or those of a hybrid table, in the files at ``paths``."""

    table: str
    paths: Sequence[str]
    configs: Sequence[TableConfig]

    @property
    def star_trees(self) -> tuple[Mapping[str, Any], ...]:
        """Return the entries of starTreeIndexConfigs, in their order, each once."""
        found: list[Mapping[str, Any]] = []
        for config in self.configs:
            found += [entry for entry in config.star_tree_index_configs if entry not in found]
        return tuple(found)

    def proposed(self, edits: Sequence[KeyEdit]) -> tuple[Any, tuple[str, ...]]:
        """Return the whole configuration with ``edits`` and without secrets, and where these were."""
        return without_secrets(proposed_config(self.paths, self.table, edits))


def given_table_config(
    paths: Sequence[str], configs: Mapping[str, Sequence[TableConfig]], table: str
) -> GivenConfig | None:
    """Return the configuration of ``table`` among ``configs``, which ``paths`` hold; None if it has none."""
    return GivenConfig(table, paths, configs[table]) if configs.get(table) else None
