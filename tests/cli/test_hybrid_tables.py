"""``tune`` on hybrid tables: each half has its own queries, indexes in force, advice and config."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

OFFLINE: dict[str, Any] = {
    "tableName": "airlineStats_OFFLINE",
    "tableType": "OFFLINE",
    "tableIndexConfig": {},
}
REALTIME: dict[str, Any] = {
    "tableName": "airlineStats_REALTIME",
    "tableType": "REALTIME",
    "tableIndexConfig": {"invertedIndexColumns": ["Origin"], "streamConfigs": {"streamType": "kafka"}},
}


@pytest.fixture
def log(line: Callable[..., str], tmp_path: Path) -> Path:
    """Queries on Origin of the offline half, on Carrier of the realtime half, and on Dest of both."""
    asked = [("_OFFLINE", "Origin = 'SFO'"), ("_REALTIME", "Carrier = 'AA'"), ("", "Dest = 'JFK'")]
    lines = [
        line(f"SELECT COUNT(*) FROM airlineStats{kind} WHERE {where}", 9_000).replace(
            "table=lineitem", f"table=airlineStats{kind}"
        )
        for kind, where in asked
        for _ in range(30)
    ]
    (tmp_path / "broker.log").write_text("".join(lines))
    return tmp_path / "broker.log"


def written(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


def tuned(call: Callable[..., Result], log: Path, segments: Path, *more: str | Path) -> dict[str, Any]:
    options = ("--index", "inverted", "--format", "json")
    result = call("tune", "--log", log, "--segments", segments, *options, *more)
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)["tables"]
    return found


def test_one_file_of_both_halves(
    call: Callable[..., Result], log: Path, deep_store: Path, tmp_path: Path
) -> None:
    given = written(tmp_path / "t.json", {"OFFLINE": OFFLINE, "REALTIME": REALTIME})
    out = tmp_path / "new.json"
    found = tuned(call, log, deep_store, "--table-config", given, "--output", out)
    assert list(found) == ["airlineStats_OFFLINE", "airlineStats_REALTIME"]
    assert set(found["airlineStats_OFFLINE"]["inverted_index_columns"]) == {"Origin", "Dest"}
    assert set(found["airlineStats_REALTIME"]["inverted_index_columns"]) == {"Carrier", "Dest"}
    assert {name: each["queries"] for name, each in found.items()} == dict.fromkeys(found, 60)
    proposed = json.loads(out.read_text())
    assert set(proposed["OFFLINE"]["tableIndexConfig"]["invertedIndexColumns"]) == {"Origin", "Dest"}
    assert proposed["REALTIME"]["tableIndexConfig"]["invertedIndexColumns"][0] == "Origin"
    assert proposed["REALTIME"]["tableIndexConfig"]["streamConfigs"] == {"streamType": "kafka"}


def test_a_file_and_an_output_for_each_half(
    call: Callable[..., Result], log: Path, deep_store: Path, tmp_path: Path
) -> None:
    given = [written(tmp_path / f"{each['tableType']}.json", each) for each in (REALTIME, OFFLINE)]
    outs = [tmp_path / "realtime.json", tmp_path / "offline.json"]
    more: tuple[str | Path, ...] = (
        "--table-config",
        *given,
        "--output",
        *outs,
        "--tables",
        "airlineStats",
    )
    found = tuned(call, log, deep_store, *more)
    assert sorted(found) == ["airlineStats_OFFLINE", "airlineStats_REALTIME"]
    realtime, offline = (json.loads(out.read_text()) for out in outs)
    assert set(realtime["tableIndexConfig"]["invertedIndexColumns"]) == {"Origin", "Carrier", "Dest"}
    assert set(offline["tableIndexConfig"]["invertedIndexColumns"]) == {"Origin", "Dest"}


def test_one_half_alone_is_the_table(
    call: Callable[..., Result], log: Path, deep_store: Path, tmp_path: Path
) -> None:
    given = written(tmp_path / "t.json", OFFLINE)
    assert list(tuned(call, log, deep_store, "--table-config", given)) == ["airlineStats"]


def test_folders_of_halves_make_a_hybrid_table(
    call: Callable[..., Result], log: Path, deep_store: Path, tmp_path: Path
) -> None:
    for kind in ("OFFLINE", "REALTIME"):
        shutil.copytree(deep_store / "airlineStats", tmp_path / "deep" / f"airlineStats_{kind}")
    found = tuned(call, log, tmp_path / "deep")
    assert list(found) == ["airlineStats_OFFLINE", "airlineStats_REALTIME"]
    assert set(found["airlineStats_REALTIME"]["inverted_index_columns"]) == {"Carrier", "Dest"}


def test_there_are_as_many_outputs_as_configs(call: Callable[..., Result], log: Path, tmp_path: Path) -> None:
    given = written(tmp_path / "t.json", OFFLINE)
    options = ("--log", log, "--segments", tmp_path, "--index", "all", "--table-config", given)
    result = call("tune", *options, "--output", tmp_path / "a.json", tmp_path / "b.json")
    assert result.exit_code == 2
    assert "or one FILE for each FILE of --table-config" in result.stderr


def test_one_folder_with_a_type_is_the_table(
    call: Callable[..., Result], log: Path, deep_store: Path, tmp_path: Path
) -> None:
    shutil.copytree(deep_store / "airlineStats", tmp_path / "deep" / "airlineStats_OFFLINE")
    (advice,) = tuned(call, log, tmp_path / "deep", "--tables", "airlineStats").values()
    assert (advice["queries"], len(advice["inverted_index_columns"])) == (90, 3)


@pytest.mark.parametrize("asked", ["airlineStats_OFFLINE", "airlinestats_REALTIME", "default.airlineStats"])
def test_the_type_of_a_table_that_is_no_hybrid_one_says_nothing(
    asked: str, call: Callable[..., Result], log: Path, deep_store: Path
) -> None:
    found = tuned(call, log, deep_store, "--tables", asked)
    assert {name: each["queries"] for name, each in found.items()} == {"airlineStats": 90}


def test_a_guess_is_of_the_halves_too(call: Callable[..., Result], deep_store: Path, tmp_path: Path) -> None:
    given = written(tmp_path / "t.json", {"OFFLINE": OFFLINE, "REALTIME": REALTIME})
    weights = ("--column-weights", "Origin=1", "--index", "inverted", "--format", "json")
    for asked in ((), ("--tables", "airlineStats")):
        result = call("tune", "--segments", deep_store, "--table-config", given, *weights, *asked)
        found = json.loads(result.stdout)["tables"]
        columns = {name: each["inverted_index_columns"] for name, each in found.items() if "airline" in name}
        assert columns == {"airlineStats_OFFLINE": ["Origin"], "airlineStats_REALTIME": []}


def test_no_output_is_of_two_configs(call: Callable[..., Result], log: Path, tmp_path: Path) -> None:
    given = [written(tmp_path / f"{each['tableType']}.json", each) for each in (REALTIME, OFFLINE)]
    options = ("--log", log, "--segments", tmp_path, "--index", "all", "--table-config", *given)
    result = call("tune", *options, "--output", tmp_path / "a.json", tmp_path / "x" / ".." / "a.json")
    assert result.exit_code == 2
    assert "--output: one FILE is given twice" in result.stderr
