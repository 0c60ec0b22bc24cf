"""Changes of single keys: found, laid over, taken back, and compared as Pinot's JSON."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.pinot.config_change import (
    KeyChange,
    config_diff,
    config_digest,
    has_changes,
    is_as_written,
    key_changes,
    same_config,
    steps_back,
    with_changes,
)

BASE: dict[str, Any] = {
    "tableName": "events_OFFLINE",
    "tableType": "OFFLINE",
    "tableIndexConfig": {"loadMode": "MMAP", "invertedIndexColumns": ["a"], "sortedColumn": None},
    "fieldConfigList": [{"name": "b", "encodingType": "DICTIONARY"}],
}
TREE = {"dimensionsSplitOrder": ["a"], "functionColumnPairs": ["COUNT__*"]}
FLAG = ("tableIndexConfig", "enableDynamicStarTreeCreation")
TREES = ("tableIndexConfig", "starTreeIndexConfigs")


def changed(**keys: Any) -> dict[str, Any]:
    config = copy.deepcopy(BASE)
    config["tableIndexConfig"] |= keys
    return config


def test_only_the_keys_that_differ_are_changes() -> None:
    target = changed(invertedIndexColumns=["a", "b"], rangeIndexColumns=["c"])
    assert key_changes(BASE, target) == (
        KeyChange(("tableIndexConfig", "invertedIndexColumns"), ["a"], ["a", "b"]),
        KeyChange(("tableIndexConfig", "rangeIndexColumns"), None, ["c"]),
    )


KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | KEYS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=6,
)
CONFIGS = st.fixed_dictionaries(
    {"tableIndexConfig": st.dictionaries(KEYS, VALUES, max_size=3)}, optional={"x": VALUES, "y": VALUES}
)


@given(base=CONFIGS, target=CONFIGS)
def test_changes_lead_there_and_back(base: dict[str, Any], target: dict[str, Any]) -> None:
    before = copy.deepcopy(base)
    changes = key_changes(base, target)
    there = with_changes(base, changes)
    assert same_config(there, target)
    assert has_changes(there, changes)
    back = with_changes(there, [each.reversed() for each in changes])
    assert same_config(back, base)
    assert base == before


def test_the_way_back_keeps_what_others_have_changed() -> None:
    changes = key_changes(BASE, changed(rangeIndexColumns=["c"]))
    theirs = with_changes(BASE, changes) | {"tenants": {"broker": "other"}}
    back = with_changes(theirs, [each.reversed() for each in changes])
    assert same_config(back, BASE | {"tenants": {"broker": "other"}})


def test_nulls_and_the_order_of_keys_do_not_matter() -> None:
    other = {key: BASE[key] for key in reversed(BASE)} | {"quota": None}
    assert same_config(BASE, other)
    assert config_digest(BASE) == config_digest(other)
    assert config_digest(BASE) != config_digest(changed(rangeIndexColumns=["c"]))


@pytest.mark.parametrize(
    ("read", "is_whole"),
    [
        ({"starTreeIndexConfigs": [{**TREE, "maxLeafRecords": 10_000}]}, True),
        ({"starTreeIndexConfigs": [TREE], "loadMode": "HEAP"}, False),
        ({"starTreeIndexConfigs": [{**TREE, "dimensionsSplitOrder": ["b"]}]}, False),
        ({"starTreeIndexConfigs": [TREE, TREE]}, False),
        ({}, False),
    ],
)
def test_defaults_below_a_changed_key_are_pinots_own(read: dict[str, Any], is_whole: bool) -> None:
    target = changed(starTreeIndexConfigs=[TREE])
    assert is_as_written(changed(**read), target, key_changes(BASE, target)) is is_whole


def test_the_flag_of_star_trees_goes_after_the_trees() -> None:
    target = changed(starTreeIndexConfigs=[TREE], enableDynamicStarTreeCreation=True)
    changes = key_changes(BASE, target)
    first, second = steps_back(target, changes)
    assert first == (KeyChange(TREES, [TREE], None),)
    assert second == (KeyChange(FLAG, True, None),)


def test_a_flag_that_was_turned_off_meanwhile_is_turned_on_for_the_way_back() -> None:
    changes = key_changes(
        changed(enableDynamicStarTreeCreation=True),
        changed(starTreeIndexConfigs=[TREE], enableDynamicStarTreeCreation=True),
    )
    now = changed(starTreeIndexConfigs=[TREE], enableDynamicStarTreeCreation=False)
    first, second = steps_back(now, changes)
    config = with_changes(now, first)
    assert config["tableIndexConfig"]["enableDynamicStarTreeCreation"] is True
    assert "starTreeIndexConfigs" not in config["tableIndexConfig"]
    assert with_changes(config, second)["tableIndexConfig"]["enableDynamicStarTreeCreation"] is False


def test_a_diff_hides_secrets() -> None:
    base = BASE | {"ingestionConfig": {"password": "hunter2"}}
    diff = config_diff(base, changed(rangeIndexColumns=["c"]) | {"ingestionConfig": {"password": "hunter3"}})
    assert '+    "rangeIndexColumns": [' in diff
    assert "hunter" not in diff
