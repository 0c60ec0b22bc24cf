"""Keys of a table config that hold the indexes of a family: read the present ones, write changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Protocol

from starskip.pinot.table_config import TableConfig

INDEX_CONFIG = "tableIndexConfig"


class ConfigKey(Protocol):
    """A part of the table config that holds the indexes of one family."""

    @property
    def key(self) -> str:
        """The key as the report names it."""
        ...

    def in_force(self, config: TableConfig, /) -> Sequence[Any]:
        """Return the indexes in the config: columns, or entries of the key."""
        ...

    def write(
        self, document: dict[str, Any], config: TableConfig, added: Sequence[Any], dropped: Sequence[Any], /
    ) -> None:
        """Put the added indexes into ``document``, a copy of the config's, and remove the dropped ones.

        Builds on the present ``document``, which edits of other families may have changed; ``config`` is the
        original table config.
        """
        ...

    def fragment(self, item: Any, /) -> Mapping[str, Any]:
        """Return the keys that one index sets, as a config with nothing else in it."""
        ...

    def entry_of(self, fragment: Mapping[str, Any], /) -> Any:
        """Return the index that ``fragment`` sets."""
        ...


class ListKey:
    """A key below tableIndexConfig that holds a list of indexes."""

    __slots__ = ()
    key: str

    def fragment(self, item: Any, /) -> Mapping[str, Any]:
        """See ConfigKey."""
        return {INDEX_CONFIG: {self.key: [item]}}

    def entry_of(self, fragment: Mapping[str, Any], /) -> Any:
        """See ConfigKey."""
        return fragment[INDEX_CONFIG][self.key][0]


@dataclass(frozen=True, slots=True)
class ColumnsKey(ListKey):
    """A list of columns below tableIndexConfig, which fieldConfigList can hold too.

    ``field_index``: the index's name there, in capitals. ``columns``: reads the columns of a config.
    ``options_key``: another key below tableIndexConfig that holds columns, with options; empty for none.
    """

    key: str
    field_index: str
    columns: Callable[[TableConfig], tuple[str, ...]]
    options_key: str = ""

    def in_force(self, config: TableConfig) -> tuple[str, ...]:
        """See ConfigKey."""
        return self.columns(config)

    def write(
        self, document: dict[str, Any], config: TableConfig, added: Sequence[str], dropped: Sequence[str]
    ) -> None:
        """See ConfigKey; a column that fieldConfigList has switched off is switched on there."""
        fields = document.get("fieldConfigList") or []
        index_config = document[INDEX_CONFIG]
        listed = index_config.get(self.key) or []
        listed = [listed] if isinstance(listed, str) else listed
        new = [name for name in dict.fromkeys(added) if name not in self.columns(config)]
        new = [name for name in new if not self._switched_on(fields, name)]
        proposed = [name for name in listed if name not in dropped] + new
        if proposed != listed:
            index_config[self.key] = proposed
        for name in dropped:
            (index_config.get(self.options_key) or {}).pop(name, None)
        for entry in fields:
            if entry.get("name") in dropped:
                drop_index(entry, self.field_index)

    def _switched_on(self, fields: Sequence[dict[str, Any]], column: str) -> bool:
        """Switch on the index where the column's entry of fieldConfigList has switched it off."""
        for entry in fields:
            indexes = (entry.get("indexes") or {}) if entry.get("name") == column else {}
            options = indexes.get(self.field_index.lower())
            if isinstance(options, dict) and options.get("disabled") is True:
                del options["disabled"]
                return True
        return False


def drop_index(entry: dict[str, Any], index: str) -> None:
    """Take an index, named in capitals, out of an entry of fieldConfigList."""
    if str(entry.get("indexType", "")).upper() == index:
        del entry["indexType"]
    if entry.get("indexTypes"):
        entry["indexTypes"] = [name for name in entry["indexTypes"] if str(name).upper() != index]
    if isinstance(entry.get("indexes"), dict):
        entry["indexes"].pop(index.lower(), None)


INVERTED_KEY = ColumnsKey("invertedIndexColumns", "INVERTED", attrgetter("inverted_index_columns"))
"""The columns with an inverted index."""


@dataclass(frozen=True, slots=True)
class SortedColumnKey(ListKey):
    """The one column that segments are sorted by; it stays in the config until another is added."""

    key: str = "sortedColumn"

    def in_force(self, config: TableConfig) -> tuple[str, ...]:
        """See ConfigKey."""
        return (config.sorted_column,) if config.sorted_column else ()

    def write(
        self, document: dict[str, Any], config: TableConfig, added: Sequence[str], _dropped: Sequence[str]
    ) -> None:
        """See ConfigKey; the first column added takes the place of the present one."""
        if added and added[0] != config.sorted_column:
            document[INDEX_CONFIG][self.key] = [added[0]]


@dataclass(frozen=True, slots=True)
class LaidOver:
    """Keys of any kind, given as documents that are laid over the config: objects merge, lists are joined."""

    key: str

    def in_force(self, _config: TableConfig) -> tuple[str, ...]:
        """See ConfigKey; the indexes under such keys are not known."""
        return ()

    def write(
        self,
        document: dict[str, Any],
        _config: TableConfig,
        added: Sequence[Mapping[str, Any]],
        _dropped: Sequence[Any],
    ) -> None:
        """See ConfigKey."""
        for each in added:
            lay_over(document, each)

    def fragment(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """See ConfigKey."""
        return item

    def entry_of(self, fragment: Mapping[str, Any]) -> Any:
        """See ConfigKey."""
        return fragment


def lay_over(document: dict[str, Any], change: Mapping[str, Any]) -> None:
    """Put the keys of ``change`` into ``document``: objects merge, lists are joined, others are replaced.

    Objects of one ``name`` in joined lists merge. An object or list stays if the change has another kind.
    """
    for key, value in change.items():
        held = document.get(key)
        if isinstance(held, dict) and isinstance(value, Mapping):
            document[key] = dict(held)
            lay_over(document[key], value)
        elif isinstance(held, list) and isinstance(value, list):
            document[key] = _joined(held, value)
        elif isinstance(held, dict | list):
            continue
        elif isinstance(value, Mapping):
            document[key] = {}
            lay_over(document[key], value)
        else:
            document[key] = value


def _joined(held: Sequence[Any], added: Sequence[Any]) -> list[Any]:
    """Return the held items, those of a name with the changes of that name in them, and the new ones."""
    joined = [dict(item) if isinstance(item, dict) else item for item in held]
    named = {
        item["name"]: item for item in joined if isinstance(item, dict) and isinstance(item.get("name"), str)
    }
    for item in added:
        if isinstance(item, Mapping) and isinstance(item.get("name"), str) and item["name"] in named:
            lay_over(named[item["name"]], item)
        elif item not in joined:
            joined.append(item)
    return joined
