"""Expiry at the end of a night, for which a night does not fail."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from settings_with import settings_with
from starskip.advisor.families.star_tree.build_star_trees import build_star_trees
from starskip.errors import StorageError
from starskip.execution.local_engine import LocalEngine
from starskip.night.expire_snapshots import expire_snapshots, tidied_words
from starskip.star_tree.serving.tree_set import open_trees
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part

pytestmark = pytest.mark.slow


def test_clock_that_runs_a_day_ahead_takes_nothing_from_a_run_beside(lab: Any) -> None:
    night = lab.night(started_at=datetime.now(UTC), settings=settings_with(lab.settings, nights=1))
    for day in ("2026-11-01", "2026-11-02"):
        aside = night.store.staged_write("reports", day)
        parts = {"lineitem": Part((aside.write_file("lineitem", "f", b"x"),))}
        created = {"created_at": night.started_at, "created_by": "test"}
        night.store.publish("reports", day, parts, replace="all", **created)
    in_flight = night.store.staged_write("reports", "2026-11-02").write_file(
        "lineitem", "f", b"not yet named"
    )
    ahead = replace(night, started_at=night.started_at + timedelta(hours=25))
    tidied = expire_snapshots(ahead)
    assert (tidied.retired.old, tidied.vacuumed.removed) == ((), ())
    assert night.store.storage.read(in_flight.name) == b"not yet named"
    then = time.time() - 25 * 3_600
    for path in Path(night.store.storage.root).rglob("*"):
        os.utime(path, (then, then))
    tidied = expire_snapshots(night)
    assert tidied.retired.nights == ("2026-11-01",)
    assert in_flight.name in tidied.vacuumed.removed


@pytest.mark.parametrize("call", ["folders_in", "put_if_absent"])
def test_store_that_fails_while_old_nights_go_leaves_the_night_published(
    call: str, lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    night = lab.run()
    answered = getattr(LocalStorage, call)

    def failing(storage: LocalStorage, name: str, *content: bytes) -> Any:
        if name == "" or name.startswith("_clock/"):
            raise StorageError("the store does not answer", location=name)
        return answered(storage, name, *content)

    monkeypatch.setattr(LocalStorage, call, failing)
    assert tidied_words(night) == ["old nights were not tidied: the store does not answer"]
    assert set(lab.published("reports")) == {"lineitem", "airlineStats"}


def test_of_what_is_built_only_the_newest_state_is_kept_once_its_readers_are_done(
    tree_house: Any, star_tree_config: Any
) -> None:
    tree_house.changes["started_at"] = datetime.now(UTC)
    for order in ("country", "browser", "day"):
        tree_house.choose(star_tree_config(order))
        build_star_trees(LocalEngine(), tree_house.night)
    night = tree_house.night
    newest = night.store.snapshot("star_trees", "current").manifest
    assert newest.version == 3
    assert expire_snapshots(night).vacuumed.removed == ()
    then = time.time() - 25 * 3_600
    for path in Path(night.store.storage.root).rglob("*"):
        os.utime(path, (then, then))
    removed = expire_snapshots(night).vacuumed.removed
    assert removed
    assert night.store.snapshot("star_trees", "current").manifest == newest
    left = {stored.name for stored in night.store.storage.objects_below("star_trees/current/data")}
    assert left == {file.name for file in newest.parts["sales"].files}
    assert open_trees(night.store, "sales").trees[0].dictionary("day").to_pylist()[0] == "2026-11-01"
