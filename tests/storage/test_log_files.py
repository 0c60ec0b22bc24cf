"""Paths -> files."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from starskip.errors import SourceError
from starskip.storage.files.log_files import log_files

LINE = b"2026/11/18 08:45:08.326 INFO [QueryLogger] [t] requestId=1,table=t\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.log", "a.log.gz", "_SUCCESS", ".hidden", "inner/c.log"):
        file = tmp_path / "logs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(LINE) if name.endswith("gz") else LINE)
    return tmp_path / "logs"


def test_folder_gives_its_files_sorted_without_hidden_ones_and_folders(folder):
    assert log_files([str(folder)]) == (f"{folder}/a.log.gz", f"{folder}/b.log")


def test_glob_file_and_folder_that_name_one_file_give_it_once(folder):
    assert log_files([f"{folder}/b*", f"{folder}/b.log", str(folder), f"{folder}/inner/../b.log"]) == (
        f"{folder}/a.log.gz",
        f"{folder}/b.log",
    )


def test_glob_over_folders_takes_their_files(folder):
    assert f"{folder}/inner/c.log" in log_files([f"{folder}/*"])


def test_recursive_glob(folder):
    assert len(log_files([f"{folder}/**/*.log"])) == 2


def test_name_with_glob_characters_is_a_name_first(folder):
    (folder / "day[1].log").write_bytes(LINE)
    assert log_files([f"{folder}/day[1].log"]) == (f"{folder}/day[1].log",)


def test_empty_folder_is_an_empty_log(tmp_path):
    assert log_files([str(tmp_path)]) == ()


@pytest.mark.parametrize("name", ["absent.log", "absent/*.gz", "with\nnewline", "nul\0", "x" * 5000])
def test_path_that_names_nothing_is_named_in_one_line(folder, name):
    with pytest.raises(SourceError) as raised:
        log_files([str(folder), f"{folder}/{name}"])
    assert raised.value.source == f"{folder}/{name}"
    assert "\n" not in str(raised.value)


def test_pipe_is_neither_file_nor_folder(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="neither a file nor a folder"):
        log_files([f"{tmp_path}/pipe"])
