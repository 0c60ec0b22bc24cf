"""Read the given table configurations of a night, and apply the advice to them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starskip.pinot.column_key import INDEX_CONFIG
from starskip.pinot.proposed_config import BUILT_BY_RELOAD, KeyEdit, proposed_config
from starskip.pinot.table_config import TableConfig

HIDDEN = "(hidden: as in your table config)"
"""Placeholder of a secret."""

_SECRET = re.compile(
    r"passw|secret|credential|jaas|(?:^|[._-])token$|(?:access|private|api|account|encryption)[._-]?key"
    r"|(?:auth|bearer|sas|access|session)[._-]?token",
    re.IGNORECASE,
)

_USER_IN_URL = re.compile(r"(?<=://)[^/@\s]+:[^/@\s]+(?=@)")

_PLACEHOLDER = re.compile(r"\$\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class GivenConfig:
    """The configuration of one table, or both of a hybrid table, in the files at ``paths``."""

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

    @property
    def builds_trees_on_reload(self) -> bool | None:
        """Return whether all of the configurations let a reload build star-trees; None if none says it."""
        (key,) = BUILT_BY_RELOAD
        told = [(each.document.get(INDEX_CONFIG) or {}).get(key) for each in self.configs]
        return None if all(each is None for each in told) else all(each is True for each in told)

    @property
    def current(self) -> Any:
        """The whole configuration as it is, without secrets."""
        return self.proposed(())[0]

    def proposed(self, edits: Sequence[KeyEdit]) -> tuple[Any, tuple[str, ...]]:
        """Return the whole configuration with ``edits`` and without secrets, and the paths of the secrets."""
        return without_secrets(proposed_config(self.paths, self.table, edits))


def given_table_config(configs: Mapping[str, Sequence[TableConfig]], table: str) -> GivenConfig | None:
    """Return the configuration of ``table`` among ``configs``; None if it has none."""
    of_table = configs.get(table)
    return GivenConfig(table, [each.path for each in of_table], of_table) if of_table else None


def without_secrets(document: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the JSON ``document`` with secrets as HIDDEN, and the paths of the secrets, in order.

    A REALTIME table's ``streamConfigs`` and the properties of a batch source may hold secrets in plain text.
    Secret are the text under a key that is named like a secret, and user and password in a URL. A variable
    such as ``${KAFKA_PASSWORD}`` stays: its value is not in the document.
    """
    hidden: list[str] = []
    return _shown(document, "", hidden), tuple(hidden)


def _shown(value: Any, path: str, hidden: list[str]) -> Any:
    if isinstance(value, dict):
        return {key: _field(key, each, f"{path}.{key}".lstrip("."), hidden) for key, each in value.items()}
    if isinstance(value, list):
        return [_shown(each, f"{path}[{number}]", hidden) for number, each in enumerate(value)]
    if isinstance(value, str) and _USER_IN_URL.search(value):
        hidden.append(path)
        return _USER_IN_URL.sub("(hidden)", value)
    return value


def _field(key: str, value: Any, path: str, hidden: list[str]) -> Any:
    if _SECRET.search(key) and isinstance(value, str) and value and not _PLACEHOLDER.fullmatch(value):
        hidden.append(path)
        return HIDDEN
    return _shown(value, path, hidden)
