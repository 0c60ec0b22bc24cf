"""The plan of a change: only the keys of the advice, on top of the config that the cluster has now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.deployment.advised_change import change_of_file
from starskip.advisor.deployment.forecast import TableSize, forecast_of, require_within
from starskip.advisor.deployment.plan import config_of, plan_of
from starskip.advisor.ledger.advised_index import AdvisedChange, AdvisedIndex
from starskip.errors import ConfigError, MissingSource, SourceError
from starskip.pinot.config_change import with_changes
from starskip.settings.night_groups import DeploymentSettings

OLD = (0, 11)
TREE = {"dimensionsSplitOrder": ["country", "device"], "functionColumnPairs": ["COUNT__*"]}
CONFIG: dict[str, Any] = {
    "tableName": "events_OFFLINE",
    "tableType": "OFFLINE",
    "quota": {"storage": "1G"},
    "tableIndexConfig": {"loadMode": "MMAP", "invertedIndexColumns": ["country", "idle"]},
    "fieldConfigList": [{"name": "url", "indexes": {"inverted": {"disabled": True}}}],
}


def inverted(column: str, *, is_drop: bool = False) -> AdvisedIndex:
    config = {"tableIndexConfig": {"invertedIndexColumns": [column]}}
    return AdvisedIndex("inverted", (column,), config, 0.3, None, 1_000_000, is_drop=is_drop)


def tree() -> AdvisedIndex:
    config = {"tableIndexConfig": {"starTreeIndexConfigs": [TREE]}}
    return AdvisedIndex("star_tree", ("country", "device"), config, 0.2, None, 500_000)


def advice(*indexes: AdvisedIndex) -> AdvisedChange:
    return AdvisedChange("events", "2026-11-18", indexes)


def test_only_the_advised_keys_change() -> None:
    plan = plan_of(advice(inverted("city"), inverted("idle", is_drop=True), tree()), CONFIG, OLD)
    assert [each.name for each in plan.changes] == [
        "tableIndexConfig.invertedIndexColumns",
        "tableIndexConfig.starTreeIndexConfigs",
        "tableIndexConfig.enableDynamicStarTreeCreation",
    ]
    assert plan.target["tableIndexConfig"]["invertedIndexColumns"] == ["country", "city"]
    assert plan.target["quota"] == CONFIG["quota"]
    assert plan.table == "events_OFFLINE"
    assert plan.before != plan.after
    assert '+      "city"' in plan.diff
    assert '-      "idle"' in plan.diff


def test_the_form_that_the_table_has_is_kept() -> None:
    plan = plan_of(advice(inverted("url")), CONFIG, (1, 5))
    assert [each.name for each in plan.changes] == ["fieldConfigList"]
    assert plan.target["fieldConfigList"] == [{"name": "url", "indexes": {"inverted": {}}}]


def test_advice_that_is_in_force_or_that_a_reload_does_not_build_is_left_out_and_told() -> None:
    in_order = AdvisedIndex("sorted", ("city",), {"tableIndexConfig": {"sortedColumn": ["city"]}}, 0.1)
    of_files = AdvisedIndex("skipping", ("city",), {}, 0.1)
    gone = inverted("gone", is_drop=True)
    plan = plan_of(advice(inverted("country"), in_order, of_files, gone), CONFIG, OLD)
    assert plan.changes == ()
    assert plan.diff == ""
    assert plan.notes == (
        "inverted:country: is in force already",
        "sorted:city: a reload does not sort segments: only new segments would follow it",
        "without_inverted:gone: is not in force",
    )


def test_a_key_that_a_tier_has_of_its_own_is_not_changed() -> None:
    def with_tier(key: str) -> dict[str, Any]:
        held = {**CONFIG["tableIndexConfig"], "tierOverwrites": {"hot": None, "cold": {key: []}}}
        return {**CONFIG, "tableIndexConfig": held}

    with pytest.raises(ConfigError, match="tier cold has invertedIndexColumns of its own"):
        plan_of(advice(inverted("city")), with_tier("invertedIndexColumns"), (1, 5))
    other = with_tier("rangeIndexColumns")
    plan = plan_of(advice(inverted("city")), other, (1, 5))
    assert [each.name for each in plan.changes] == ["tableIndexConfig.invertedIndexColumns"]
    assert plan.target["tableIndexConfig"]["tierOverwrites"] == other["tableIndexConfig"]["tierOverwrites"]


def test_a_star_tree_that_is_there_is_left_out() -> None:
    first = plan_of(advice(tree()), CONFIG, OLD)
    again = plan_of(advice(tree()), first.target, OLD)
    assert again.changes == ()
    assert again.notes == ("star_tree:country,device: is in force already",)


def test_a_plan_without_a_drop_is_made_anew() -> None:
    plan = plan_of(advice(inverted("city"), inverted("idle", is_drop=True)), CONFIG, OLD)
    left = plan.without(["without_inverted:idle"], "idle is used")
    assert left.target["tableIndexConfig"]["invertedIndexColumns"] == ["country", "idle", "city"]
    assert left.notes == ("idle is used",)


@pytest.mark.parametrize(
    ("keys", "release", "realtime", "words"),
    [
        ({"tableName": "events_REALTIME", "tableType": "REALTIME"}, (1, 5), False, "--realtime"),
        ({"tableName": "events_REALTIME", "tableType": "REALTIME"}, (1, 2), True, "1.3 or later"),
        ({"ingestionConfig": {"secretKey": "x"}}, (1, 2), False, "ingestionConfig.secretKey looks like"),
        ({"task": {"taskTypeConfigsMap": {"RefreshSegmentTask": {}}}}, (1, 5), False, "no canary"),
    ],
)
def test_a_config_that_must_not_be_written_is_refused(
    keys: dict[str, Any], release: tuple[int, ...], realtime: bool, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        plan_of(advice(inverted("city")), CONFIG | keys, release, allow_realtime=realtime)


def test_what_is_refused_for_one_release_is_written_for_another() -> None:
    keys = {"tableName": "events_REALTIME", "tableType": "REALTIME", "ingestionConfig": {"secretKey": "x"}}
    assert plan_of(advice(inverted("city")), CONFIG | keys, (1, 3), allow_realtime=True).changes


def test_a_name_without_a_type_means_the_only_half() -> None:
    both = {"OFFLINE": CONFIG, "REALTIME": CONFIG}
    assert config_of("events_REALTIME", both) is CONFIG
    assert config_of("events", {"REALTIME": CONFIG}) is CONFIG
    with pytest.raises(ConfigError, match="events_OFFLINE or events_REALTIME"):
        config_of("events", both)
    with pytest.raises(MissingSource, match="no OFFLINE config of table events"):
        config_of("events_OFFLINE", {"REALTIME": CONFIG})


def test_a_table_config_is_rebased_onto_the_present_one(tmp_path: Path) -> None:
    wanted = {
        **CONFIG,
        "quota": {"storage": "9T"},
        "tableIndexConfig": {
            "invertedIndexColumns": ["country", "city"],
            "rangeIndexColumns": ["ts"],
            "starTreeIndexConfigs": [TREE],
        },
    }
    file = tmp_path / "events.json"
    file.write_text(json.dumps({"OFFLINE": wanted}))
    change = change_of_file(str(file), "events", CONFIG)
    assert sorted(each.name for each in change.indexes) == [
        "inverted:city",
        "range:ts",
        "star_tree:country,device",
        "without_inverted:idle",
    ]
    plan = plan_of(change, CONFIG, OLD)
    assert plan.target["quota"] == CONFIG["quota"]
    assert plan.target["tableIndexConfig"]["loadMode"] == "MMAP"
    assert plan.target["tableIndexConfig"]["starTreeIndexConfigs"] == [TREE]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is no JSON"),
        ("[]", "no recommendation and no table config"),
        ('{"tables": {"other": {}}}', "no advice on table events"),
        ('{"tables": {"events": {"indexes": [{}]}}}', "is damaged"),
        ('{"change": {}}', "is a report"),
        ('{"tableName": "other_OFFLINE"}', "has no OFFLINE config of table events"),
    ],
)
def test_a_file_of_another_kind_is_one_line(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "advice.json"
    file.write_text(content)
    with pytest.raises((SourceError, ConfigError), match=words):
        change_of_file(str(file), "events", CONFIG)


TWO_REPLICAS = TableSize(4, 30_000_000, {"a": (4, 100_000_000), "b": (4, 100_000_000)})


def test_a_forecast_counts_replicas_and_the_slowest_server() -> None:
    plan = plan_of(advice(inverted("city"), tree(), inverted("idle", is_drop=True)), CONFIG, OLD)
    forecast = forecast_of(plan, TWO_REPLICAS, rate=1_000_000)
    assert forecast.bytes == 2 * (1_000_000 + 500_000 - 1_000_000)
    assert forecast.minutes == pytest.approx(100 / 60)
    assert forecast.is_rate_measured
    assert forecast.room_bytes > TWO_REPLICAS.largest_bytes
    assert forecast_of(plan, TWO_REPLICAS, rate=500_000).minutes == pytest.approx(200 / 60)


def test_nothing_is_forecast_of_a_plan_that_changes_nothing() -> None:
    held = with_changes(CONFIG, plan_of(advice(inverted("city")), CONFIG, OLD).changes)
    plan = plan_of(advice(inverted("city")), held, OLD)
    assert plan.changes == ()
    assert forecast_of(plan, TWO_REPLICAS).to_json() == {"bytes": 0, "minutes": 0.0}


def test_an_index_of_unknown_size_counts_as_the_whole_table() -> None:
    unknown = AdvisedIndex("inverted", ("city",), inverted("city").config)
    forecast = forecast_of(plan_of(advice(unknown), CONFIG, OLD), TWO_REPLICAS)
    assert forecast.bytes == TWO_REPLICAS.stored_bytes
    assert forecast.guessed == ("inverted:city",)
    assert "inverted:city" in forecast.words


def test_a_change_beyond_a_bound_is_refused() -> None:
    plan = plan_of(advice(inverted("city")), CONFIG, OLD)
    forecast = forecast_of(plan, TWO_REPLICAS, rate=100_000)
    with pytest.raises(ConfigError, match="--max-minutes 17"):
        require_within(forecast, DeploymentSettings(max_minutes=10), "events")
    with pytest.raises(ConfigError, match="2 MB over all replicas"):
        require_within(forecast, DeploymentSettings(max_bytes=1_000), "events")
    with pytest.raises(ConfigError, match=r"a server is forecast to need 31\.2 MB of room"):
        require_within(forecast, DeploymentSettings(max_bytes=10_000_000), "events")
    require_within(forecast, DeploymentSettings(), "events")
