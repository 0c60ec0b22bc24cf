"""``starskip decide`` as people type it: names that are nearly right, empty reasons, days that are over."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from advised_store import publish_advice
from click.testing import Result
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage

Call = Callable[..., Result]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return the configuration of a store with advice on the tables events and orders."""
    publish_advice(ArtefactStore(LocalStorage(tmp_path / "store")), "2026-11-18", ("events", "orders"))
    (tmp_path / "segments").mkdir()
    path = tmp_path / "night.yaml"
    path.write_text("store: {artefacts: store}\nsources: {log_paths: [logs], segments_root: segments}\n")
    return path


def test_a_table_named_with_its_type_is_decided_on_and_listed(call: Call, config: Path) -> None:
    assert call("decide", "events_OFFLINE", "--approve", "--config", config).exit_code == 0
    listed = call("decide", "events_OFFLINE", "--config", config, "--format", "json")
    assert [each["table"] for each in json.loads(listed.stdout)["entries"]] == ["events", "events"]
    assert "on EVENTS. Did you mean 'events'?" in call("decide", "EVENTS", "--config", config).stdout


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("EVENTS", "has advice on it. Did you mean 'events'?"),
        ("db.events", "has advice on it. Did you mean 'events'?"),
        ("clicks", "no night has advice on it. That of 2026-11-18 has advice on events, orders"),
    ],
)
def test_a_table_that_is_nearly_right_is_told_the_right_name(
    call: Call, config: Path, table: str, told: str
) -> None:
    answer = call("decide", table, "--approve", "--config", config)
    assert answer.exit_code == 3 and told in answer.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--reject", ""), "say why"),
        (("--reject", "", "--approve"), "give one of"),
        (("--defer-until", "2020-01-01"), "name a day that lies ahead"),
        (("--index", "inverted:a"), "--index is of a decision"),
    ],
)
def test_a_decision_that_is_none_is_refused_and_not_taken_for_a_question(
    call: Call, config: Path, options: Sequence[str], told: str
) -> None:
    answer = call("decide", "events", *options, "--config", config)
    assert answer.exit_code == 2 and told in answer.stderr
    assert "no entries" in call("decide", "--config", config).stdout
