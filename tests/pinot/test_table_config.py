from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starskip.errors import ConfigError
from starskip.pinot.table_config import TableConfig, read_table_configs

Write = Callable[..., Path]

CONFIG: dict[str, Any] = {
    "tableName": "lineitem_OFFLINE",
    "tableType": "OFFLINE",
    "segmentsConfig": {"replication": "1"},
    "tableIndexConfig": {
        "loadMode": "MMAP",
        "invertedIndexColumns": ["a", "b"],
        "rangeIndexColumns": ["r"],
        "bloomFilterColumns": ["p"],
        "bloomFilterConfigs": {"q": {"fpp": 0.01}},
        "noDictionaryColumns": ["n"],
        "noDictionaryConfig": {"n": "SNAPPY", "o": "LZ4"},
        "jsonIndexConfigs": {"j": {}},
        "sortedColumn": ["s"],
        "starTreeIndexConfigs": [{"dimensionsSplitOrder": ["a"], "maxLeafRecords": 10}],
        "enableDefaultStarTree": True,
    },
    "fieldConfigList": [
        {"name": "c", "encodingType": "DICTIONARY", "indexTypes": ["INVERTED", "TEXT"]},
        {"name": "d", "indexType": "inverted", "encodingType": "RAW"},
        {"name": "e", "indexes": {"inverted": {}, "range": {}, "bloom": {"fpp": 0.1}, "fst": {}}},
        {"name": "f", "indexes": {"inverted": {"disabled": True}, "dictionary": {"disabled": True}}},
        {"name": "a", "indexTypes": ["INVERTED"], "indexes": None},
    ],
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to(document: Any, name: str = "config.json") -> Path:
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return to


def only(path: Path) -> TableConfig:
    ((config,),) = read_table_configs([path]).values()
    return config


def problem(*paths: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_table_configs(paths)
    return str(caught.value)


def test_indexes_of_table_index_config_and_field_config_list(write: Write) -> None:
    config = only(write(CONFIG))
    assert (config.table, config.table_type) == ("lineitem", "OFFLINE")
    assert config.inverted_index_columns == ("a", "b", "c", "d", "e")
    assert config.range_index_columns == ("r", "e")
    assert config.bloom_filter_columns == ("p", "q", "e")
    assert config.sorted_column == "s"
    assert config.star_tree_index_configs[0]["maxLeafRecords"] == 10
    assert config.document == CONFIG


@pytest.mark.parametrize("keys", [("OFFLINE", "REALTIME"), ("offline", "realtime")])
def test_both_types_of_a_hybrid_table_as_the_rest_interface_answers(
    keys: tuple[str, str], write: Write
) -> None:
    realtime = CONFIG | {"tableName": "lineitem_REALTIME", "tableType": "REALTIME", "tableIndexConfig": None}
    path = write({"tableName": "lineitem", keys[0]: CONFIG, keys[1]: realtime})
    found = read_table_configs([path])
    assert list(found) == ["lineitem_OFFLINE", "lineitem_REALTIME"]
    ((offline,), (other,)) = found.values()
    assert (offline.table, offline.table_type) == ("lineitem_OFFLINE", "OFFLINE")
    assert other.inverted_index_columns == ("c", "d", "e", "a")


def test_one_type_of_the_rest_interface_with_the_other_null(write: Write) -> None:
    assert only(write({"OFFLINE": CONFIG | {"tableName": "t"}, "REALTIME": None})).table == "t"


def test_a_config_with_nothing_but_a_name(write: Write) -> None:
    assert only(write({"tableName": "t"})) == TableConfig("t", document={"tableName": "t"})


def test_a_table_given_twice(write: Write) -> None:
    one, two = write(CONFIG), write({"OFFLINE": CONFIG}, "again.json")
    assert problem(one, two) == f"{two}: the configuration of table lineitem is given twice"
    typeless = write({"tableName": "lineitem"}, "typeless.json")
    assert problem(one, typeless) == f"{typeless}: the configuration of table lineitem is given twice"


@pytest.mark.parametrize(
    "document",
    ["", "[]", "nonsense", "{}", '{"OFFLINE": {}}', "[" * 100_000, "\x00", '{"tableName": "t", "a": NaN}'],
)
def test_what_is_no_table_config(document: str, write: Write) -> None:
    path = write(document)
    assert problem(path).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"tableIndexConfig": []}, "tableIndexConfig is not an object"),
        ({"tableIndexConfig": {"invertedIndexColumns": 3}}, "invertedIndexColumns is not a list of columns"),
        (
            {"tableIndexConfig": {"invertedIndexColumns": [3]}},
            "invertedIndexColumns is not a list of columns",
        ),
        ({"tableIndexConfig": {"bloomFilterColumns": 5}}, "bloomFilterColumns is not a list of columns"),
        ({"tableIndexConfig": {"bloomFilterConfigs": ["a"]}}, "bloomFilterConfigs is not an object"),
        ({"tableIndexConfig": {"starTreeIndexConfigs": [3]}}, "starTreeIndexConfigs is not an object"),
        ({"fieldConfigList": {}}, "fieldConfigList is not a list"),
        ({"fieldConfigList": ["c"]}, "fieldConfigList is not an object"),
        ({"fieldConfigList": [{}]}, "name is not a text"),
        ({"tableName": 5}, "tableName is not a text"),
        ({"tableName": ""}, "tableName is not a text"),
        ({"tableName": "t", "tableType": "HYBRID"}, "tableType is not OFFLINE or REALTIME"),
    ],
)
def test_a_key_of_the_wrong_kind_is_named(change: dict[str, Any], sentence: str, write: Write) -> None:
    path = write(CONFIG | change)
    assert problem(path) == f"{path}: {sentence}"


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "nope.json"
    assert problem(path) == f"{path}: cannot be read (No such file or directory)"
