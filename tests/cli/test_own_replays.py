"""Own replays in a log change nothing but a sentence, in each command and in the night."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from starskip.pinot.replay_mark import marked
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

ASKED = "SELECT COUNT(*) FROM lineitem WHERE l_shipmode = 'AIR'"
REPLAYED = "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 7"
SAID = "2 own replays in the log are left out: they are no traffic"


@pytest.fixture
def log(tmp_path: Path, line: Callable[..., str]) -> Path:
    lines = [line(ASKED, 74_952) * 3, line(marked(REPLAYED), 74_952) * 2]
    (tmp_path / "broker.log").write_text("".join(lines))
    return tmp_path / "broker.log"


def test_replays_do_not_vote_in_tune(call: Callable[..., Result], log: Path, deep_store: Path) -> None:
    arguments = ("tune", "--log", log, "--segments", deep_store, "--index", "inverted", "--format", "json")
    result = call(*arguments)
    advice = json.loads(result.stdout)["tables"]["lineitem"]
    assert (advice["queries"], advice["inverted_index_columns"]) == (3, ["l_shipmode"])
    assert SAID in result.stderr
    log.write_text(log.read_text().replace(marked(""), ""))
    assert set(json.loads(call(*arguments).stdout)["tables"]["lineitem"]["inverted_index_columns"]) == {
        "l_shipmode",
        "l_suppkey",
    }


def test_replays_do_not_vote_in_a_night(call: Callable[..., Result], log: Path, deep_store: Path) -> None:
    config = log.with_name("night.yaml")
    config.write_text(
        f"tables: [lineitem]\nsources: {{log_paths: [{log}], segments_root: {deep_store}}}\n"
        f"store: {{artefacts: {log.parent / 'store'}}}\n"
    )
    for stage in ("collect_segment_metadata", "parse_query_logs"):
        result = call("stage", stage, "--config", config, "--run-date", "2026-11-18")
        assert result.exit_code == 0, result.stderr
    assert SAID in result.stderr
    store = ArtefactStore(storage_for(str(log.parent / "store")))
    snapshot = store.snapshot("queries", "2026-11-18")
    assert snapshot is not None
    told = snapshot.parts()["lineitem"].properties["log"]
    assert (told["queries"], told["other"]) == (3, {"own_replay": 2})


def test_replays_are_no_traffic_in_parse_log_and_quantile_report(
    call: Callable[..., Result], log: Path
) -> None:
    assert "2 left out: own_replay" in call("parse-log", log).stdout
    result = call("quantile-report", "--log", log, "--format", "json")
    assert json.loads(result.stdout)["tables"]["lineitem"]["queries"] == 3
    assert SAID in result.stderr
