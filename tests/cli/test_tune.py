from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Tune = Callable[..., dict[str, Any]]
Call = Callable[..., Any]

LOG = str(Path(__file__).parents[2] / "include" / "sample" / "logs" / "broker-2026-11-18.log.gz")
AIRLINE = ("--log", LOG, "--tables", "airlineStats")
LINEITEM = ("--log", LOG, "--tables", "lineitem")
INVERTED = ("--index", "inverted")
KEYS = [
    "inverted_index_columns",
    "sorted_column",
    "predicted_saving_ratio",
    "predicted_interval",
    "queries",
    "unparsed",
    "refused",
    "drops",
    "size_bytes",
    "indexes",
    "combined",
    "unit",
    "latency",
    "predicted_saving_ms",
    "predicted_interval_ms",
]


def assert_shape(advice: dict[str, Any], index_kind: str) -> None:
    assert list(advice) == KEYS
    columns = advice["inverted_index_columns"]
    assert all(isinstance(name, str) for name in columns)
    assert len(set(columns)) == len(columns)
    if index_kind == "inverted":
        assert advice["sorted_column"] is None
    else:
        assert columns == []
        assert advice["sorted_column"] is None or isinstance(advice["sorted_column"], str)
    low, high = advice["predicted_interval"]
    assert isinstance(advice["predicted_saving_ratio"], float)
    assert low <= advice["predicted_saving_ratio"] <= high <= 1
    assert type(advice["queries"]) is type(advice["unparsed"]) is int
    assert 0 <= advice["unparsed"] <= advice["queries"]
    for refused in advice["refused"]:
        assert list(refused) == ["columns", "reason", "detail"]
        assert all(isinstance(name, str) for name in refused["columns"])
        assert refused["reason"].isidentifier()
        assert refused["detail"]
        assert not set(refused["columns"]) & {*columns, advice["sorted_column"]}
    assert isinstance(advice["drops"], list)
    together = advice["combined"]
    assert sum(together["parts"].values()) == pytest.approx(together["saving_ratio"])
    left = together["entries_after"] / max(together["entries_before"], 1)
    assert together["saving_ratio"] == pytest.approx(1 - left if together["parts"] else 0.0, abs=1e-6)
    assert together["interval"][0] <= together["saving_ratio"] <= together["interval"][1] <= 1
    low_ms, high_ms = advice["predicted_interval_ms"]
    assert low_ms <= advice["predicted_saving_ms"] <= high_ms <= advice["latency"]["ms_per_query"]
    by_index_ms = sum(each["saving_ms"] for each in advice["indexes"])
    assert by_index_ms == pytest.approx(advice["predicted_saving_ms"], abs=1e-9)
    assert advice["unit"] in ("ms", "entries")
    assert advice["latency"]["trusted"] is (advice["latency"]["r2"] >= 0.7)


@pytest.mark.parametrize("index_kind", ["inverted", "sorted"])
def test_the_document_is_what_the_interface_says(index_kind: str, tune: Tune) -> None:
    tables = tune("--log", LOG, "--index", index_kind)
    assert list(tables) == ["airlineStats", "lineitem"], "tables left out: all in the log"
    for advice in tables.values():
        assert_shape(advice, index_kind)
    assert (tables["airlineStats"]["queries"], tables["lineitem"]["queries"]) == (586, 900)


@pytest.mark.parametrize("strategy", ["leapfrog", "frequency", "parser"])
def test_each_strategy(strategy: str, tune: Tune) -> None:
    (advice,) = tune(*LINEITEM, *INVERTED, "--strategy", strategy, "--max-indexes", "3").values()
    assert_shape(advice, "inverted")
    assert advice["inverted_index_columns"][0] == "l_suppkey"
    if strategy == "leapfrog":
        assert advice == tune(*LINEITEM, *INVERTED, "--max-indexes", "3")["lineitem"], "the default"


def test_a_table_alone_is_advised_as_it_is_among_others(tune: Tune) -> None:
    assert tune(*AIRLINE, *INVERTED)["airlineStats"] == tune("--log", LOG, *INVERTED)["airlineStats"]


def test_min_gain_of_zero_uses_up_k(tune: Tune) -> None:
    (advice,) = tune(*AIRLINE, *INVERTED, "--max-indexes", "12", "--min-gain", "0").values()
    assert len(advice["inverted_index_columns"]) == 12
    assert_shape(advice, "inverted")


def test_a_gain_that_no_index_reaches(tune: Tune) -> None:
    (advice,) = tune(*AIRLINE, *INVERTED, "--min-gain", "0.99").values()
    assert advice["inverted_index_columns"] == []
    assert (advice["predicted_saving_ratio"], advice["predicted_interval"]) == (0.0, [0.0, 0.0])
    assert "below_min_gain" in {refused["reason"] for refused in advice["refused"]}


@pytest.mark.slow
def test_several_logs_behind_one_option_add_up(tune: Tune) -> None:
    other = LOG.replace("-18", "-19")
    (advice,) = tune(
        "--log", LOG, other, "--tables", "airlineStats", *INVERTED, "--max-indexes", "1"
    ).values()
    assert advice["queries"] == 586 + 560
    (twice,) = tune(
        "--log", LOG, "--log", other, "--tables", "airlineStats", *INVERTED, "--max-indexes", "1"
    ).values()
    assert twice == advice


def test_an_index_in_force_is_not_proposed_and_an_unused_one_is_dropped(tune: Tune, tmp_path: Path) -> None:
    plain = tune(*AIRLINE, *INVERTED)["airlineStats"]["inverted_index_columns"]
    config = {
        "tableName": "airlineStats_OFFLINE",
        "tableType": "OFFLINE",
        "tableIndexConfig": {"invertedIndexColumns": [plain[0], "Flights"]},
    }
    (tmp_path / "table.json").write_text(json.dumps(config))
    (advice,) = tune(*AIRLINE, *INVERTED, "--table-config", str(tmp_path / "table.json")).values()
    assert plain[0] not in advice["inverted_index_columns"]
    assert [plain[0]] in [r["columns"] for r in advice["refused"] if r["reason"] == "already_indexed"]
    assert [drop["columns"] for drop in advice["drops"]] == [["Flights"]]


@pytest.mark.slow
def test_a_sorted_column_is_chosen(tune: Tune) -> None:
    (advice,) = tune(*LINEITEM, "--index", "sorted").values()
    assert advice["sorted_column"] == "l_suppkey"
    assert ["l_orderkey"] in [r["columns"] for r in advice["refused"] if r["reason"] == "already_sorted"]


@pytest.fixture
def write_log(tmp_path: Path) -> Callable[..., str]:
    def write(*lines: str) -> str:
        path = tmp_path / f"made-{len(list(tmp_path.iterdir()))}.log"
        path.write_text("".join(lines), encoding="utf-8")
        return str(path)

    return write


def test_what_the_present_sorted_column_saves_is_a_loss_of_any_other_order(
    tune: Tune, write_log: Callable[..., str], line: Call
) -> None:
    query = "SELECT COUNT(*) FROM lineitem WHERE l_orderkey BETWEEN {} AND {} AND l_shipmode = 'AIR'"
    served = [line(query.format(32 * n, 32 * n + 900), 900) for n in range(1, 200)]
    wish = line("SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 5", 74_953)
    (alone,) = tune("--log", write_log(wish), "--index", "sorted").values()
    assert alone["sorted_column"] == "l_suppkey"
    (advice,) = tune("--log", write_log(wish, *served), "--index", "sorted", "--min-gain", "0.01").values()
    assert advice["sorted_column"] is None
    assert {r["reason"] for r in advice["refused"] if r["columns"] == ["l_suppkey"]} == {"reads_more_entries"}


def test_failed_and_unparsed_queries_stand_in_the_denominator_alone(
    tune: Tune, write_log: Callable[..., str], line: Call
) -> None:
    query = "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = {} AND l_quantity > 10"
    good = [line(query.format(n), 80_000) for n in range(1, 11)]
    failed = line(query.format(3), 200_000, exceptions=1)
    unparsed = line("SELECT FROM WHERE ((", 300_000)
    (before,) = tune("--log", write_log(*good), *INVERTED).values()
    assert before["predicted_saving_ratio"] > 0.9
    (after,) = tune("--log", write_log(*good, failed, unparsed), *INVERTED).values()
    assert (after["queries"], after["unparsed"]) == (12, 1)
    assert after["inverted_index_columns"] == before["inverted_index_columns"] == ["l_suppkey"]
    share = 800_000 / (800_000 + 200_000 + 300_000)
    assert after["predicted_saving_ratio"] == pytest.approx(before["predicted_saving_ratio"] * share)


def test_a_log_without_any_query_of_the_table(tune: Tune, write_log: Callable[..., str], line: Call) -> None:
    path = write_log(line("SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 5", 74_953))
    assert tune("--log", path, "--tables", "airlineStats", *INVERTED) == {
        "airlineStats": {
            "inverted_index_columns": [],
            "sorted_column": None,
            "predicted_saving_ratio": 0.0,
            "predicted_interval": [0.0, 0.0],
            "queries": 0,
            "unparsed": 0,
            "refused": [],
            "drops": [],
            "size_bytes": {},
            "indexes": [],
            "combined": {
                "saving_ratio": 0.0,
                "interval": [0.0, 0.0],
                "entries_before": 0,
                "entries_after": 0,
                "parts": {},
            },
            "unit": "entries",
            "latency": {
                "model": None,
                "trusted": False,
                "mistrust": "the log has no latencies of queries that read entries",
                "r2": None,
                "ms_per_query": None,
                "constant_ms": None,
                "waiting_ms": None,
                "candidates": {},
            },
            "predicted_saving_ms": None,
            "predicted_interval_ms": None,
        }
    }


def test_an_empty_log_has_no_tables(tune: Tune, write_log: Callable[..., str], call: Call) -> None:
    path = write_log()
    assert tune("--log", path, *INVERTED) == {}


def test_a_log_that_is_not_understood_is_no_quiet_day(
    write_log: Callable[..., str], call: Call, deep_store: Path, line: Call
) -> None:
    strange = '{"data": "request 7 read lineitem"}\n'
    some = line("SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 71", 5)
    for content, exit_code in ((strange * 9, 3), (strange * 9 + some, 3), (strange + some * 9, 0)):
        arguments = ("--segments", deep_store, "--tables", "lineitem", *INVERTED)
        result = call("tune", "--log", write_log(content), *arguments)
        assert result.exit_code == exit_code
        assert ("are not understood (not_a_query: 9)" in result.stderr) == (exit_code == 3)


def test_an_unknown_table_among_others(call: Call, deep_store: Path) -> None:
    result = call("tune", "--log", LOG, "--segments", deep_store, "--tables", "lineitem,nope", *INVERTED)
    assert (result.exit_code, result.stdout) == (3, "")
    (text,) = result.stderr.splitlines()
    assert text == f"starskip: unknown table nope: {deep_store} has segments of airlineStats, lineitem"


def test_a_table_of_the_log_that_cannot_be_read_does_not_end_the_others(
    call: Call, deep_store: Path, tmp_path: Path, tune: Tune
) -> None:
    (tmp_path / "lineitem").mkdir()
    (tmp_path / "airlineStats").symlink_to(deep_store / "airlineStats")
    arguments = ("tune", "--segments", tmp_path, "--format", "json", "--log", LOG, *INVERTED)
    for content, message in (
        (None, "table lineitem has no segments"),
        (b"x" * 999, "none of its 1 segments"),
    ):
        if content:
            (tmp_path / "lineitem" / "lineitem_0.tar.gz").write_bytes(content)
        result = call(*arguments)
        assert result.exit_code == 0
        assert message in result.stderr
        tables = json.loads(result.stdout)["tables"]
        assert tables["airlineStats"] == tune(*AIRLINE, *INVERTED)["airlineStats"]
        assert tables["lineitem"]["inverted_index_columns"] == []
        assert {refused["reason"] for refused in tables["lineitem"]["refused"]} == {"no_segments"}
        asked = call(*arguments, "--tables", "lineitem")
        assert (asked.exit_code, asked.stdout) == (3, "")
        assert message in asked.stderr


def test_a_damaged_segment_and_a_broken_log_are_warnings_on_stderr(
    installed: Call, deep_store: Path, tmp_path: Path
) -> None:
    (tmp_path / "airlineStats").mkdir()
    for path in (deep_store / "airlineStats").iterdir():
        (tmp_path / "airlineStats" / path.name).symlink_to(path)
    (tmp_path / "airlineStats" / "bad.tar.gz").write_bytes(b"x" * 999)
    (tmp_path / "noise.log").write_bytes(b"PK\x03\x04" + bytes(999))
    done = installed(
        "tune", "--segments", tmp_path, "--format", "json", "--tables", "airlineStats",
        *INVERTED, "--max-indexes", "1", "--log", LOG, tmp_path / "noise.log",
    )  # fmt: skip
    assert done.returncode == 0
    assert list(json.loads(done.stdout)["tables"]) == ["airlineStats"]
    log, segment = done.stderr.splitlines()
    rejected = f"1 log records rejected: unknown_file_format, the first in {tmp_path / 'noise.log'}"
    assert log == f"starskip: warning: {rejected}"
    assert segment.startswith(
        f"starskip: warning: damaged segment {tmp_path}/airlineStats/bad.tar.gz: not_a_tar"
    )


def test_text_is_for_people(call: Call, deep_store: Path) -> None:
    result = call("tune", *LINEITEM, "--segments", deep_store, *INVERTED, "--max-indexes", "1")
    first, together, time, unit, second, third = result.stdout.splitlines()[:6]
    assert first == "lineitem: 900 queries scanned 252,347,923 entries in filters"
    assert together.startswith("  the change saves ")
    assert "% of all entries scanned, in filters and behind them (90 % interval" in together
    assert re.fullmatch(
        r"  that is [\d.]+ ms of 6\.26 ms a query \(90 % interval [\d.]+ to [\d.]+ ms\)", time
    )
    assert unit.startswith("  Chosen by time; the latency model (own times) has R² 0.9")
    assert second.startswith("  inverted indexes on l_suppkey: ")
    assert "90 % interval" in second
    assert third.startswith("    1. l_suppkey: alone ")
    assert "  refused l_shipmode: over_max_indexes (" in result.stdout
