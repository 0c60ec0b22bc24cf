"""Part of a table config: an index on a column's dictionary, and the inverted index that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starskip.pinot.column_key import INDEX_CONFIG, INVERTED_KEY, drop_index, lay_over
from starskip.pinot.table_config import TableConfig


@dataclass(frozen=True, slots=True)
class FstKey:
    """Such indexes stand in fieldConfigList alone; ``index``: their name there, in capitals."""

    index: str = "FST"
    key: str = "fieldConfigList"

    def in_force(self, config: TableConfig) -> tuple[str, ...]:
        """See ConfigKey: the columns that have both indexes."""
        named = [each["name"] for each in config.document.get(self.key) or [] if self._is_on(each)]
        return tuple(name for name in named if name in config.inverted_index_columns)

    def write(
        self, document: dict[str, Any], config: TableConfig, added: Sequence[str], dropped: Sequence[str]
    ) -> None:
        """See ConfigKey; the inverted index of a column stays when the other goes."""
        listed = document[INDEX_CONFIG].get(INVERTED_KEY.key) or []
        INVERTED_KEY.write(document, config, [name for name in added if name not in listed], ())
        fields = document.get(self.key) or []
        by_name = {each.get("name"): each for each in fields}
        for name in dropped:
            drop_index(by_name.get(name, {}), self.index)
        for name in added:
            if name not in by_name:
                by_name[name] = {"name": name, "encodingType": "DICTIONARY"}
                fields.append(by_name[name])
            self._switch_on(by_name[name])
        if fields:
            document[self.key] = fields

    def fragment(self, item: str) -> Mapping[str, Any]:
        """See ConfigKey."""
        entry = {"name": item, "encodingType": "DICTIONARY", "indexTypes": [self.index]}
        fragment: dict[str, Any] = {self.key: [entry]}
        lay_over(fragment, INVERTED_KEY.fragment(item))
        return fragment

    def entry_of(self, fragment: Mapping[str, Any]) -> Any:
        """See ConfigKey."""
        return fragment[self.key][0]["name"]

    def _is_on(self, entry: Mapping[str, Any]) -> bool:
        options = (entry.get("indexes") or {}).get(self.index.lower())
        is_on = isinstance(options, dict) and options.get("disabled") is not True
        return is_on or self.index in (str(name).upper() for name in _types(entry))

    def _switch_on(self, entry: dict[str, Any]) -> None:
        """Add the index in the form that the entry has; 0.11 reads the first of indexTypes alone."""
        if self._is_on(entry):
            return
        if isinstance(entry.get("indexes"), dict):
            entry["indexes"][self.index.lower()] = {}
            return
        types = _types(entry)
        entry.pop("indexType", None)
        entry["indexTypes"] = [self.index, *types]


def _types(entry: Mapping[str, Any]) -> list[Any]:
    given = entry.get("indexTypes") or entry.get("indexType") or []
    return [given] if isinstance(given, str) else list(given)
