"""Faults planted on a real Pinot 0.11: each is found, and taken back, so that the config is equal as JSON."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from altering_proxy import Exchange
from changed_table import BAD_TREE, COUNTRY, TREE, TS, Table
from starskip.advisor.deployment.forecast import BYTES_A_SECOND
from starskip.errors import ConfigError, ForeignConfig, SourceError, SourceOutage, UnsettledCluster

pytestmark = pytest.mark.slow


def is_query(exchange: Exchange) -> bool:
    return exchange.method == "POST" and exchange.path.startswith("/query/sql")


def is_put(exchange: Exchange) -> bool:
    return exchange.method == "PUT" and exchange.path.startswith("/tables/")


def is_reload(exchange: Exchange) -> bool:
    return exchange.method == "POST" and exchange.path.split("?")[0].endswith("/reload")


def test_good_advice_is_kept_and_measured(table: Table, base: dict[str, Any]) -> None:
    outcome = table.apply(COUNTRY, TS, TREE)
    assert outcome.state == "applied", outcome.reason
    assert [each["verdict"] for each in outcome.verdicts] == ["kept"] * 3
    savings = {each["index"]: each["measured_saving_ratio"] for each in outcome.verdicts}
    assert all(saving > 0.05 for saving in savings.values()), savings
    assert all(
        held >= {"country:inverted-index", "ts:range-index", "tree"} for held in table.indexes().values()
    )
    assert table.events() == ["kept"] * 3
    again = table.apply(COUNTRY, TS, TREE)
    assert (again.state, again.before) == ("unchanged", again.after)


def test_a_tree_that_makes_a_shape_scan_more_is_taken_back(table: Table, base: dict[str, Any]) -> None:
    outcome = table.apply(COUNTRY, BAD_TREE)
    assert outcome.state == "reverted"
    assert "scans more" in outcome.reason
    assert [each["verdict"] for each in outcome.verdicts] == ["reverted"] * 2
    assert table.events() == ["refuted"] * 2
    table.require_as_before(base)


def test_trees_go_before_the_flag_that_lets_a_reload_remove_them(table: Table, base: dict[str, Any]) -> None:
    puts: list[dict[str, Any]] = []
    table.controller.before.append(lambda e: puts.append(e.body["tableIndexConfig"]) if is_put(e) else None)
    table.broker.after.append(_wrong_answers(table))
    assert table.apply(TREE).state == "reverted"
    assert [
        ("starTreeIndexConfigs" in each, bool(each.get("enableDynamicStarTreeCreation"))) for each in puts
    ] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    table.require_as_before(base)


def _wrong_answers(table: Table) -> Any:
    """Return an alteration of sums, from the moment on at which the config is put."""

    def alter(exchange: Exchange) -> None:
        is_on = any(words.startswith("putting") for words in table.said)
        back = any(words.startswith("taking it back") for words in table.said)
        rows = (exchange.answer.get("resultTable") or {}).get("rows") if is_query(exchange) else None
        if is_on and not back and rows and "SUM(price)" in exchange.body["sql"]:
            rows[0][-1] *= 1.01

    return alter


def test_a_wrong_answer_is_taken_back(table: Table, base: dict[str, Any]) -> None:
    table.broker.after.append(_wrong_answers(table))
    outcome = table.apply(TS)
    assert outcome.state == "reverted"
    assert "wrong answer" in outcome.reason
    assert table.events() == ["refuted"]
    table.require_as_before(base)


def test_a_shape_that_takes_longer_is_taken_back(table: Table, base: dict[str, Any]) -> None:
    def slower(exchange: Exchange) -> None:
        if is_query(exchange) and any(words.startswith("putting") for words in table.said):
            exchange.answer["timeUsedMs"] += 40

    table.broker.after.append(slower)
    outcome = table.apply(COUNTRY)
    assert outcome.state == "reverted"
    assert "slower" in outcome.reason
    assert "measuring once more: a shape seems to be slower" in table.said
    table.require_as_before(base)


@pytest.mark.parametrize(
    "answer",
    [
        {"numServersResponded": 0},
        {"partialResult": True},
        {"numGroupsLimitReached": True},
        {"exceptions": [{"errorCode": 200, "message": "QueryExecutionError"}]},
    ],
    ids=lambda answer: next(iter(answer)),
)
def test_answers_that_are_not_whole_are_taken_back(
    table: Table, base: dict[str, Any], answer: dict[str, Any]
) -> None:
    def partial(exchange: Exchange) -> None:
        if is_query(exchange) and any(words.startswith("putting") for words in table.said):
            exchange.answer |= answer

    table.broker.after.append(partial)
    outcome = table.apply(COUNTRY)
    assert outcome.state == "reverted"
    assert "answer not whole" in outcome.reason
    table.require_as_before(base)


def test_a_reload_that_never_ends_is_taken_back(table: Table, base: dict[str, Any]) -> None:
    def swallow(exchange: Exchange) -> None:
        if is_reload(exchange) and not any(words.startswith("taking it back") for words in table.said):
            exchange.is_forwarded, exchange.status = False, 200
            exchange.answer = {"status": "Submitted reload job id: none, sent 1 reload messages"}

    table.controller.before.append(swallow)
    outcome = table.apply(COUNTRY)
    assert outcome.state == "reverted"
    assert "no progress" in outcome.reason
    assert table.events() == ["taken_back"]
    table.require_as_before(base)


def test_a_cluster_that_cannot_be_brought_back_says_what_to_do(table: Table, base: dict[str, Any]) -> None:
    table.broker.after.append(_wrong_answers(table))

    def swallow(exchange: Exchange) -> None:
        if is_reload(exchange) and any(words.startswith("taking it back") for words in table.said):
            exchange.is_forwarded, exchange.status, exchange.answer = False, 200, {"status": "{}"}

    table.controller.before.append(swallow)
    with pytest.raises(UnsettledCluster, match="its old config is back, but the reload makes no progress"):
        table.apply(TS)
    table.controller.clear()
    assert table.apply(TS).state == "reverted"
    table.require_as_before(base)


def test_bad_segments_are_found_reset_and_taken_back(table: Table, base: dict[str, Any]) -> None:
    resets: list[str] = []

    def bad(exchange: Exchange) -> None:
        if exchange.path.endswith("/reset"):
            resets.append(exchange.path)
        is_reloaded = any(words.startswith("canary") for words in table.said)
        if "externalview" in exchange.path and is_reloaded and not resets:
            segments = exchange.answer["OFFLINE"]
            segments[max(segments)] = dict.fromkeys(segments[max(segments)], "ERROR")

    table.controller.after.append(bad)
    outcome = table.apply(COUNTRY)
    assert outcome.state == "reverted"
    assert "segments went bad: events_" in outcome.reason
    assert len(resets) == 1
    table.require_as_before(base)


def test_a_damaged_segment_is_named_and_the_rest_is_taken_back(table: Table, base: dict[str, Any]) -> None:
    server = table.pinot.processes["server"].folder / "data" / "events_OFFLINE"
    damaged = (
        max(each for each in server.iterdir() if each.name.startswith("events_"))
        / "v3"
        / "metadata.properties"
    )
    content = damaged.read_bytes()
    try:
        damaged.write_bytes(b"segment.name = damaged\n")
        outcome = table.apply(COUNTRY)
        assert outcome.state == "reverted"
        assert damaged.parent.parent.name in outcome.reason
    finally:
        damaged.write_bytes(content)
    table.require_as_before(base)


def test_keys_that_pinot_does_not_know_are_refused_before_anything_is_written(
    table: Table, base: dict[str, Any]
) -> None:
    def unknown(exchange: Exchange) -> None:
        if exchange.path.startswith("/tables/validate"):
            exchange.answer["unrecognizedProperties"] = {"/tableIndexConfig/rangeIndexColumns": ["ts"]}

    table.controller.after.append(unknown)
    with pytest.raises(ConfigError, match="does not know /tableIndexConfig/rangeIndexColumns"):
        table.apply(TS)
    assert table.state() == ""
    table.require_as_before(base)


def test_keys_that_a_put_drops_are_taken_back(table: Table, base: dict[str, Any]) -> None:
    def unknown(exchange: Exchange) -> None:
        if is_put(exchange) and not any(words.startswith("taking it back") for words in table.said):
            exchange.answer["unrecognizedProperties"] = {"/tableIndexConfig/rangeIndexColumns": ["ts"]}

    table.controller.after.append(unknown)
    assert "dropped keys" in table.apply(TS).reason
    table.require_as_before(base)


def test_keys_that_go_missing_in_silence_are_taken_back(table: Table, base: dict[str, Any]) -> None:
    def lose(exchange: Exchange) -> None:
        if is_put(exchange):
            exchange.body["tableIndexConfig"].pop("rangeIndexColumns", None)

    table.controller.before.append(lose)
    outcome = table.apply(COUNTRY, TS)
    assert outcome.state == "reverted"
    assert "dropped keys" in outcome.reason
    table.require_as_before(base)


def test_a_put_whose_answer_is_lost_is_read_again(table: Table, base: dict[str, Any]) -> None:
    def cut(exchange: Exchange) -> None:
        exchange.is_cut = is_put(exchange)

    table.controller.after.append(cut)
    assert table.apply(COUNTRY).state == "applied"


def test_a_put_that_never_arrived_is_told_and_can_be_tried_again(table: Table, base: dict[str, Any]) -> None:
    def lose(exchange: Exchange) -> None:
        if is_put(exchange):
            exchange.is_forwarded, exchange.is_cut = False, True

    table.controller.before.append(lose)
    with pytest.raises(SourceOutage, match="did not take the config"):
        table.apply(COUNTRY)
    table.require_as_before(base)
    table.controller.clear()
    assert table.apply(COUNTRY).state == "applied"


def test_a_config_that_changed_before_the_put_is_not_overwritten(table: Table, base: dict[str, Any]) -> None:
    table.at["putting"] = lambda: table.put(tableIndexConfig={"rangeIndexColumns": ["id"]})
    with pytest.raises(ForeignConfig, match=r"changed by someone else meanwhile.*nothing was written"):
        table.apply(COUNTRY)
    assert table.config()["tableIndexConfig"]["rangeIndexColumns"] == ["id"]
    assert table.config()["tableIndexConfig"]["invertedIndexColumns"] == ["device"]
    assert table.state() == "superseded"


@pytest.mark.parametrize("moment", ["canary", "reloading all", "queries with the new"])
def test_a_config_that_changes_meanwhile_stops_and_the_next_run_goes_back(
    table: Table, base: dict[str, Any], moment: str
) -> None:
    table.at[moment] = lambda: table.put(quota={"storage": "5G"})
    with pytest.raises(ForeignConfig, match="state: stopped"):
        table.apply(COUNTRY)
    assert table.config()["quota"]["storage"] == "5G"
    assert table.state() == "stopped"
    outcome = table.apply(COUNTRY)
    assert outcome.state == "reverted"
    assert table.config()["quota"]["storage"] == "5G"
    table.put(quota=None)
    table.require_as_before(base)


def test_keys_that_somebody_else_changed_are_never_put_back(table: Table, base: dict[str, Any]) -> None:
    table.at["canary"] = lambda: table.put(tableIndexConfig={"invertedIndexColumns": ["city"]})
    with pytest.raises(ForeignConfig):
        table.apply(COUNTRY)
    with pytest.raises(ForeignConfig, match="neither ours nor those from before"):
        table.apply(COUNTRY)
    assert table.config()["tableIndexConfig"]["invertedIndexColumns"] == ["city"]
    assert table.state() == "superseded"


def test_a_write_at_the_very_moment_of_the_put_is_seen(table: Table, base: dict[str, Any]) -> None:
    def race(exchange: Exchange) -> None:
        if is_put(exchange):
            table.put(quota={"storage": "7G"})

    table.controller.before.append(race)
    with pytest.raises(ForeignConfig, match="at the same moment"):
        table.apply(COUNTRY)
    assert table.state() == "stopped"


def test_a_broker_that_is_down_before_the_put_changes_nothing(table: Table, base: dict[str, Any]) -> None:
    table.broker.after.append(_cut)
    with pytest.raises(SourceOutage):
        table.apply(COUNTRY)
    assert table.state() == ""
    table.require_as_before(base)


def _cut(exchange: Exchange) -> None:
    exchange.is_cut = True


def test_a_broker_that_dies_is_waited_for_and_then_all_is_taken_back(
    table: Table, base: dict[str, Any]
) -> None:
    broker = table.pinot.processes["broker"]
    table.at["reloading all"] = broker.kill
    try:
        outcome = table.apply(COUNTRY)
        assert outcome.state == "reverted"
        assert "could not be measured" in outcome.reason
        assert any(words.startswith("waiting") for words in table.said)
        assert table.events() == ["taken_back"]
        table.require_as_before(base)
    finally:
        broker.start()
        broker.wait()
        _wait_for_broker(table)


def _wait_for_broker(table: Table) -> None:
    table.pinot.wait_for_rows("events", 20_000)


def test_a_config_that_pinot_refuses_is_not_put(table: Table, base: dict[str, Any]) -> None:
    unknown = replace(
        COUNTRY, columns=("none",), config={"tableIndexConfig": {"invertedIndexColumns": ["none"]}}
    )
    with pytest.raises(SourceError, match="none"):
        table.apply(unknown)
    assert table.state() == ""
    table.require_as_before(base)


def test_a_reload_beyond_the_bound_is_not_started(table: Table, base: dict[str, Any]) -> None:
    table.settings = replace(table.settings, max_minutes=1 / BYTES_A_SECOND)
    with pytest.raises(ConfigError, match="a reload cannot be aborted"):
        table.apply(COUNTRY)
    assert table.state() == ""
    table.require_as_before(base)


def test_a_table_whose_process_lives_elsewhere_is_left_alone(table: Table, base: dict[str, Any]) -> None:
    from starskip.advisor.deployment.journal import Journal
    from starskip.errors import TableTaken

    table.at["canary"] = _stop
    with pytest.raises(_Stopped):
        table.apply(COUNTRY)
    journal = Journal(table.store, "test")
    left = journal.newest("events_OFFLINE")
    assert left is not None
    taken = journal.write(left)
    with pytest.raises(TableTaken, match="another process applies advice"):
        journal.write(left)
    assert taken.step == left.step + 1
    elsewhere = replace(taken, host="elsewhere")
    with pytest.raises(TableTaken, match="wait for its end"):
        journal.take_over(elsewhere)
    assert table.apply(COUNTRY).state == "applied"


class _Stopped(Exception):
    pass


def _stop() -> None:
    raise _Stopped


def test_own_queries_are_marked_and_bounded(table: Table, base: dict[str, Any]) -> None:
    asked: list[tuple[float, str]] = []
    table.broker.before.append(
        lambda e: asked.append((time.monotonic(), e.body["sql"])) if is_query(e) else None
    )
    table.settings = replace(table.settings, queries_per_second=50)
    assert table.apply(COUNTRY).state == "applied"
    assert all("/* starskip: replay */ SELECT" in sql for _, sql in asked)
    assert len(asked) / (asked[-1][0] - asked[0][0]) <= 51
