"""Star-trees in force: those of the config, as far as they are understood, and Pinot's own default tree."""

from __future__ import annotations

from typing import Any

from starskip.advisor.families.star_tree.recommend.trees_in_force import star_trees_in_force
from starskip.pinot.table_config import table_config
from starskip.tables.table_overview import ColumnOverview, TableOverview


def column(name: str, cardinality: float, column_type: str = "DIMENSION", **facts: Any) -> ColumnOverview:
    return ColumnOverview(name, cardinality=cardinality, column_type=column_type, **facts)


COLUMNS = (
    column("few", 3.0),
    column("many", 9_000.0),
    column("too_many", 20_000.0),
    column("several", 5.0, is_single_value=False),
    column("raw", 5.0, dictionary_ratio=0.0),
    column("day", 20_000.0, "DATE_TIME"),
    column("cost", 50_000.0, "METRIC", data_type="DOUBLE", dictionary_ratio=0.0),
    column("label", 7.0, "METRIC", data_type="BYTES"),
    column("$day$MONTH", 12.0, "DATE_TIME"),
)
OVERVIEW = TableOverview("t", 1, 60_000, {each.name: each for each in COLUMNS})


def in_force(**index_config: Any) -> list[dict[str, Any]]:
    config = table_config({"tableName": "t", "tableIndexConfig": index_config})
    return [tree.to_document() for tree in star_trees_in_force((config,), OVERVIEW)]


def test_the_default_tree_is_in_force() -> None:
    (tree,) = in_force(enableDefaultStarTree=True)
    assert tree["dimensionsSplitOrder"] == ["many", "few", "day"]
    assert tree["functionColumnPairs"] == ["COUNT__*", "SUM__cost"]
    assert in_force(enableDefaultStarTree=False) == in_force() == []


def test_it_comes_behind_the_trees_of_the_config() -> None:
    given = {"dimensionsSplitOrder": ["few"], "functionColumnPairs": ["COUNT__*"]}
    found = in_force(enableDefaultStarTree="true", starTreeIndexConfigs=[given])
    assert [tree["dimensionsSplitOrder"][0] for tree in found] == ["few", "many"]


def test_keys_and_pairs_that_are_not_known_are_left_out() -> None:
    given = {
        "dimensionsSplitOrder": ["few"],
        "functionColumnPairs": ["SUMPRECISION__cost", "SUM__cost"],
        "enableNullHandling": True,
    }
    (tree,) = in_force(starTreeIndexConfigs=[given])
    assert tree["functionColumnPairs"] == ["SUM__cost"]
    assert in_force(starTreeIndexConfigs=[given | {"functionColumnPairs": ["PERCENTILEKLL__cost"]}]) == []
