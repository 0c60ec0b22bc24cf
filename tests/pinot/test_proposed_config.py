"""A table configuration with advice in it: what was there stays, whatever else it says."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_choice import edits
from starskip.advisor.families.column_indexes import BLOOM
from starskip.pinot.column_key import LaidOver
from starskip.pinot.proposed_config import KeyEdit, proposed_config, with_edits
from starskip.pinot.table_config import TableConfig, read_table_configs

TREE = {"dimensionsSplitOrder": ["a"], "functionColumnPairs": ["COUNT__*"]}
NEW = {"dimensionsSplitOrder": ["b"], "functionColumnPairs": ["SUM__c"], "maxLeafRecords": 100}
CONFIG: dict[str, Any] = {
    "tableName": "t_OFFLINE",
    "tableType": "OFFLINE",
    "segmentsConfig": {"replication": "1"},
    "tableIndexConfig": {
        "loadMode": "MMAP",
        "invertedIndexColumns": ["a", "b"],
        "rangeIndexColumns": ["r"],
        "sortedColumn": ["s"],
        "starTreeIndexConfigs": [TREE],
    },
    "fieldConfigList": [
        {"name": "c", "encodingType": "DICTIONARY", "indexTypes": ["INVERTED", "TEXT"]},
        {"name": "d", "indexType": "inverted", "encodingType": "RAW"},
        {"name": "e", "indexes": {"inverted": {}, "range": {}, "bloom": {"fpp": 0.1}}},
        {"name": "off", "indexes": {"inverted": {"disabled": True}}},
    ],
    "metadata": {"customConfigs": {"of": "a later Pinot"}},
}


def read(document: Any, folder: Path, name: str = "config.json") -> TableConfig:
    (folder / name).write_text(json.dumps(document))
    ((config,),) = read_table_configs([folder / name]).values()
    return config


def test_added_indexes_join_those_in_force_and_the_rest_stays(tmp_path: Path) -> None:
    config = read(CONFIG, tmp_path)
    before = copy.deepcopy(config)
    changes = edits(add_inverted=["x", "c", "a", "x"], add_range=["y"], sorted_column="z")
    proposed = with_edits(config, changes)
    expected = copy.deepcopy(CONFIG)
    expected["tableIndexConfig"] |= {
        "invertedIndexColumns": ["a", "b", "x"],
        "rangeIndexColumns": ["r", "y"],
        "sortedColumn": ["z"],
    }
    assert json.dumps(proposed) == json.dumps(expected), "the order of keys too"
    assert config == before


def test_dropped_indexes_leave_both_places(tmp_path: Path) -> None:
    config = read(CONFIG, tmp_path)
    proposed = with_edits(config, edits(drop_inverted=["a", "c", "d", "e"]))
    again = read(proposed, tmp_path)
    assert again.inverted_index_columns == ("b",)
    assert again.range_index_columns == config.range_index_columns
    assert again.document["fieldConfigList"][0]["indexTypes"] == ["TEXT"]


def test_a_dropped_bloom_filter_leaves_its_options_too(tmp_path: Path) -> None:
    blooms = {"bloomFilterColumns": ["a", "p"], "bloomFilterConfigs": {"a": {"fpp": 0.1}, "q": {"fpp": 0.1}}}
    config = read({**CONFIG, "tableIndexConfig": blooms}, tmp_path)
    again = read(with_edits(config, [KeyEdit(BLOOM.config, (), ("a", "q", "e"))]), tmp_path)
    assert again.bloom_filter_columns == ("p",)
    assert config.bloom_filter_columns == ("a", "p", "q", "e")


def test_an_index_that_is_switched_off_is_switched_on_where_it_is(tmp_path: Path) -> None:
    proposed = with_edits(read(CONFIG, tmp_path), edits(add_inverted=["off"]))
    assert proposed["tableIndexConfig"] == CONFIG["tableIndexConfig"], "Pinot takes no index told twice"
    assert proposed["fieldConfigList"][3] == {"name": "off", "indexes": {"inverted": {}}}


def test_star_trees_come_behind_those_in_force(tmp_path: Path) -> None:
    proposed = with_edits(read(CONFIG, tmp_path), edits(add_star_trees=[NEW]))
    assert proposed["tableIndexConfig"]["starTreeIndexConfigs"] == [TREE, NEW]


@pytest.mark.parametrize(
    "said_otherwise",
    [
        TREE,
        TREE | {"maxLeafRecords": 10_000, "skipStarNodeCreationForDimensions": []},
        {"dimensionsSplitOrder": ["a"], "functionColumnPairs": ["count__*"]},
        {
            "dimensionsSplitOrder": ["a"],
            "aggregationConfigs": [{"aggregationFunction": "COUNT", "columnName": "*"}],
        },
    ],
)
def test_a_star_tree_that_is_there_does_not_come_again(said_otherwise: Any, tmp_path: Path) -> None:
    changes = edits(add_star_trees=[said_otherwise])
    assert with_edits(read(CONFIG, tmp_path), changes) == CONFIG


@pytest.mark.parametrize("document", [{"tableName": "t"}, {"tableName": "t", "tableIndexConfig": None}])
def test_a_first_index(document: dict[str, Any], tmp_path: Path) -> None:
    config = read(document, tmp_path)
    proposed = with_edits(config, edits(add_inverted=["x"]))
    assert proposed == {"tableName": "t", "tableIndexConfig": {"invertedIndexColumns": ["x"]}}
    assert with_edits(config, edits()) == document


REALTIME = {"tableName": "t_REALTIME", "tableIndexConfig": {"streamConfigs": {"topic": "t"}}}


def test_each_half_of_a_hybrid_table_has_its_own_change(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"tableName": "t", "offline": CONFIG, "realtime": REALTIME}))
    proposed = proposed_config([path], "t_REALTIME", edits(add_inverted=["x"], add_star_trees=[NEW]))
    assert proposed == REALTIME | {
        "tableIndexConfig": {
            "streamConfigs": {"topic": "t"},
            "invertedIndexColumns": ["x"],
            "starTreeIndexConfigs": [NEW],
            "enableDynamicStarTreeCreation": True,
        }
    }
    assert proposed_config([path], "t_OFFLINE", edits()) == CONFIG


def test_a_table_with_one_half_keeps_its_file(tmp_path: Path) -> None:
    document = {"tableName": "t", "schema": {"schemaName": "t"}, "offline": CONFIG, "realtime": None}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))
    proposed = proposed_config([path], "t", edits(add_inverted=["x"]))
    assert list(proposed) == list(document)
    assert proposed["schema"] == document["schema"]
    assert proposed["offline"]["tableIndexConfig"]["invertedIndexColumns"] == ["a", "b", "x"]


def test_halves_of_a_hybrid_table_may_lie_in_two_files(tmp_path: Path) -> None:
    read(CONFIG, tmp_path, "offline.json")
    read({"tableName": "t_REALTIME"}, tmp_path, "realtime.json")
    paths = [tmp_path / "offline.json", tmp_path / "realtime.json"]
    assert proposed_config(paths, "t_OFFLINE", edits()) == CONFIG
    assert proposed_config(paths, "t_REALTIME", edits()) == {"tableName": "t_REALTIME"}
    assert proposed_config(paths, "u", edits()) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
COLUMNS = st.lists(st.sampled_from("abcdef"), max_size=4, unique=True)
TREES = st.lists(
    st.sampled_from([TREE, NEW, TREE | {"maxLeafRecords": 5}, {"of": "a later Pinot"}]), max_size=3
)
UNKNOWN = st.dictionaries(st.text(min_size=1, max_size=4).map("new-{}".format), JSON, max_size=3)


@given(data=st.data())
def test_what_was_in_force_and_is_not_dropped_stays(tmp_path_factory: Any, data: st.DataObject) -> None:
    index_config = {
        "invertedIndexColumns": data.draw(COLUMNS),
        **data.draw(UNKNOWN),
        "rangeIndexColumns": data.draw(COLUMNS),
        "starTreeIndexConfigs": data.draw(TREES),
    }
    fields = [
        {"name": name, "indexes": {"inverted": data.draw(st.sampled_from([{}, {"disabled": True}]))}}
        for name in data.draw(COLUMNS)
    ]
    document = {
        "tableName": "t",
        **data.draw(UNKNOWN),
        "tableIndexConfig": index_config,
        "fieldConfigList": fields,
    }
    folder = tmp_path_factory.getbasetemp()
    config = read(document, folder, "generated.json")
    add, drop = data.draw(COLUMNS), data.draw(COLUMNS)
    drop = [name for name in drop if name not in add]
    trees = data.draw(st.lists(st.sampled_from([NEW, TREE]), max_size=2))
    changes = edits(add_inverted=add, drop_inverted=drop, add_star_trees=trees)
    proposed = with_edits(config, changes)
    again = read(proposed, folder, "again.json")
    assert set(again.inverted_index_columns) == (set(config.inverted_index_columns) - set(drop)) | set(add)
    assert again.range_index_columns == config.range_index_columns
    kept = len(config.star_tree_index_configs)
    assert again.star_tree_index_configs[:kept] == config.star_tree_index_configs
    assert all(tree in again.star_tree_index_configs for tree in trees if tree != TREE)
    unchanged = {"tableIndexConfig", "fieldConfigList"}
    assert {k: v for k, v in proposed.items() if k not in unchanged} == {
        k: v for k, v in document.items() if k not in unchanged
    }
    flag = ["enableDynamicStarTreeCreation"] if len(again.star_tree_index_configs) > kept else []
    assert list(proposed["tableIndexConfig"]) == [*index_config, *flag]
    assert with_edits(config, edits()) == document


def test_keys_of_any_kind_are_laid_over_and_take_nothing_away(tmp_path: Path) -> None:
    change = {
        "tableIndexConfig": {
            "bloomFilterColumns": ["a"],
            "invertedIndexColumns": ["a", "n"],
            "loadMode": "HEAP",
        },
        "fieldConfigList": [
            {"name": "e", "indexes": {"bloom": {"fpp": 0.2}, "text": {}}, "properties": {"x": "y"}},
            {"name": "new", "indexes": {"bloom": {}}},
        ],
        "metadata": {"customConfigs": None},
        "segmentsConfig": ["replaces", "a block"],
        "routing": {"segmentPrunerTypes": ["partition"]},
    }
    proposed = with_edits(read(CONFIG, tmp_path), [KeyEdit(LaidOver("mine"), [change, change])])
    expected = copy.deepcopy(CONFIG)
    expected["tableIndexConfig"] |= {
        "bloomFilterColumns": ["a"],
        "invertedIndexColumns": ["a", "b", "n"],
        "loadMode": "HEAP",
    }
    expected["fieldConfigList"][2] = {
        "name": "e",
        "indexes": {"inverted": {}, "range": {}, "bloom": {"fpp": 0.2}, "text": {}},
        "properties": {"x": "y"},
    }
    expected["fieldConfigList"].append({"name": "new", "indexes": {"bloom": {}}})
    expected["routing"] = {"segmentPrunerTypes": ["partition"]}
    assert proposed == expected
