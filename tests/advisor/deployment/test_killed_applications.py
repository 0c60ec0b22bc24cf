"""The command itself on a real Pinot 0.11, killed at each of its steps: the next run ends what was begun."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from altering_proxy import Exchange
from changed_table import COUNTRY, TABLE, TREE, TS, Table
from starskip.advisor.ledger.advised_index import AdvisedIndex

pytestmark = pytest.mark.slow

STARSKIP = str(Path(sys.executable).with_name("starskip"))


def recommendation(table: Table, *indexes: AdvisedIndex) -> str:
    file = table.folder / "advice.json"
    told = [{**asdict(each), "columns": list(each.columns)} for each in indexes]
    file.write_text(json.dumps({"tables": {TABLE: {"indexes": told, "drops": []}}}))
    return str(file)


def command(table: Table, *arguments: str) -> list[str]:
    urls = ("--controller", table.controller.url, "--broker", table.broker.url)
    return [
        STARSKIP,
        "pinot",
        arguments[0],
        *urls,
        "--table",
        TABLE,
        "--store",
        str(table.folder / "store"),
        *arguments[1:],
    ]


def apply_command(table: Table, *indexes: AdvisedIndex) -> list[str]:
    bounds = ("--queries-per-second", "1000", "--no-progress-minutes", "10s", "--log", str(table.log))
    return command(table, "apply", "--recommendation", recommendation(table, *indexes), "--yes", *bounds)


def run(words: list[str]) -> tuple[int, dict[str, Any], str]:
    told = subprocess.run([*words, "--format", "json"], capture_output=True, text=True, check=False)
    return told.returncode, json.loads(told.stdout) if told.stdout else {}, told.stderr


def kill_at(words: list[str], line: str) -> None:
    """Run a command, and end it as a crash does once it has said ``line``."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for told in process.stderr:
            if line in told:
                process.kill()
                break
        else:
            pytest.fail(f"it never said {line}")
    assert process.returncode == -9


@pytest.mark.parametrize(
    "line",
    ["putting the config", "canary: reloading", "reloading all", "queries with the new indexes"],
)
def test_a_run_that_was_killed_is_gone_on_with(table: Table, base: dict[str, Any], line: str) -> None:
    words = apply_command(table, COUNTRY, TREE)
    kill_at(words, line)
    code, told, errors = run(words)
    assert code == 0, errors
    assert told["state"] == "applied"
    assert [each["verdict"] for each in told["verdicts"]] == ["kept", "kept"]
    assert "Traceback" not in errors
    code, told, errors = run(command(table, "revert"))
    assert (code, told["state"]) == (0, "reverted"), errors
    table.require_as_before(base)


@pytest.mark.parametrize("line", ["taking it back", "reloading all 4 segments without"])
def test_a_way_back_that_was_killed_is_gone_to_its_end(table: Table, base: dict[str, Any], line: str) -> None:
    def wrong(exchange: Exchange) -> None:
        has_new = "rangeIndexColumns" in table.config()["tableIndexConfig"]
        if exchange.path.startswith("/query/sql") and "BETWEEN" in exchange.body["sql"] and has_new:
            exchange.answer["resultTable"]["rows"][0][1] += 1

    table.broker.after.append(wrong)
    words = apply_command(table, TS, TREE)
    kill_at(words, line)
    code, told, errors = run(words)
    assert (code, told["state"]) == (0, "reverted"), errors
    assert all("wrong answer" in each["detail"] for each in told["verdicts"])
    assert table.events() == ["refuted", "refuted"]
    table.require_as_before(base)


def test_a_dry_run_shows_the_plan_and_changes_nothing(table: Table, base: dict[str, Any]) -> None:
    words = [each for each in apply_command(table, COUNTRY, TREE) if each != "--yes"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert '+      "country"' in shown
    assert "forecast: 150 kB of indexes over all replicas" in shown
    assert "nothing was changed: --yes applies it" in shown
    code, told, _ = run([*words, "--dry-run", "--yes"])
    assert code == 0
    assert set(told) == {"table", "before", "after", "forecast", "verdicts", "state"}
    assert told["state"] == "unchanged"
    assert told["before"] != told["after"]
    assert set(told["forecast"]) == {"bytes", "minutes"}
    assert not (table.folder / "store").exists() or table.state() == ""
    table.require_as_before(base)


def test_wrong_input_is_one_line(table: Table, base: dict[str, Any]) -> None:
    code, told, errors = run([*command(table, "apply", "--recommendation", "none.json", "--yes")])
    assert (code, told) == (3, {})
    assert errors.strip() == "starskip: none.json: is no file; a night needs --config"
    code, _, errors = run(command(table, "revert"))
    assert code == 3
    assert "no application of it is in the store" in errors


def test_approved_advice_is_applied_and_taken_back_by_name(table: Table, base: dict[str, Any]) -> None:
    decide = [STARSKIP, "decide", TABLE, "--store", str(table.folder / "store"), "--recommendation"]
    advice = recommendation(table, COUNTRY, TS)
    told = subprocess.run(
        [*decide, advice, "--approve", "--index", "range:ts"], capture_output=True, text=True
    )
    assert told.returncode == 0, told.stderr
    bounds = ("--queries-per-second", "1000", "--log", str(table.log), "--yes")
    code, applied, errors = run(command(table, "apply", *bounds))
    assert (code, applied["state"]) == (0, "applied"), errors
    assert [each["index"] for each in applied["verdicts"]] == ["range:ts"]
    assert table.events() == ["approved", "kept"]
    code, _, errors = run(command(table, "apply", *bounds))
    assert code == 3
    assert "nothing is approved" in errors
    words = command(table, "revert")
    del words[3:7]  # the journal knows the controller
    code, reverted, errors = run(words)
    assert (code, reverted["state"]) == (0, "reverted"), errors
    assert table.events() == ["approved", "kept", "taken_back"]
    table.require_as_before(base)
