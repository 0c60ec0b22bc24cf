"""Files -> splits."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.pinot.logs.log_splits import LogSplit, log_splits

LINE = b"2026/11/18 08:45:08.326 INFO [QueryLogger] [t] requestId=1,table=t\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b.log").write_bytes(LINE)
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(LINE))
    return tmp_path


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
    assert [split.compression for split in log_splits([f"{folder}/a.log.gz", f"{folder}/b.log"], 1000)] == [
        "none",
        "gzip",
    ]


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
