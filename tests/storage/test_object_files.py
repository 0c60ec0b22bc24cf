"""Folders and globs of a bucket name what the same tree on a disk names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starskip.errors import SourceError
from starskip.storage.files.list_folder import list_folder
from starskip.storage.files.log_files import log_files

TREE = (
    *("logs/2026-11-18/a.log", "logs/2026-11-18/b.log.gz", "logs/2026-11-19/a.log", "logs/2026-11-19/c.txt"),
    *("logs/top.log", "logs/_SUCCESS", "logs/.hidden.log", "logs/.dark/a.log", "logs/deep/er/still/a.log"),
    *("logs/odd [1].log", "logs/odd 1.log", "logs/per%20cent.log", "logs/täg.log", "logsbook/a.log"),
)
PATTERNS = (
    *("logs", "logs/", "logs/top.log", "logs/*", "logs/*.log", "logs/2026-*", "logs/2026-*/a.log"),
    *("logs/2026-11-1?/*", "logs/2026-11-1[89]/a.*", "logs/**/a.log", "logs/**", "**/*.log", "*/*.log"),
    *("logs/odd [1].log", "logs/odd [12].log", "logs/.hid*", "logs/per%20cent.log", "logs/täg.log", "logs*"),
    *("logs/.dark", "logs/2026-11-18/*/x", "nothing/*", "logs/nothing", "logs/top.log/x", "l*/deep/*/still"),
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_a_path_names_the_same_logs_on_disk_and_in_a_bucket(s3: Any, tree: Path) -> None:
    place = s3.upload(tree, s3.fresh_url())

    def named(root: str, pattern: str) -> set[str] | str:
        try:
            return {path.removeprefix(f"{root}/") for path in log_files([f"{root}/{pattern}"])}
        except SourceError as error:
            return type(error).__name__

    found = {pattern: named(place, pattern) for pattern in PATTERNS}
    assert found == {pattern: named(str(tree), pattern) for pattern in PATTERNS}
    assert found["logs/2026-11-1?/*"] == {name for name in TREE if name.startswith("logs/2026")}
    assert found["nothing/*"] == "MissingSource"


def test_several_paths_name_a_file_once(s3: Any, tree: Path) -> None:
    place = s3.upload(tree / "logs", s3.fresh_url())
    files = log_files([f"{place}/top.log", place, f"{place}/*.log", str(tree / "logs" / "top.log")])
    assert len(files) == len(set(files))
    assert sum(file.endswith("/top.log") for file in files) == 2, "the disk's and the bucket's are two"


def test_listing_of_a_folder(s3: Any, tree: Path) -> None:
    place = s3.upload(tree, s3.fresh_url())
    here, there = list_folder(f"{tree}/logs"), list_folder(f"{place}/logs")
    assert there.folders == here.folders == (".dark", "2026-11-18", "2026-11-19", "deep")
    assert [Path(file.path).name for file in there.files] == [Path(file.path).name for file in here.files]
    assert all(file.etag and file.modified_ns is None for file in there.files)
    assert all(file.etag is None and file.modified_ns for file in here.files)
    for root in (str(tree), place):
        for name in ("nothing", "logs/top.log"):
            with pytest.raises(OSError, match=r"no such folder|No such file|Not a directory"):
                list_folder(f"{root}/{name}")


def test_only_other_bytes_make_another_version_of_an_object(s3: Any, tree: Path) -> None:
    folder = tree / "logs" / "2026-11-18"
    place = s3.upload(folder, s3.fresh_url())
    before = list_folder(place).files
    (folder / "b.log.gz").write_bytes((folder / "b.log.gz").read_bytes()[::-1])
    s3.upload(folder, place)
    same, other = list_folder(place).files
    assert same == before[0]
    assert other != before[1] and other.size_bytes == before[1].size_bytes


def test_key_that_may_not_list(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    for path in (s3.url("logs"), s3.url("logs/*.log"), s3.url("**/a.log")):
        with pytest.raises(SourceError, match="refuses the credentials"):
            log_files([path])
    with pytest.raises(SourceError, match="no such bucket"):
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.environment["AWS_SECRET_ACCESS_KEY"])
        log_files(["s3://nowhere/logs/*"])
