"""Old or new, whatever fails: each call to the store, kills between any two writes, many writers at once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import starskip
from failing_store import FailingStore
from law_cases import law_cases
from starskip.errors import StorageError
from starskip.file_metadata.change_indexes import change_indexes
from starskip.file_metadata.open_metadata import existing_metadata, read_metadata
from starskip.file_metadata.optimize import optimize_metadata
from starskip.file_metadata.table_metadata import COLUMNS
from starskip.file_metadata.vacuum_metadata import vacuum_metadata
from starskip.storage.local_storage import LocalStorage

CALLS = ("put_if_absent", "read", "delete", "objects_below", "folders_in", "arrow_filesystem")
WRITERS = int(os.environ.get("STARSKIP_SKIPPING_WRITERS", "4"))
COMMITS = law_cases("STARSKIP_SKIPPING_COMMITS", 6)
KILLS = law_cases("STARSKIP_SKIPPING_KILLS", 25)


def steps(lake: Any) -> dict[str, Callable[[Any, Any], Any]]:
    return {
        "create": lambda table, storage: table.refresh(storage, "x", "y"),
        "refresh": lambda table, storage: table.refresh(storage),
        "full": lambda table, storage: table.refresh(storage, in_full=True),
        "optimize": lambda table, storage: optimize_metadata(storage, lake.commit()),
        "delete": lambda table, storage: change_indexes(storage, None, lake.commit(), active=False),
        "vacuum": lambda table, storage: vacuum_metadata(
            storage, lake.commit(), now=lake.forever, grace=lake.grace
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("step", ["create", "refresh", "full", "optimize", "delete", "vacuum"])
def test_every_call_to_the_store_fails_once(lake: Any, table: Any, fresh_storage: Any, step: str) -> None:
    template = fresh_storage()
    if step != "create":
        table.refresh(template, "x", "y")
        table.files["file:/t/new"] = lake.File((7,))
        table.files["file:/t/a"] = lake.File((1, 2), version=1)
        if step != "refresh":
            table.refresh(template)
        if step == "vacuum":
            change_indexes(template, ["minmax:y"], lake.commit(), active=False)
    run = steps(lake)[step]

    def seen(storage: Any) -> Any:
        metadata = read_metadata(storage)
        return metadata and (lake.known(storage), metadata.state.indexes, len(metadata.segments))

    def copied() -> Any:
        storage = fresh_storage()
        if template.root.exists():
            shutil.copytree(template.root, storage.root)
        return storage

    def attempt(storage: Any) -> None:
        run(lake.Table(table.files), storage)

    before = None if step == "create" else seen(template)
    dry_run = FailingStore(copied(), methods=CALLS)
    attempt(dry_run)
    after = seen(dry_run.inner)
    faults = [(number, False) for number in range(1, len(dry_run.calls) + 1)]
    writes = ("put_if_absent", "delete")
    faults += [(number, True) for number, _ in faults if dry_run.calls[number - 1] in writes]
    states = set()
    for fault_at, is_after in faults:
        storage = copied()
        failing = FailingStore(storage, fault_at, is_after, CALLS)
        with suppress(StorageError):
            attempt(failing)
        assert len(failing.calls) >= fault_at
        found = seen(storage)
        assert found in (before, after)
        states.add(found == after)
        attempt(storage)
        assert seen(storage)[:2] == after[:2]
    print(f"{step}: {len(faults)} faults")
    assert states == {True, False} and len(faults) >= 4


def worker(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, str(Path(__file__).with_name("metadata_worker.py")), *arguments]
    paths = [Path(starskip.__file__).parents[1], Path(__file__).parents[1] / "support"]
    package = {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run(command, env=os.environ | package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    print(arguments[0], found)
    return found


@pytest.mark.slow
def test_killed_between_every_two_writes(tmp_path: Path) -> None:
    counts = worker("writes", str(tmp_path))
    assert counts["killed"] >= 20
    assert counts["old"] > 0 and counts["new"] > 0
    assert counts["wrong"] == counts["stuck"] == 0


@pytest.mark.law
def test_killed_at_random(tmp_path: Path) -> None:
    counts = worker("random", str(tmp_path), str(KILLS))
    assert counts["killed"] == KILLS
    assert counts["wrong"] == 0


@pytest.mark.slow
def test_writers_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    """All writers see all files, add some of their own, lose answers, and optimize now and then."""
    found = worker("race", str(tmp_path), str(WRITERS), str(COMMITS))
    assert found["failed"] == 0
    assert found["doubled"] == found["missing"] == found["wrong"] == 0
    assert found["files"] == WRITERS * COMMITS
    assert found["versions"] >= COMMITS


def test_damage_of_metadata_is_named_and_never_another_value(
    lake: Any, table: Any, storage: LocalStorage
) -> None:
    table.files |= {f"file:/t/{number:04d}": lake.File((number, number * 7)) for number in range(500)}
    table.refresh(storage, "x")
    whole = lake.known(storage)
    (file,) = next(iter(existing_metadata(storage).segments.values())).groups["minmax:x"]
    path = storage.root / file.name
    content = path.read_bytes()
    named = 0
    for at in range(0, len(content), max(len(content) // 150, 1)):
        damaged = bytearray(content)
        damaged[at] ^= 0x55
        path.write_bytes(damaged)
        COLUMNS.clear()
        try:
            assert lake.known(storage) == whole
        except StorageError as error:
            assert "gone or damaged; refresh the metadata in full" in str(error)
            named += 1
    assert named > 75
    table.refresh(storage, in_full=True)
    assert lake.known(storage) == whole
