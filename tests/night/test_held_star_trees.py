"""Star-trees of the table config on the lake: those that queries ask for are kept beside new ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starskip.advisor.families.star_tree.build_star_trees import build_star_trees
from starskip.execution.local_engine import LocalEngine
from starskip.storage.manifest import Part

Config = Callable[..., dict[str, Any]]


UNKNOWN = {"documents": None, "size_bytes": None, "saving_ratio": None, "shapes": {}}


def advise(house: Any, chosen: Sequence[Mapping[str, Any]], held: Sequence[Mapping[str, Any]]) -> None:
    night = house.night
    properties = {"star_trees": [UNKNOWN | each for each in chosen], "star_trees_in_force": list(held)}
    night.publish("recommendations", {"sales": Part((), properties)})


def built(house: Any) -> list[tuple[list[str], str]]:
    build_star_trees(LocalEngine(), house.night)
    rows = house.rows("star_tree_builds")
    return [(json.loads(row["config"])["dimensionsSplitOrder"], row["outcome"]) for row in rows]


def test_a_tree_of_the_config_stands_before_a_new_one(tree_house: Any, star_tree_config: Config) -> None:
    held = {"config": star_tree_config("country"), "shapes": ["asked"]}
    advise(tree_house, [{"config": star_tree_config("day")}], [held])
    assert built(tree_house) == [(["country"], "built"), (["day"], "built")]


def test_a_tree_that_no_query_asks_for_is_left_to_pinot(tree_house: Any, star_tree_config: Config) -> None:
    idle = {"config": star_tree_config("country"), "shapes": []}
    advise(tree_house, [{"config": star_tree_config("day")}], [idle])
    assert built(tree_house) == [(["day"], "built")]


def test_advice_that_was_followed_keeps_what_it_built(tree_house: Any, star_tree_config: Config) -> None:
    tree = {"config": star_tree_config("day")}
    advise(tree_house, [tree], [])
    assert built(tree_house) == [(["day"], "built")]
    advise(tree_house, [], [tree | {"shapes": []}])
    assert built(tree_house) == [(["day"], "unchanged")]


def test_without_a_lake_table_both_are_told(tree_house: Any, star_tree_config: Config) -> None:
    tree_house.changes["lake_tables"] = {}
    held = {"config": star_tree_config("country"), "shapes": ["asked"]}
    advise(tree_house, [{"config": star_tree_config("day")}], [held])
    assert built(tree_house) == [(["country"], "not_built"), (["day"], "not_built")]
    details = [row["detail"] for row in tree_house.rows("star_tree_builds")]
    assert "the table config holds it" in details[0]
    assert "once the change is applied" in details[1]
