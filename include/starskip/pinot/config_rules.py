"""The rules of table configs that advice must not break, by release.

Read in the source of the release tags 0.11.0 to 1.5.1 (TableConfigUtils; from 1.4 on the ``validate`` of each
index type), and held against a real 0.11.0 by benchmarks/pinot_config_rules.py. Some configs pass the
validation, and then no segment can be built, or the index stays idle: rules for them are not ``validated``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starskip.pinot.config_columns import NUMBERS, ConfigColumns, ConfigTree, Release, SchemaColumn, encoding

Breaks = Callable[[ConfigColumns], Iterable[str]]
"""Returns what breaks a rule: columns, or pairs of a star-tree; an empty text for the table itself."""

_ALWAYS: Release = (0, 0)
_BY_TYPE: Release = (1, 4)
"""From this release on each type of index validates itself, however a config turns it on."""


@dataclass(frozen=True, slots=True)
class ConfigRule:
    """A rule of the releases from ``since`` to before ``until``; ``words``: what is wrong with ``{}``.

    ``validated``: the first release whose validation refuses a config that breaks it; None if none does.
    """

    code: str
    words: str
    breaks: Breaks
    since: Release = _ALWAYS
    until: Release = (9, 9)
    validated: Release | None = _ALWAYS

    def holds(self, release: Release) -> bool:
        """Return whether a config for ``release`` must keep the rule."""
        return self.since <= release < self.until

    def is_validated(self, release: Release) -> bool:
        """Return whether the validation of ``release`` refuses a config that breaks it."""
        return self.holds(release) and self.validated is not None and release >= self.validated


@dataclass(frozen=True, slots=True, order=True)
class ConfigFault:
    """A broken rule; ``subject``: the column or pair that breaks it, empty for the table."""

    code: str
    subject: str
    words: str
    is_validated: bool = True

    def sentence(self, pinot_version: str) -> str:
        """Return the broken rule as a refusal tells it."""
        told = f"Pinot {pinot_version} refuses such a config: " if self.is_validated else ""
        return f"{told}{self.words} (rule {self.code})"


def config_faults(
    document: Mapping[str, Any], columns: Mapping[str, SchemaColumn], release: Release
) -> tuple[ConfigFault, ...]:
    """Return the rules of ``release`` that a table config breaks; ``columns``: of its schema."""
    config = ConfigColumns(document, columns, release)
    return tuple(
        ConfigFault(rule.code, subject, rule.words.format(subject), rule.is_validated(release))
        for rule in CONFIG_RULES
        if rule.holds(release)
        for subject in sorted(set(rule.breaks(config)))
    )


def _unknown(config: ConfigColumns) -> Iterator[str]:
    lists = ["noDictionaryColumns", "bloomFilterColumns", "bloomFilterConfigs", "invertedIndexColumns"]
    lists += ["onHeapDictionaryColumns", "rangeIndexColumns", "sortedColumn", "varLengthDictionaryColumns"]
    lists += ["noDictionaryConfig"] if config.release >= _BY_TYPE else []
    named = {*config.listed(*lists), *config.partitioned(), *config.json_columns()}
    named |= {str(each.get("name") or "") for each in config.fields}
    for tree in config.trees:
        named |= {*tree.dimensions, *tree.skipped, *tree.metrics()}
    return (name for name in named if name not in config.columns)


def _inverted_listed_raw(config: ConfigColumns) -> set[str]:
    found = set(config.listed("invertedIndexColumns")) & set(config.listed("noDictionaryColumns"))
    if config.release >= (1, 1):
        found |= {str(each.get("name")) for each in config.typed("INVERTED") if encoding(each) == "RAW"}
    return found


def _inverted_raw(config: ConfigColumns) -> set[str]:
    return config.indexed("INVERTED") & config.raw()


def _inverted_raw_unbuilt(config: ConfigColumns) -> Iterator[str]:
    built = NUMBERS - {"BIG_DECIMAL"} | {"STRING"}
    raw = config.known(_inverted_raw(config))
    return (name for name, column in raw if column.data_type not in built or not column.is_single_value)


def _range_raw(config: ConfigColumns) -> Iterator[str]:
    if config.release < _BY_TYPE:
        raw = set(config.listed("rangeIndexColumns")) & set(config.listed("noDictionaryColumns"))
        return (name for name, column in config.known(raw) if column.data_type not in NUMBERS)
    return _range_raw_idle(config)


def _range_raw_idle(config: ConfigColumns) -> Iterator[str]:
    raw = config.indexed("RANGE") & config.raw()
    return (name for name, column in config.known(raw) if column.stored_type not in NUMBERS)


def _of_type(names: Iterable[str], config: ConfigColumns, *types: str) -> Iterator[str]:
    return (name for name, column in config.known(names) if column.data_type in types)


def _sorted_multi_value(config: ConfigColumns) -> Iterator[str]:
    columns = config.known(config.listed("sortedColumn"))
    return (name for name, column in columns if not column.is_single_value)


def _partition_multi_value(config: ConfigColumns) -> Iterator[str]:
    return (name for name, column in config.known(config.partitioned()) if not column.is_single_value)


def _indexed_by(config: ConfigColumns, index: str) -> set[str]:
    """Return the columns with an index whose columns are validated, as far as the release looks."""
    if config.release >= _BY_TYPE:
        return config.indexed(index)
    return {str(each.get("name")) for each in config.typed(index)}


def _json(config: ConfigColumns) -> Iterator[str]:
    by_type = config.release >= _BY_TYPE
    names = config.indexed("JSON") if by_type else config.json_columns()
    types = ("STRING", "MAP") if by_type else ("STRING",)
    return (n for n, c in config.known(names) if not c.is_single_value or c.stored_type not in types)


def _text(config: ConfigColumns) -> Iterator[str]:
    return (n for n, c in config.known(_indexed_by(config, "TEXT")) if c.stored_type != "STRING")


def _fst(config: ConfigColumns) -> Iterator[str]:
    raw = config.raw()
    if config.release < _BY_TYPE:
        raw = {str(each.get("name")) for each in config.typed("FST") if encoding(each) == "RAW"}
    columns = config.known(_indexed_by(config, "FST"))
    return (n for n, c in columns if n in raw or not c.is_single_value or c.stored_type != "STRING")


def _timestamp(config: ConfigColumns) -> Iterator[str]:
    if config.release < _BY_TYPE:
        names = [str(each.get("name")) for each in config.typed("TIMESTAMP")]
        return (name for name, column in config.known(names) if column.data_type != "TIMESTAMP")
    names = [str(each.get("name")) for each in config.fields if each.get("timestampConfig")]
    return (n for n, c in config.known(names) if c.stored_type != "LONG" or not c.is_single_value)


def _h3(config: ConfigColumns) -> Iterator[str]:
    columns = config.known(config.indexed("H3"))
    return (n for n, c in columns if not c.is_single_value or c.stored_type != "BYTES")


def _vector(config: ConfigColumns) -> Iterator[str]:
    columns = config.known(config.indexed("VECTOR"))
    return (n for n, c in columns if c.is_single_value or c.stored_type != "FLOAT")


def _var_length(config: ConfigColumns) -> Iterator[str]:
    types = {"STRING", "BYTES"} | ({"BIG_DECIMAL", "MAP"} if config.release >= _BY_TYPE else set())
    columns = config.known(config.listed("varLengthDictionaryColumns"))
    return (name for name, column in columns if column.stored_type not in types)


def _encoding_conflict(config: ConfigColumns) -> Iterator[str]:
    raw = set(config.listed("noDictionaryColumns"))
    raw |= set(config.listed("noDictionaryConfig")) if config.release >= (1, 1) else set()
    said = (each for each in config.fields if encoding(each) == "DICTIONARY" or _defaults(config, each))
    return (str(each.get("name")) for each in said if each.get("name") in raw)


def _defaults(config: ConfigColumns, entry: Mapping[str, Any]) -> bool:
    return config.release >= (1, 2) and not encoding(entry)


def _encoding_missing(config: ConfigColumns) -> Iterator[str]:
    return (str(each.get("name")) for each in config.fields if not encoding(each))


def _codec(config: ConfigColumns) -> Iterator[str]:
    of_dictionaries = {"MV_ENTRY_DICT"} if config.release >= (1, 1) else set()
    for each in config.fields:
        codec = each.get("compressionCodec")
        if codec and encoding(each) == "DICTIONARY" and str(codec).upper() not in of_dictionaries:
            yield str(each.get("name"))


def _range_without_forward(config: ConfigColumns) -> Iterator[str]:
    ranged = config.indexed("RANGE")
    version = config.index_config.get("rangeIndexVersion", 2)
    for name, column in config.known(_without_forward(config)):
        if name in ranged and (not column.is_single_value or version != 2):
            yield name


def _without_forward(config: ConfigColumns) -> Iterator[str]:
    for each in config.fields:
        name, properties = str(each.get("name")), each.get("properties")
        options = each.get("indexes") if config.release >= _BY_TYPE else None
        forward = options.get("forward") if isinstance(options, Mapping) else None
        is_off = isinstance(forward, Mapping) and forward.get("disabled") is True
        if isinstance(properties, Mapping):
            is_off |= str(properties.get("forwardIndexDisabled", "")).lower() == "true"
        if is_off:
            yield name


def _forward_without_inverted(config: ConfigColumns) -> Iterator[str]:
    inverted = set(config.listed("invertedIndexColumns"))
    return (name for name in _without_forward(config) if name not in inverted)


def _table(condition: Callable[[ConfigColumns], bool]) -> Breaks:
    return lambda config: [""] if condition(config) else []


def _has_tree(config: ConfigColumns) -> bool:
    return bool(config.trees) or config.has_default_tree()


def _of_trees(broken: Callable[[ConfigColumns, ConfigTree], Iterable[str]]) -> Breaks:
    return lambda config: [name for tree in config.trees for name in broken(config, tree)]


def _tree_multi_value(config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    columns = config.known((*tree.dimensions, *tree.skipped))
    return (name for name, column in columns if not column.is_single_value)


def _metric_multi_value(config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    return (name for name, column in config.known(tree.metrics()) if not column.is_single_value)


def _tree_map(config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    return _of_type((*tree.dimensions, *tree.metrics()), config, "MAP")


def _bad_pairs(config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    return (f"{f}__{c}" for f, c in tree.pairs if not f or not _is_function(f))


def _unbuilt_pairs(config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    known = _stored_functions(config.release)
    return (f"{f}__{c}" for f, c in tree.pairs if _is_function(f) and f not in known)


def _wrong_metrics(config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    sums = {f"{f}__{c}": c for f, c in tree.pairs if f in _OF_NUMBERS}
    return (
        pair
        for pair, name in sums.items()
        if name in config.columns and config.columns[name].stored_type not in NUMBERS
    )


def _star_columns(_config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    return (f"{f}__*" for f, column in tree.pairs if column == "*" and f != "COUNT")


def _twice(_config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    return (f"{f}__{c}" for f, c in tree.pairs if tree.pairs.count((f, c)) > 1)


def _pairs_missing(config: ConfigColumns, tree: ConfigTree) -> list[str]:
    aggregations = tree.has_aggregations and config.release >= (1, 1)
    return [] if tree.dimensions and (tree.has_pairs or aggregations) else [", ".join(tree.dimensions)]


def _pairs_both(_config: ConfigColumns, tree: ConfigTree) -> list[str]:
    return [", ".join(tree.dimensions)] if tree.has_pairs and tree.has_aggregations else []


_OF_NUMBERS = {"SUM", "MIN", "MAX", "AVG", "MINMAXRANGE", "PERCENTILEEST", "PERCENTILETDIGEST"}
_STORED = {"COUNT", "DISTINCTCOUNTBITMAP", "DISTINCTCOUNTHLL", "DISTINCTCOUNTRAWHLL", "SUMPRECISION"}
_STORED |= {*_OF_NUMBERS, "PERCENTILERAWEST", "PERCENTILERAWTDIGEST"}
_SKETCHES = ("THETASKETCH", "RAWTHETASKETCH", "TUPLESKETCH", "RAWINTEGERSUMTUPLESKETCH")
_LATER_SKETCHES = ("CPCSKETCH", "RAWCPCSKETCH", "HLLPLUS", "RAWHLLPLUS", "ULL", "RAWULL")
_FUNCTION = re.compile(
    r"COUNT|(?:MIN|MAX|SUM|AVG|MODE|MINMAXRANGE|SUMPRECISION|SUMVALUES|AVGVALUE|DISTINCT|PERCENTILE|FIRST|LAST"
    r"|SEGMENTPARTITIONED|FASTHLL|IDSET|HISTOGRAM|STUNION|COUNTMV|SUM0|STD|VAR|COVAR|KURT|SKEW|BOOL|ARRAY|LIST"
    r"|FUNNEL|FREQUENT|ANY|EXPR|CORR|FOURTH|TIMESERIES)\w*"
)


def _is_function(name: str) -> bool:
    return _FUNCTION.fullmatch(name) is not None


def _stored_functions(release: Release) -> set[str]:
    """Return the functions that star-trees can keep (ValueAggregatorFactory)."""
    sketches = (*_SKETCHES, *(_LATER_SKETCHES if release >= (1, 1) else ()))
    found = _STORED | ({f"DISTINCTCOUNT{name}" for name in sketches} if release >= (1, 0) else set())
    if release >= (1, 0):
        found |= {"SUMVALUESINTEGERSUMTUPLESKETCH", "AVGVALUEINTEGERSUMTUPLESKETCH"}
    return found | ({"AVGMV", "COUNTMV", "SUMMV"} if release >= (1, 5) else set())


_NO_DICTIONARY = "{} is stored without a dictionary, which an inverted index needs"
_MAP = "{} is of type MAP, on which there is no such index"

CONFIG_RULES: tuple[ConfigRule, ...] = (
    ConfigRule("unknown_column", "{} is no column of the schema", _unknown),
    ConfigRule("inverted_no_dictionary", _NO_DICTIONARY, _inverted_listed_raw, until=_BY_TYPE),
    ConfigRule("inverted_no_dictionary", _NO_DICTIONARY, _inverted_raw, since=_BY_TYPE, until=(1, 5)),
    ConfigRule("inverted_idle", _NO_DICTIONARY, _inverted_raw, until=_BY_TYPE, validated=None),
    ConfigRule(
        "inverted_idle",
        "{} has no dictionary, and without one inverted indexes are built on single values of numbers and "
        "texts only",
        _inverted_raw_unbuilt,
        since=(1, 5),
        validated=None,
    ),
    ConfigRule("inverted_map", _MAP, lambda c: _of_type(c.indexed("INVERTED"), c, "MAP"), since=_BY_TYPE),
    ConfigRule(
        "range_no_dictionary",
        "{} is no number and stored without a dictionary, which a range index then needs",
        _range_raw,
    ),
    ConfigRule(
        "range_idle",
        "{} is no number and stored without a dictionary, which a range index then needs",
        _range_raw_idle,
        until=_BY_TYPE,
        validated=None,
    ),
    ConfigRule("range_map", _MAP, lambda c: _of_type(c.indexed("RANGE"), c, "MAP"), since=_BY_TYPE),
    ConfigRule(
        "range_without_forward",
        "{} has no forward index, beside which a range index must be of version 2 and on single values",
        _range_without_forward,
        since=(0, 12),
    ),
    ConfigRule(
        "forward_needs_inverted",
        "{} has no forward index, and then needs an inverted index",
        _forward_without_inverted,
        since=(0, 12),
        until=(1, 0),
    ),
    ConfigRule(
        "sorted_multi_value",
        "{} holds several values a row, by which rows cannot be sorted",
        _sorted_multi_value,
        validated=_BY_TYPE,
    ),
    ConfigRule(
        "partition_multi_value",
        "{} holds several values a row, by which rows cannot be partitioned",
        _partition_multi_value,
        since=_BY_TYPE,
    ),
    ConfigRule("json_type", "{} is no single text, which a JSON index needs", _json),
    ConfigRule("text_type", "{} holds no texts, which a text index needs", _text),
    ConfigRule("fst_type", "{} holds no single texts with a dictionary, which an FST index needs", _fst),
    ConfigRule("timestamp_type", "{} holds no timestamps, which a timestamp index needs", _timestamp),
    ConfigRule("h3_type", "{} holds no single bytes, which an H3 index needs", _h3, since=_BY_TYPE),
    ConfigRule("vector_type", "{} holds no lists of FLOAT, which a vector needs", _vector, since=_BY_TYPE),
    ConfigRule(
        "bloom_type",
        "{} is of a type without bloom filters",
        lambda c: _of_type(c.indexed("BLOOM"), c, "BOOLEAN", "MAP"),
        since=_BY_TYPE,
    ),
    ConfigRule("var_length_type", "{} has values of one length", _var_length),
    ConfigRule(
        "encoding_conflict",
        "{} has encodingType DICTIONARY in fieldConfigList, and no dictionary in tableIndexConfig",
        _encoding_conflict,
    ),
    ConfigRule(
        "encoding_missing", "{} has no encodingType in fieldConfigList", _encoding_missing, until=(1, 2)
    ),
    ConfigRule("dictionary_codec", "{} has a dictionary, and a codec of values without one", _codec),
    ConfigRule(
        "upsert_star_tree",
        "an upsert table cannot have a star-tree",
        _table(lambda c: _has_tree(c) and c.is_upsert()),
    ),
    ConfigRule(
        "dedup_star_tree",
        "a table with dedup should not have a star-tree",
        _table(lambda c: _has_tree(c) and c.is_dedup()),
        validated=None,
    ),
    ConfigRule(
        "upsert_aggregation",
        "an upsert or dedup table cannot add up rows while it ingests them",
        _table(lambda c: c.aggregates_rows() and (c.is_upsert() or c.is_dedup())),
    ),
    ConfigRule(
        "tree_multi_value",
        "{} holds several values a row, and is a dimension of a star-tree",
        _of_trees(_tree_multi_value),
    ),
    ConfigRule(
        "tree_metric_multi_value",
        "{} holds several values a row, and is aggregated in a star-tree",
        _of_trees(_metric_multi_value),
        until=(1, 5),
    ),
    ConfigRule(
        "tree_no_dictionary",
        "{} is stored without a dictionary, which a dimension of a star-tree needs",
        lambda c: c.raw().intersection(name for tree in c.trees for name in tree.dimensions),
        validated=_BY_TYPE,
    ),
    ConfigRule("tree_map", "{} is of type MAP, and is in a star-tree", _of_trees(_tree_map), since=_BY_TYPE),
    ConfigRule(
        "tree_skips",
        "{} has no star-nodes, and is not in the split order",
        _of_trees(lambda _, tree: set(tree.skipped) - set(tree.dimensions)),
        validated=_BY_TYPE,
    ),
    ConfigRule("tree_pair", "{} is no function and column of a star-tree", _of_trees(_bad_pairs)),
    ConfigRule(
        "tree_function", "{} cannot be kept in a star-tree", _of_trees(_unbuilt_pairs), validated=None
    ),
    ConfigRule(
        "tree_metric_type", "{} aggregates what is no number", _of_trees(_wrong_metrics), validated=None
    ),
    ConfigRule(
        "tree_star", "{} needs a column: only COUNT takes *", _of_trees(_star_columns), validated=(1, 5)
    ),
    ConfigRule("tree_pair_twice", "{} is twice in one star-tree", _of_trees(_twice), since=(1, 3)),
    ConfigRule(
        "tree_without_pairs", "the star-tree by {} lacks dimensions or functions", _of_trees(_pairs_missing)
    ),
    ConfigRule(
        "tree_pairs_both_ways",
        "the star-tree by {} has both functionColumnPairs and aggregationConfigs",
        _of_trees(_pairs_both),
        since=_BY_TYPE,
    ),
)
"""All rules; the same code stands twice where the rule changes with the release."""
