"""The columns of a table config as Pinot's validation sees them: indexes, encodings and star-trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from starskip.pinot.column_key import INDEX_CONFIG

Release = tuple[int, ...]

_STORED = {"BOOLEAN": "INT", "TIMESTAMP": "LONG", "JSON": "STRING"}
NUMBERS = frozenset({"INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL"})
_LISTS = {
    "INVERTED": ("invertedIndexColumns",),
    "RANGE": ("rangeIndexColumns",),
    "BLOOM": ("bloomFilterColumns", "bloomFilterConfigs"),
    "JSON": ("jsonIndexColumns", "jsonIndexConfigs"),
}
"""By index: the keys below tableIndexConfig that hold its columns."""


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column of the schema, as segments show it; ``column_type``: DIMENSION, METRIC, TIME or DATE_TIME."""

    data_type: str = "STRING"
    is_single_value: bool = True
    column_type: str = "DIMENSION"

    @property
    def stored_type(self) -> str:
        """Return the type in which Pinot stores the values."""
        return _STORED.get(self.data_type, self.data_type)


@dataclass(frozen=True, slots=True)
class ConfigTree:
    """An entry of starTreeIndexConfigs; ``pairs``: function in capitals without underscores, and column.

    The function is empty if the text is no pair.
    """

    dimensions: tuple[str, ...]
    skipped: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    has_pairs: bool
    has_aggregations: bool

    def metrics(self) -> Iterator[str]:
        """Yield the columns that are aggregated."""
        return (column for function, column in self.pairs if function and column != "*")


@dataclass(frozen=True)
class ConfigColumns:
    """A table config for one release; ``columns``: of the schema, by name."""

    document: Mapping[str, Any]
    columns: Mapping[str, SchemaColumn]
    release: Release
    index_config: Mapping[str, Any] = field(init=False)
    fields: tuple[Mapping[str, Any], ...] = field(init=False)
    trees: tuple[ConfigTree, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Read the parts that rules ask for again and again."""
        index_config = _mapping(self.document.get(INDEX_CONFIG))
        entries = self.document.get("fieldConfigList")
        fields = [each for each in _list(entries) if isinstance(each, Mapping)]
        object.__setattr__(self, "index_config", index_config)
        object.__setattr__(self, "fields", tuple(fields))
        trees = map(_tree, _list(index_config.get("starTreeIndexConfigs")))
        object.__setattr__(self, "trees", tuple(trees))

    def listed(self, *keys: str) -> list[str]:
        """Return the columns under keys of tableIndexConfig: lists, or keys of objects."""
        return [name for key in keys for name in _names(self.index_config.get(key))]

    def typed(self, index: str) -> Iterator[Mapping[str, Any]]:
        """Yield the entries of fieldConfigList with ``index`` as indexType or in indexTypes."""
        for each in self.fields:
            given = each.get("indexTypes") or each.get("indexType")
            if index in (str(name).upper() for name in _names(given)):
                yield each

    def indexed_by_lists(self, index: str) -> set[str]:
        """Return the columns with ``index`` by tableIndexConfig, or by indexTypes of fieldConfigList."""
        return {*self.listed(*_LISTS.get(index, ())), *map(_name, self.typed(index))}

    def with_options(self, index: str) -> set[str]:
        """Return the columns whose "indexes" of fieldConfigList say anything of ``index``."""
        key = index.lower()
        return {_name(each) for each in self.fields if _mapping(each.get("indexes")).get(key) is not None}

    def indexed(self, index: str) -> set[str]:
        """Return the columns with ``index``, however the config says it; "indexes" is read from 1.0 on."""
        found = self.indexed_by_lists(index)
        if self.release >= (1, 0):
            for each in self.fields:
                options = _mapping(each.get("indexes")).get(index.lower())
                if isinstance(options, Mapping):
                    (found.discard if options.get("disabled") is True else found.add)(_name(each))
        return found

    def raw(self) -> set[str]:
        """Return the columns without a dictionary, however the config says it."""
        found = {*self.listed("noDictionaryColumns", "noDictionaryConfig")}
        for each in self.fields:
            dictionary = _mapping(_mapping(each.get("indexes")).get("dictionary"))
            is_off = self.release >= (1, 0) and dictionary.get("disabled") is True
            if is_off or encoding(each) == "RAW":
                found.add(_name(each))
        return found

    def partitioned(self) -> list[str]:
        """Return the columns by whose values segments are partitioned."""
        return _names(_mapping(self.index_config.get("segmentPartitionConfig")).get("columnPartitionMap"))

    def tiers(self) -> list[str]:
        """Return the tiers of storage that have indexes of their own."""
        found = [each.get("tierOverwrites") for each in (self.index_config, *self.fields)]
        found.append(self.document.get("tierOverwrites"))
        return sorted({name for each in found for name in _names(each)})

    def json_columns(self) -> list[str]:
        """Return the columns with a JSON index in tableIndexConfig; until 0.11 one of the keys is unknown."""
        if self.release >= (0, 12) and isinstance(self.index_config.get("jsonIndexConfigs"), Mapping):
            return self.listed("jsonIndexConfigs")
        return self.listed("jsonIndexColumns")

    def known(self, names: Iterable[str]) -> Iterator[tuple[str, SchemaColumn]]:
        """Yield the columns of the schema among ``names``."""
        return ((name, self.columns[name]) for name in names if name in self.columns)

    def multi_value(self, names: Iterable[str]) -> Iterator[str]:
        """Yield the columns among ``names`` that hold several values a row."""
        return (name for name, column in self.known(names) if not column.is_single_value)

    def is_upsert(self) -> bool:
        """Return whether newer rows replace older ones."""
        mode = _mapping(self.document.get("upsertConfig")).get("mode")
        return isinstance(mode, str) and mode.upper() != "NONE"

    def is_dedup(self) -> bool:
        """Return whether rows whose key is known already are dropped."""
        return is_true(_mapping(self.document.get("dedupConfig")).get("dedupEnabled"))

    def aggregates_rows(self) -> bool:
        """Return whether rows are added up while they are ingested."""
        ingestion = _mapping(self.document.get("ingestionConfig"))
        return is_true(self.index_config.get("aggregateMetrics")) or bool(ingestion.get("aggregationConfigs"))

    def has_default_tree(self) -> bool:
        """Return whether Pinot makes a star-tree from the table's columns."""
        return is_true(self.index_config.get("enableDefaultStarTree"))


def encoding(entry: Mapping[str, Any]) -> str:
    """Return the encodingType of an entry of fieldConfigList in capitals, empty if it has none."""
    return str(entry.get("encodingType") or "").upper()


def is_true(value: Any) -> bool:
    """Return whether Pinot reads ``value`` as true; old configs write flags as texts."""
    return str(value).lower() == "true"


def _tree(entry: Any) -> ConfigTree:
    tree = _mapping(entry)
    listed, aggregations = _list(tree.get("functionColumnPairs")), _list(tree.get("aggregationConfigs"))
    pairs = [str(each).partition("__") for each in listed]
    named = [(function if separator else "", column) for function, separator, column in pairs]
    named += [
        (str(each.get("aggregationFunction") or ""), str(each.get("columnName") or ""))
        for each in map(_mapping, aggregations)
    ]
    read = [(_function(function), column) for function, column in named]
    return ConfigTree(
        tuple(_names(tree.get("dimensionsSplitOrder"))),
        tuple(_names(tree.get("skipStarNodeCreationForDimensions"))),
        tuple((function, "*" if function == "COUNT" else column) for function, column in read),
        bool(listed),
        bool(aggregations),
    )


def _function(name: str) -> str:
    return name.replace("_", "").upper()


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry.get("name") or "")


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    return (
        [name for name in value if isinstance(name, str) and name] if isinstance(value, list | dict) else []
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
