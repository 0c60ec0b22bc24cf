"""Paths -> files -> splits."""

from __future__ import annotations

import gzip
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.errors import SourceError
from starskip.pinot.logs.log_files import LogSplit, log_files, log_splits

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


def test_plain_file_is_cut_and_compressed_one_is_not(folder):
    plain, packed = f"{folder}/b.log", f"{folder}/a.log.gz"
    assert log_splits([packed, plain], 40) == (
        LogSplit(packed, 0, None, "gzip"),
        LogSplit(plain, 0, 40, "none"),
        LogSplit(plain, 40, len(LINE), "none"),
    )


def test_content_tells_the_compression_not_the_name(folder):
    (folder / "b.log").write_bytes(gzip.compress(LINE))
    (folder / "a.log.gz").write_bytes(LINE)
    assert [split.compression for split in log_splits(log_files([str(folder)]), 1000)] == ["none", "gzip"]


def test_empty_and_binary_and_vanished_files_are_one_split(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(b"PAR1\0\0\1\2" * 100)
    files = [f"{tmp_path}/{name}" for name in ("binary", "empty", "vanished")]
    assert log_splits(files, 10) == (
        LogSplit(files[0], 0, None, "none"),
        LogSplit(files[1], 0, 0, "none"),
        LogSplit(files[2], 0, None, "none"),
    )


@settings(deadline=None)
@given(size=st.integers(0, 300), split_bytes=st.integers(1, 400))
def test_splits_tile_the_file(tmp_path_factory, size, split_bytes):
    file = tmp_path_factory.mktemp("tiles") / "log"
    file.write_bytes(b"x" * size)
    splits = log_splits([str(file)], split_bytes)
    assert splits[0].start == 0
    assert splits[-1].end == size
    assert all(before.end == after.start for before, after in pairwise(splits))


def test_split_bytes_of_zero_is_refused():
    with pytest.raises(ValueError, match="split_bytes"):
        log_splits([], 0)
