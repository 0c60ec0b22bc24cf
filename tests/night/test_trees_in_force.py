"""A night whose advice was followed: star-trees of the table config are in force, and stay in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starskip.pinot.given_config import HIDDEN
from starskip.reports.evidence_json import evidence_from_json
from starskip.reports.report_summary import report_summary

pytestmark = pytest.mark.slow

GIVEN: dict[str, Any] = {
    "tableName": "lineitem_OFFLINE",
    "tableIndexConfig": {"streamConfigs": {"stream.kafka.password": "hunter2"}, "loadMode": "MMAP"},
}


@pytest.fixture(scope="module")
def nights(
    tmp_path_factory: pytest.TempPathFactory, small_store: Path, make_lab: Callable[..., Any], with_trees: Any
) -> list[Mapping[str, Any]]:
    """Reports of lineitem: as advised first, then with the star-trees of that advice in the config."""
    root = tmp_path_factory.mktemp("followed") / "lab"
    shutil.copytree(small_store, root)
    lab = make_lab(root, with_trees)
    config = lab.root / "lineitem.json"
    night = lab.night(tables=frozenset(["lineitem"]), table_config_paths=[str(config)])
    config.write_text(json.dumps(GIVEN))
    lab.run(night)
    first = lab.report("lineitem")
    trees = first["change"]["config"]["tableIndexConfig"]["starTreeIndexConfigs"]
    config.write_text(
        json.dumps(GIVEN | {"tableIndexConfig": GIVEN["tableIndexConfig"] | {"starTreeIndexConfigs": trees}})
    )
    lab.run(replace(night, run_id="again"))
    return [first, lab.report("lineitem")]


def test_new_star_trees_are_part_of_the_change(nights: list[Any]) -> None:
    first = nights[0]
    index_config = first["change"]["config"]["tableIndexConfig"]
    assert index_config["starTreeIndexConfigs"]
    assert index_config["loadMode"] == "MMAP"
    added = [each for each in first["change"]["add"] if each["kind"] == "star_tree"]
    assert len(added) == len(index_config["starTreeIndexConfigs"])
    change = first["change"]["keys"]["starTreeIndexConfigs"]
    assert change["current"] == []
    assert len(change["proposed"]) == len(added)


def test_the_shapes_that_a_tree_answers_gain(nights: list[Any]) -> None:
    first = nights[0]
    answered = {shape["shape_id"] for tree in first["star_trees"]["chosen"] for shape in tree["shapes"]}
    shown = [shape for shape in first["shapes"]["top"] if shape["shape_id"] in answered]
    assert shown
    for shape in shown:
        assert shape["predicted_saving_ratio"] > 0, shape
        assert shape["columns"][0].startswith("star-tree ")


def test_secrets_are_hidden_and_named(nights: list[Any]) -> None:
    for each in nights:
        change = each["change"]
        assert change["config"]["tableIndexConfig"]["streamConfigs"] == {"stream.kafka.password": HIDDEN}
        assert change["hidden_keys"] == ["tableIndexConfig.streamConfigs.stream.kafka.password"]
        assert "hunter2" not in json.dumps(each)


def test_followed_advice_is_in_force_and_nothing_of_it_is_lost(nights: list[Any]) -> None:
    first, second = nights
    held = first["change"]["config"]["tableIndexConfig"]["starTreeIndexConfigs"]
    assert second["change"]["star_trees"] == held
    proposed = second["change"]["config"]["tableIndexConfig"]["starTreeIndexConfigs"]
    assert proposed[: len(held)] == held
    in_force = [tree for tree in second["star_trees"]["chosen"] if tree["is_in_force"]]
    assert [tree["dimensions"] for tree in in_force] == [tree["dimensionsSplitOrder"] for tree in held]
    answered = {shape["shape_id"] for tree in first["star_trees"]["chosen"] for shape in tree["shapes"]}
    assert {shape["shape_id"] for tree in in_force for shape in tree["shapes"]} >= answered
    new = {s["shape_id"] for t in second["star_trees"]["chosen"] if not t["is_in_force"] for s in t["shapes"]}
    assert not new & answered


def test_the_lists_tell_the_trees_apart(nights: list[Any]) -> None:
    sets = [report_summary(evidence_from_json(json.dumps(each), "report")).chosen for each in nights]
    trees = [[each for each in of_night if each.kind == "star_tree"] for of_night in sets]
    assert trees[0]
    assert trees[0] != trees[1]
