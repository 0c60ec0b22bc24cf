"""Old or new, whatever fails: each call to the store, and a kill behind each write."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from failing_store import FailingStore, Killed
from patiently import patiently
from starskip.errors import StorageError
from starskip.file_metadata import write_collected
from starskip.file_metadata.change_indexes import change_indexes
from starskip.file_metadata.open_metadata import existing_metadata, read_metadata
from starskip.file_metadata.optimize import optimize_metadata
from starskip.file_metadata.table_metadata import COLUMNS
from starskip.file_metadata.vacuum_metadata import vacuum_metadata
from starskip.storage.local_storage import LocalStorage
from starskip.storage.storage import PutVerdict

CALLS = ("put_if_absent", "read", "delete", "objects_below", "folders_in", "arrow_filesystem")


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
def test_every_call_to_the_store_fails_once_or_is_the_last(
    lake: Any, table: Any, fresh_storage: Any, step: str
) -> None:
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
    states = set()
    for fault in dry_run.faults():
        storage = copied()
        failing = FailingStore(storage, *fault, methods=CALLS)
        with suppress(StorageError, Killed):
            attempt(failing)
        assert len(failing.calls) >= fault[0]
        found = seen(storage)
        assert found in (before, after)
        states.add(found == after)
        attempt(storage)
        assert seen(storage)[:2] == after[:2]
    assert states == {True, False} and len(dry_run.faults()) >= 4


class LossyFolder(LocalStorage):
    """Loses one answer to a put of a manifest in four, behind its effect."""

    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        verdict = super().put_if_absent(name, content)
        if "/manifests/" in name and random.random() < 0.25:
            raise StorageError("lost", location=name)
        return verdict


@pytest.mark.slow
def test_writers_at_once_lose_and_double_nothing(
    lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All writers see all files, add some of their own, lose answers, and optimize now and then."""
    storage, files = LossyFolder(tmp_path), {}
    # Each table sets it while it collects: set here, it is the same behind them all.
    monkeypatch.setattr(write_collected, "BYTES_PER_FILE", lake.Table.bytes_per_file)

    def write(writer: int) -> None:
        for number in range(4):
            files[f"file:/t/{writer}-{number}"] = lake.File((writer, number))
            patiently(lambda: lake.Table(dict(files)).refresh(storage, "x"))
            if writer % 4 == number:
                patiently(lambda: optimize_metadata(storage, lake.commit()))

    with ThreadPoolExecutor(8) as writers:
        list(writers.map(write, range(8)))
    assert len(files) == 32
    assert lake.known(storage) == lake.expected(files, "x")


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
