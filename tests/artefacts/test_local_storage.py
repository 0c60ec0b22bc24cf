from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starskip.artefacts.local_storage import LocalStorage
from starskip.artefacts.storage import PutVerdict
from starskip.errors import StorageError


@pytest.fixture(params=["local", "memory"])
def any_storage(request: pytest.FixtureRequest, storage: LocalStorage, support: SimpleNamespace) -> Any:
    return storage if request.param == "local" else support.MemoryStorage()


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
    assert any_storage.folders_in("a") == ()
    assert any_storage.read("a/c") == b""


def test_nothing_is_left_beside_a_stored_or_refused_object(storage: LocalStorage) -> None:
    storage.put_if_absent("a/1", b"first")
    storage.put_if_absent("a/1", b"second")
    assert [path.name for path in (storage.root / "a").iterdir()] == ["1"]


def test_emptied_folders_go_but_the_root_stays(storage: LocalStorage) -> None:
    storage.put_if_absent("a/b/c", b"x")
    storage.delete("a/b/c")
    assert list(storage.root.iterdir()) == []


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_file_system_without_hard_links(
    code: int, storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StorageError, match="no hard links") as caught:
        storage.put_if_absent("a/1", b"x")
    assert caught.value.location == str(storage.root)
    assert list(storage.objects_below("")) == []


def test_disk_is_full(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    storage.root.mkdir()
    (storage.root / "a").mkdir()
    with pytest.raises(StorageError, match="No space left"):
        storage.put_if_absent("a/1", b"x")
    assert list(storage.objects_below("")) == []


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


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "a//x", "a/./x", "a/", "a\0b"])
def test_names_that_climb_or_mislead(name: str, storage: LocalStorage) -> None:
    with pytest.raises(StorageError, match="no name that a store may hold"):
        storage.put_if_absent(name, b"x")
    assert not storage.root.exists()


def test_folder_is_taken_away_while_an_object_is_written(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open
    thefts = iter(range(3))

    def steal(path: Path, *arguments: Any, **keywords: Any) -> Any:
        for _ in thefts:
            path.parent.rmdir()
            break
        return opened(path, *arguments, **keywords)

    monkeypatch.setattr(Path, "open", steal)
    assert storage.put_if_absent("a/1", b"x") is PutVerdict.STORED
    assert storage.read("a/1") == b"x"


def test_links_of_strangers_are_not_followed(storage: LocalStorage, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"x")
    storage.put_if_absent("a/1", b"x")
    (storage.root / "a" / "way-out").symlink_to(outside)
    assert "secret" not in str([found.name for found in storage.objects_below("")])


def test_location_for_spark_and_for_arrow(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "with blank %20")
    storage.put_if_absent("a/1", b"x")
    assert storage.url("a/1") == f"file://{tmp_path}/with blank %20/a/1"
    assert storage.arrow_filesystem().open_input_file("a/1").read() == b"x"
    storage.make_durable(["a/1"])
    with pytest.raises(StorageError, match="a/2"):
        storage.make_durable(["a/2"])
