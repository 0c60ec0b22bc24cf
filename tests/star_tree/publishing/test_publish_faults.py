"""Old or new, whatever fails: each call to the store, and kills between any two writes."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import starskip
from failing_store import FailingStore
from starskip.errors import StorageError
from starskip.star_tree.build.publish_trees import Outcome
from starskip.star_tree.tree_artefact import ARTEFACT
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.vacuum import vacuum

pytestmark = pytest.mark.slow

FOREVER = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("step", ["build", "growth"])
def test_every_call_to_the_store_fails_once(table: Any, step: str) -> None:
    table.configs = table.configs[1:]
    table.publish()
    before = table.documents()
    table.write("1.parquet" if step == "build" else "3.parquet", table.rows(9, 30))
    template = table.store.storage

    def attempt(storage: Any) -> None:
        replace(table, store=ArtefactStore(storage), read=[]).publish()

    dry_run = FailingStore(copy.deepcopy(template))
    attempt(dry_run)
    after = replace(table, store=ArtefactStore(dry_run.inner), read=[]).documents()
    assert after == table.in_full() and after != before
    states = set()
    faults = [(number, False) for number in range(1, len(dry_run.calls) + 1)]
    # A call that only reads has no effect that could be lost.
    faults += [
        (number, True) for number, _ in faults if dry_run.calls[number - 1] in ("put_if_absent", "delete")
    ]
    for fault_at, is_after in faults:
        storage = FailingStore(copy.deepcopy(template), fault_at, is_after)
        try:
            attempt(storage)
        except StorageError as error:
            assert str(error) == "injected"
        found = replace(table, store=ArtefactStore(storage.inner), read=[])
        seen = found.documents()
        assert seen in (before, after)
        states.add(seen == after)
        assert found.publish().outcome is not Outcome.UNCHANGED or seen == after
        assert found.documents() == after
        vacuum(found.store, now=FOREVER, grace=timedelta(0), keep_manifests=1)
        assert found.documents() == after
        part = found.store.snapshot(ARTEFACT, CURRENT).manifest.parts["t"]  # type: ignore[union-attr]
        assert len(found.objects) == len(part.files) + 1
    assert states == {False, True}
    print(f"{step}: {len(faults)} faults")
    assert len(faults) >= 30


def test_killed_between_every_two_writes(table: Any, tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(Path(__file__).with_name("kill_worker.py")),
        str(table.folder),
        str(tmp_path),
    ]
    paths = [Path(starskip.__file__).parents[1], Path(__file__).parents[2] / "support"]
    package = {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run(command, env=os.environ | package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    print(f"killed: {counts}")
    assert counts["killed"] >= 15
    assert counts["old"] > 0 and counts["new"] > 0
    assert counts["wrong"] == counts["stuck"] == 0
