"""``starskip retain`` over a store of nights that are long past."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part

Call = Callable[..., Result]
NIGHTS = tuple(f"2026-01-0{day}" for day in range(1, 6))
YEAR_S = 365 * 86_400


@pytest.fixture
def store(tmp_path: Path) -> ArtefactStore:
    (tmp_path / "night.yaml").write_text(
        "store: {artefacts: artefacts}\nsources: {segments_root: segments}\n"
        "settings: {retention: {nights: 3}}\n"
    )
    store = ArtefactStore(LocalStorage(tmp_path / "artefacts"))
    for night in NIGHTS:
        tables = ["orders"] if night == NIGHTS[0] else ["lineitem", "airlineStats"]
        aside = store.staged_write("reports", night)
        parts = {table: Part((aside.write_file(table, "report.md", b"0123456789"),)) for table in tables}
        created = {"created_at": datetime(2026, 1, 6, tzinfo=UTC), "created_by": "test"}
        store.publish("reports", night, parts, replace="all", **created)  # type: ignore[arg-type]
    age(tmp_path)
    return store


def age(folder: Path) -> None:
    """Let everything be a year old."""
    then = time.time() - YEAR_S
    for path in (folder / "artefacts").rglob("*"):
        os.utime(path, (then, then))


def retained(call: Call, tmp_path: Path, *options: str) -> str:
    result = call("retain", "--config", str(tmp_path / "night.yaml"), *options)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_dry_run_says_what_would_go_and_touches_nothing(
    call: Call, store: ArtefactStore, tmp_path: Path
) -> None:
    before = sorted(path for path in tmp_path.rglob("*"))
    said = retained(call, tmp_path, "--dry-run")
    size = sum(
        path.stat().st_size for path in (tmp_path / "artefacts" / "reports").rglob("*") if path.is_file()
    )
    assert said == (
        "2026-01-02  airlineStats, lineitem: 20 bytes\n"
        "retain: 1 night would go, 20 bytes; advice of 3 nights and queries of 30 days stay\n"
        "artefact                            bytes  nights  oldest      newest      tables  kept\n"
        f"reports                  {size:>16,}       5  2026-01-01  2026-01-05       2  3 nights\n"
    )
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_old_nights_go_and_the_newest_of_each_table_stays(
    call: Call, store: ArtefactStore, tmp_path: Path
) -> None:
    said = retained(call, tmp_path)
    assert "retain: 1 night went, 20 bytes; advice of 3 nights and queries of 30 days stay\n" in said
    assert "retain: 0 files removed, 0 bytes freed\n" in said
    held = {night: store.snapshot("reports", night) for night in NIGHTS}
    assert {night for night, found in held.items() if found and found.tables} == {NIGHTS[0], *NIGHTS[2:]}
    age(tmp_path)
    again = retained(call, tmp_path)
    assert (
        "nights went, 0 bytes; advice of 3 nights and queries of 30 days stay\nretain: 4 files removed"
        in again
    )
    assert store.run_dates("reports") == (NIGHTS[0], *NIGHTS[2:])
    assert not (tmp_path / "artefacts" / "reports" / NIGHTS[1]).exists()


def test_a_number_of_nights_for_this_once(call: Call, store: ArtefactStore, tmp_path: Path) -> None:
    assert "3 nights would go" in retained(call, tmp_path, "--dry-run", "--nights", "1")
    assert "0 nights would go" in retained(call, tmp_path, "--dry-run", "--nights", "9")


def test_queries_go_by_days_and_the_store_is_listed(call: Call, store: ArtefactStore, tmp_path: Path) -> None:
    for night in NIGHTS:
        file = store.staged_write("queries", night).write_file("lineitem", "part.parquet", b"SELECT")
        created = {"created_at": datetime(2026, 1, 6, tzinfo=UTC), "created_by": "test"}
        store.publish("queries", night, {"lineitem": Part((file,))}, replace="all", **created)  # type: ignore[arg-type]
    age(tmp_path)
    document = json.loads(retained(call, tmp_path, "--query-days", "2", "--nights", "9", "--format", "json"))
    assert [each["run_date"] for each in document["nights"]] == [*NIGHTS[:3]]
    assert (document["kept_nights"], document["kept_query_days"]) == (9, 2)
    stored = {each["artefact"]: each for each in document["stored"]}
    assert stored.keys() == {"queries", "reports"}
    assert (stored["reports"]["nights"], stored["reports"]["tables"]) == (5, 2)
    assert stored["queries"]["newest"] == NIGHTS[-1]


@pytest.mark.parametrize("nights", ["0", "-1", "many"])
def test_a_number_that_makes_no_sense_is_refused(call: Call, tmp_path: Path, nights: str) -> None:
    result = call("retain", "--config", "night.yaml", "--nights", nights)
    assert result.exit_code == 2


def test_a_setting_that_makes_no_sense_is_named(
    call: Call, store: ArtefactStore, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("STARSKIP_RETENTION__NIGHTS", "0")
    result = call("retain", "--config", str(tmp_path / "night.yaml"), "--dry-run")
    assert result.exit_code == 3
    assert "retention.nights: 0 is not allowed: use a whole number of at least 1" in result.stderr


def test_a_place_where_nothing_is_stored_is_named(call: Call, tmp_path: Path) -> None:
    config = tmp_path / "night.yaml"
    config.write_text("store: {artefacts: artefakts}\nsources: {segments_root: segments}\n")
    result = call("retain", "--config", str(config))
    assert result.exit_code == 3
    assert f"nothing is stored at {tmp_path}/artefakts: check `store.artefacts` in {config}" in result.stderr
    assert not (tmp_path / "artefakts").exists()
