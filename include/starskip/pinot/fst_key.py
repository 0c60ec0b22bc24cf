"""The part of a table config that gives a column an FST index, and the inverted index that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starskip.pinot.column_key import INDEX_CONFIG, ColumnsKey, lay_over
from starskip.pinot.table_config import TableConfig

_INVERTED = "invertedIndexColumns"


@dataclass(frozen=True, slots=True)
class FstKey:
    """FST indexes stand in fieldConfigList alone; ``inverted`` is the key of inverted indexes."""

    inverted: ColumnsKey
    key: str = "fieldConfigList"

    def in_force(self, config: TableConfig) -> tuple[str, ...]:
        """See ConfigKey: the columns that have both indexes."""
        fields = config.document.get(self.key) or []
        named = [each["name"] for each in fields if isinstance(each, dict) and _has_fst(each)]
        return tuple(name for name in named if name in config.inverted_index_columns)

    def write(
        self, document: dict[str, Any], config: TableConfig, added: Sequence[str], dropped: Sequence[str]
    ) -> None:
        """See ConfigKey; the inverted index of a column stays when its FST index goes."""
        listed = document[INDEX_CONFIG].get(_INVERTED) or []
        self.inverted.write(document, config, [name for name in added if name not in listed], ())
        fields = [dict(each) if isinstance(each, dict) else each for each in document.get(self.key) or []]
        by_name = {each.get("name"): each for each in fields if isinstance(each, dict)}
        for name in dropped:
            _without_fst(by_name.get(name, {}))
        for name in added:
            if name not in by_name:
                by_name[name] = {"name": name, "encodingType": "DICTIONARY"}
                fields.append(by_name[name])
            _with_fst(by_name[name])
        if fields or self.key in document:
            document[self.key] = fields

    def fragment(self, item: str) -> Mapping[str, Any]:
        """See ConfigKey."""
        entry = {"name": item, "encodingType": "DICTIONARY", "indexTypes": ["FST"]}
        fragment: dict[str, Any] = {self.key: [entry]}
        lay_over(fragment, self.inverted.fragment(item))
        return fragment

    def entry_of(self, fragment: Mapping[str, Any]) -> Any:
        """See ConfigKey."""
        return fragment[self.key][0]["name"]


def _types(entry: Mapping[str, Any]) -> list[Any]:
    given = entry.get("indexTypes") or entry.get("indexType") or []
    return [given] if isinstance(given, str) else list(given)


def _is_fst(name: Any) -> bool:
    return str(name).upper() == "FST"


def _has_fst(entry: Mapping[str, Any]) -> bool:
    options = (entry.get("indexes") or {}).get("fst")
    is_on = isinstance(options, dict) and options.get("disabled") is not True
    return is_on or any(map(_is_fst, _types(entry)))


def _with_fst(entry: dict[str, Any]) -> None:
    """Switch the index on in the form that the entry has; 0.11 reads the first of indexTypes alone."""
    if _has_fst(entry):
        return
    if isinstance(entry.get("indexes"), dict):
        entry["indexes"] = {**entry["indexes"], "fst": {}}
        return
    types = _types(entry)
    entry.pop("indexType", None)
    entry["indexTypes"] = ["FST", *types]


def _without_fst(entry: dict[str, Any]) -> None:
    if _is_fst(entry.get("indexType")):
        del entry["indexType"]
    if entry.get("indexTypes"):
        entry["indexTypes"] = [name for name in _types(entry) if not _is_fst(name)]
    if isinstance(entry.get("indexes"), dict):
        entry["indexes"] = {name: options for name, options in entry["indexes"].items() if name != "fst"}
