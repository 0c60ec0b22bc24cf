from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starskip.errors import StorageError, StorageOutage
from starskip.storage.local_storage import LocalStorage
from starskip.storage.storage import PutVerdict


@pytest.fixture(params=["local", "memory", pytest.param("s3", marks=pytest.mark.slow)])
def any_storage(request: pytest.FixtureRequest, support: SimpleNamespace) -> Any:
    if request.param == "memory":
        return support.MemoryStorage()
    return request.getfixturevalue(f"{request.param}_storage")


def test_every_store_behaves_so(any_storage: Any) -> None:
    assert any_storage.read("a/b/1") is None
    assert list(any_storage.objects_below("")) == []
    assert any_storage.folders_in("") == ()
    assert any_storage.put_if_absent("a/b/1", b"first") is PutVerdict.STORED
    assert any_storage.put_if_absent("a/b/1", b"second") is PutVerdict.ALREADY_EXISTS
    assert any_storage.read("a/b/1") == b"first"
    assert any_storage.put_if_absent("a/c", b"") is PutVerdict.STORED
    assert any_storage.put_if_absent("ab/d", b"not below a") is PutVerdict.STORED
    listed = {found.name: found.size_bytes for found in any_storage.objects_below("a")}
    assert listed == {"a/b/1": 5, "a/c": 0}
    assert any_storage.folders_in("") == ("a", "ab")
    assert any_storage.folders_in("a") == ("b",)
    any_storage.delete("a/b/1")
    any_storage.delete("a/b/1")
    any_storage.delete("never/was")
    # This S3 server has real folders and removes one some time after its last object.
    assert all(not list(any_storage.objects_below(f"a/{left}")) for left in any_storage.folders_in("a"))
    assert any_storage.read("a/c") == b""


def test_nothing_is_left_beside_a_stored_or_refused_object(local_storage: LocalStorage) -> None:
    local_storage.put_if_absent("a/1", b"first")
    local_storage.put_if_absent("a/1", b"second")
    assert [path.name for path in (local_storage.root / "a").iterdir()] == ["1"]


def test_emptied_folders_go_but_the_root_stays(local_storage: LocalStorage) -> None:
    local_storage.put_if_absent("a/b/c", b"x")
    local_storage.delete("a/b/c")
    assert list(local_storage.root.iterdir()) == []


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_file_system_without_hard_links(
    code: int, local_storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StorageError, match="no hard links") as caught:
        local_storage.put_if_absent("a/1", b"x")
    assert caught.value.location == str(local_storage.root)
    assert list(local_storage.objects_below("")) == []


def test_disk_is_full(local_storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    local_storage.root.mkdir()
    (local_storage.root / "a").mkdir()
    with pytest.raises(StorageOutage, match=r"No space left .* make room there"):
        local_storage.put_if_absent("a/1", b"x")
    assert list(local_storage.objects_below("")) == []


def test_root_or_folder_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x")
    storage = LocalStorage(file)
    for call in (
        lambda: storage.put_if_absent("a/1", b"x"),
        lambda: list(storage.objects_below("")),
        lambda: storage.folders_in("a"),
        lambda: storage.read("a/1"),
        lambda: storage.delete("a/1"),
    ):
        with pytest.raises(StorageError, match="file"):
            call()


def test_below_a_file_there_is_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x")
    storage = LocalStorage(file / "below" / "it")
    assert list(storage.objects_below("")) == list(storage.objects_below("a")) == []
    assert storage.folders_in("") == ()
    assert storage.read("a/1") is None
    with pytest.raises(StorageError, match="file"):
        storage.put_if_absent("a/1", b"x")


def test_an_artefact_is_a_file(local_storage: LocalStorage) -> None:
    local_storage.put_if_absent("a", b"x")
    for call in (lambda: list(local_storage.objects_below("a/b")), lambda: local_storage.read("a/b")):
        with pytest.raises(StorageError, match="Not a directory"):
            call()


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "a//x", "a/./x", "a/", "a\0b"])
def test_names_that_climb_or_mislead(name: str, local_storage: LocalStorage) -> None:
    with pytest.raises(StorageError, match="no name that a store may hold"):
        local_storage.put_if_absent(name, b"x")
    assert not local_storage.root.exists()


def test_folder_is_taken_away_while_an_object_is_written(
    local_storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open
    thefts = iter(range(3))

    def steal(path: Path, *arguments: Any, **keywords: Any) -> Any:
        for _ in thefts:
            path.parent.rmdir()
            break
        return opened(path, *arguments, **keywords)

    monkeypatch.setattr(Path, "open", steal)
    assert local_storage.put_if_absent("a/1", b"x") is PutVerdict.STORED
    assert local_storage.read("a/1") == b"x"


def test_links_of_strangers_are_not_followed(local_storage: LocalStorage, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"x")
    local_storage.put_if_absent("a/1", b"x")
    (local_storage.root / "a" / "way-out").symlink_to(outside)
    assert "secret" not in str([found.name for found in local_storage.objects_below("")])


def test_location_for_arrow(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "with blank %20")
    storage.put_if_absent("a/1", b"x")
    assert storage.arrow_filesystem().open_input_file("a/1").read() == b"x"
    assert storage.place == f"{tmp_path}/with blank %20"
