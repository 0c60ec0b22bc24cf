"""Access to artefacts on a disk: the owner alone, unless asked otherwise, whatever the process's mask is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.file_access import READABLE_BY
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for


@pytest.fixture(params=[0o022, 0o077, 0o000])
def mask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> tuple[set[int], set[int]]:
    """Modes of the files and of the folders, the top one included."""
    folders = {path for path in (folder, *folder.rglob("*")) if path.is_dir()}
    files = {path for path in folder.rglob("*") if path.is_file()}
    of_files, of_folders = ({path.stat().st_mode & 0o777 for path in paths} for paths in (files, folders))
    return of_files, of_folders


def publish(storage: LocalStorage) -> None:
    store = ArtefactStore(storage)
    aside = store.staged_write("reports", "2026-11-20")
    part = Part((aside.write_file("t", "report.md", b"SELECT 'secret'"),))
    now = datetime(2026, 11, 21, tzinfo=UTC)
    store.publish("reports", "2026-11-20", {"t": part}, replace="all", created_at=now, created_by="test")


@pytest.mark.parametrize("name", READABLE_BY)
def test_files_and_folders_have_the_modes_of_those_who_may_read(name: str, mask: int, tmp_path: Path) -> None:
    storage = storage_for(str(tmp_path / "above" / "artefacts"), READABLE_BY[name])
    assert isinstance(storage, LocalStorage)
    publish(storage)
    expected = {"owner": (0o600, 0o700), "group": (0o640, 0o750), "all": (0o644, 0o755)}[name]
    assert modes(storage.root) == ({expected[0]}, {expected[1]})
    assert (tmp_path / "above").stat().st_mode & 0o777 == 0o777 & ~mask, "not the store's own"


def test_without_a_word_the_mask_of_the_process_decides(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        publish(LocalStorage(tmp_path / "artefacts"))
    finally:
        os.umask(before)
    assert modes(tmp_path / "artefacts") == ({0o640}, {0o750})


@pytest.mark.parametrize("is_there", [False, True])
def test_what_others_write_below_a_shielded_folder_is_out_of_reach(is_there: bool, tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "artefacts", READABLE_BY["owner"])
    if is_there:
        (storage.root / "skipping_candidates").mkdir(parents=True)
    storage.shield("skipping_candidates")
    assert (storage.root / "skipping_candidates").stat().st_mode & 0o777 == 0o700
