"""Rules of table configs on the indexes and encodings of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from starskip.pinot.config_columns import NUMBERS, ConfigColumns, encoding
from starskip.pinot.config_rule import BY_TYPE, ConfigRule


def _unknown(config: ConfigColumns) -> Iterator[str]:
    lists = ["noDictionaryColumns", "bloomFilterColumns", "bloomFilterConfigs", "invertedIndexColumns"]
    lists += ["onHeapDictionaryColumns", "rangeIndexColumns", "sortedColumn", "varLengthDictionaryColumns"]
    lists += ["noDictionaryConfig"] if config.release >= BY_TYPE else []
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
    if config.release < BY_TYPE:
        raw = set(config.listed("rangeIndexColumns")) & set(config.listed("noDictionaryColumns"))
        return (name for name, column in config.known(raw) if column.data_type not in NUMBERS)
    return _range_raw_idle(config)


def _range_raw_idle(config: ConfigColumns) -> Iterator[str]:
    raw = config.indexed("RANGE") & config.raw()
    return (name for name, column in config.known(raw) if column.stored_type not in NUMBERS)


def _of_type(names: Iterable[str], config: ConfigColumns, *types: str) -> Iterator[str]:
    return (name for name, column in config.known(names) if column.data_type in types)


def _indexed_by(config: ConfigColumns, index: str) -> set[str]:
    """Return the columns with an index whose columns are validated, as far as the release looks."""
    if config.release >= BY_TYPE:
        return config.indexed(index)
    return {str(each.get("name")) for each in config.typed(index)}


def _json(config: ConfigColumns) -> Iterator[str]:
    by_type = config.release >= BY_TYPE
    names = config.indexed("JSON") if by_type else config.json_columns()
    types = ("STRING", "MAP") if by_type else ("STRING",)
    return (n for n, c in config.known(names) if not c.is_single_value or c.stored_type not in types)


def _text(config: ConfigColumns) -> Iterator[str]:
    return (n for n, c in config.known(_indexed_by(config, "TEXT")) if c.stored_type != "STRING")


def _fst(config: ConfigColumns) -> Iterator[str]:
    raw = config.raw()
    if config.release < BY_TYPE:
        raw = {str(each.get("name")) for each in config.typed("FST") if encoding(each) == "RAW"}
    columns = config.known(_indexed_by(config, "FST"))
    return (n for n, c in columns if n in raw or not c.is_single_value or c.stored_type != "STRING")


def _timestamp(config: ConfigColumns) -> Iterator[str]:
    if config.release < BY_TYPE:
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
    types = {"STRING", "BYTES"} | ({"BIG_DECIMAL", "MAP"} if config.release >= (1, 5) else set())
    raw = config.raw() if config.release >= BY_TYPE else set()
    columns = config.known(set(config.listed("varLengthDictionaryColumns")) - raw)
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
    stored_otherwise = config.raw().union(_without_forward(config))
    for each in config.fields:
        codec = each.get("compressionCodec")
        has_dictionary = encoding(each) == "DICTIONARY" or _defaults(config, each)
        if not codec or not has_dictionary or str(codec).upper() in of_dictionaries:
            continue
        if config.release < BY_TYPE or str(each.get("name")) not in stored_otherwise:
            yield str(each.get("name"))


def _range_without_forward(config: ConfigColumns) -> Iterator[str]:
    by_type = config.release >= BY_TYPE
    ranged = config.indexed("RANGE") if by_type else set(config.listed("rangeIndexColumns"))
    version = config.index_config.get("rangeIndexVersion", 2)
    for name, column in config.known(_without_forward(config)):
        if name in ranged and (not column.is_single_value or version != 2):
            yield name


def _without_forward(config: ConfigColumns) -> Iterator[str]:
    for each in config.fields:
        name, properties = str(each.get("name")), each.get("properties")
        options = each.get("indexes") if config.release >= BY_TYPE else None
        forward = options.get("forward") if isinstance(options, Mapping) else None
        is_off = isinstance(forward, Mapping) and forward.get("disabled") is True
        if isinstance(properties, Mapping):
            is_off |= str(properties.get("forwardIndexDisabled", "")).lower() == "true"
        if is_off:
            yield name


def _declared_twice(config: ConfigColumns) -> set[str]:
    found: set[str] = set()
    for index in ("INVERTED", "RANGE", "BLOOM", "JSON", "FST", "TEXT", "H3", "VECTOR"):
        found |= config.with_options(index) & config.indexed_by_lists(index)
    lists = (
        "noDictionaryColumns",
        "noDictionaryConfig",
        "onHeapDictionaryColumns",
        "varLengthDictionaryColumns",
    )
    raw = {str(each.get("name")) for each in config.fields if encoding(each) == "RAW"}
    return found | (config.with_options("DICTIONARY") & raw.union(config.listed(*lists)))


def _forward_off_realtime(config: ConfigColumns) -> Iterable[str]:
    is_realtime = str(config.document.get("tableType") or "").upper() == "REALTIME"
    return _without_forward(config) if is_realtime else ()


def _forward_without_inverted(config: ConfigColumns) -> Iterator[str]:
    inverted = set(config.listed("invertedIndexColumns"))
    return (name for name in _without_forward(config) if name not in inverted)


_NO_DICTIONARY = "{} is stored without a dictionary, which an inverted index needs"
_RANGE_RAW = "{} is no number and stored without a dictionary, which a range index then needs"
_MAP = "{} is of type MAP, on which there is no such index"

COLUMN_RULES: tuple[ConfigRule, ...] = (
    ConfigRule("unknown_column", "{} is no column of the schema, as segments show it", _unknown),
    ConfigRule("inverted_no_dictionary", _NO_DICTIONARY, _inverted_listed_raw, until=BY_TYPE),
    ConfigRule("inverted_no_dictionary", _NO_DICTIONARY, _inverted_raw, since=BY_TYPE, until=(1, 5)),
    ConfigRule("inverted_idle", _NO_DICTIONARY, _inverted_raw, until=BY_TYPE, validated=None),
    ConfigRule(
        "inverted_idle",
        "{} has no dictionary, and without one inverted indexes are built on single values of numbers and "
        "texts only",
        _inverted_raw_unbuilt,
        since=(1, 5),
        validated=None,
    ),
    ConfigRule("inverted_map", _MAP, lambda c: _of_type(c.indexed("INVERTED"), c, "MAP"), since=BY_TYPE),
    ConfigRule("range_no_dictionary", _RANGE_RAW, _range_raw),
    ConfigRule("range_idle", _RANGE_RAW, _range_raw_idle, until=BY_TYPE, validated=None),
    ConfigRule("range_map", _MAP, lambda c: _of_type(c.indexed("RANGE"), c, "MAP"), since=BY_TYPE),
    ConfigRule(
        "range_without_forward",
        "{} has no forward index, beside which a range index must be of version 2 and on single values",
        _range_without_forward,
        since=(0, 12),
    ),
    ConfigRule(
        "declared_twice",
        "{} has one index both in its indexes of fieldConfigList and elsewhere",
        _declared_twice,
        since=(1, 0),
        validated=BY_TYPE,
    ),
    ConfigRule(
        "forward_off_realtime",
        "{} has no forward index, in a REALTIME table",
        _forward_off_realtime,
        since=(1, 2),
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
        lambda c: c.multi_value(c.listed("sortedColumn")),
        validated=BY_TYPE,
    ),
    ConfigRule(
        "partition_multi_value",
        "{} holds several values a row, by which rows cannot be partitioned",
        lambda c: c.multi_value(c.partitioned()),
        since=BY_TYPE,
    ),
    ConfigRule("json_type", "{} is no single text, which a JSON index needs", _json),
    ConfigRule("text_type", "{} holds no texts, which a text index needs", _text),
    ConfigRule("fst_type", "{} holds no single texts with a dictionary, which an FST index needs", _fst),
    ConfigRule("timestamp_type", "{} holds no timestamps, which a timestamp index needs", _timestamp),
    ConfigRule("h3_type", "{} holds no single bytes, which an H3 index needs", _h3, since=BY_TYPE),
    ConfigRule("vector_type", "{} holds no lists of FLOAT, which a vector needs", _vector, since=BY_TYPE),
    ConfigRule(
        "bloom_type",
        "{} is of a type without bloom filters",
        lambda c: _of_type(c.indexed("BLOOM"), c, "BOOLEAN", "MAP"),
        since=BY_TYPE,
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
)
"""Rules of columns. A code has two entries where its rule changes with the release."""
