"""``starskip what-if``: sets of indexes beside what tune says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]

SAMPLE = Path(__file__).parents[2] / "include" / "sample"
LOG = str(SAMPLE / "logs" / "broker-2026-11-18.log.gz")
GIVEN = ("--log", LOG, "--tables", "lineitem")
SETS = ("none", "l_suppkey", "l_suppkey,l_shipmode", "range:l_shipdate", "sorted:l_suppkey", "l_comment")


@pytest.fixture
def what_if(call: Call, deep_store: Path) -> Callable[..., Any]:
    def run(*sets: str, more: tuple[str, ...] = ()) -> Any:
        named = [word for each in sets for word in ("--set", each)]
        return call("what-if", *GIVEN, "--segments", deep_store, *named, *more, "--format", "json")

    return run


def test_a_set_saves_what_tune_says_that_it_saves(
    what_if: Callable[..., Any], call: Call, deep_store: Path
) -> None:
    result = what_if(*SETS)
    assert result.exit_code == 0, result.stderr
    (document,) = json.loads(result.stdout)["tables"].values()
    found = {each["set"]: each for each in document["sets"]}
    assert list(found) == list(SETS)
    assert document["latency"]["trusted"] is True
    assert document["latency"]["model"] in document["latency"]["candidates"]
    assert document["latency"]["ms_per_query"] == pytest.approx(6.26, abs=0.01)
    nothing = found["none"]
    assert (nothing["saving_ratio"], nothing["saving_ms_per_query"], nothing["size_bytes"]) == (0, 0, 0)
    for each in found.values():
        low, high = each["interval_ms"]
        assert low <= each["saving_ms_per_query"] <= high <= document["latency"]["ms_per_query"]
        assert each["interval"][0] <= each["saving_ratio"] <= each["interval"][1]
    options = ("--index", "inverted", "--max-indexes", "2", "--min-gain", "0", "--format", "json")
    told = call("tune", *GIVEN, "--segments", deep_store, *options)
    (advice,) = json.loads(told.stdout)["tables"].values()
    asked = found[",".join(advice["inverted_index_columns"])]
    assert asked["saving_ratio"] == pytest.approx(advice["predicted_saving_ratio"])
    assert asked["saving_ms_per_query"] == pytest.approx(advice["predicted_saving_ms"])
    assert asked["size_bytes"] == sum(
        advice["size_bytes"][f"inverted:{column}"] for column in advice["inverted_index_columns"]
    )


def test_a_set_that_is_in_force_saves_nothing_more(what_if: Callable[..., Any], tmp_path: Path) -> None:
    config = tmp_path / "lineitem.json"
    index = {"invertedIndexColumns": ["l_suppkey"]}
    config.write_text(json.dumps({"tableName": "lineitem", "tableIndexConfig": index}))
    result = what_if("l_suppkey", "l_shipmode", more=("--table-config", str(config)))
    (document,) = json.loads(result.stdout)["tables"].values()
    (held, other) = document["sets"]
    assert held["saving_ratio"] == held["saving_ms_per_query"] == 0
    assert other["saving_ratio"] > 0


@pytest.mark.parametrize(
    ("sets", "exit_code", "words"),
    [
        (("l_suppkay",), 3, "no column l_suppkay: the tables have l_comment"),
        (("sorted:l_suppkey,l_shipmode",), 2, "a sort order stands alone"),
        (("btree:l_suppkey",), 2, "btree:l_suppkey: a column, or one behind inverted:, "),
        ((",",), 2, "names no column; none stands for no change"),
    ],
)
def test_a_wrong_set_is_named(
    what_if: Callable[..., Any], sets: tuple[str, ...], exit_code: int, words: str
) -> None:
    result = what_if(*sets)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert words in result.stderr


def test_it_reads_as_text(call: Call, deep_store: Path) -> None:
    told = call("what-if", *GIVEN, "--segments", deep_store, "--set", "l_suppkey").stdout
    assert told.startswith("lineitem: a query takes 6.26 ms\n  l_suppkey: 42.8 % of the entries in filters (")
    assert " ms a query (" in told
