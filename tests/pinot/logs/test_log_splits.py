"""Files -> splits.

Records without a time: the night of the day that their file's path names, or of any day it may hold.
"""

from __future__ import annotations

import gzip
import os
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.pinot.logs.file_day import may_be_of_day
from starskip.pinot.logs.log_splits import LogSplit, log_splits

LINE = b"2026/11/18 08:45:08.326 INFO [QueryLogger] [t] requestId=1,table=t\n"


LATE_EVENING = datetime(2026, 11, 18, 23, 0, tzinfo=UTC).timestamp()


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


@pytest.fixture
def nameless(tmp_path):
    path = tmp_path / "events.json"
    path.touch()
    os.utime(path, (LATE_EVENING, LATE_EVENING))
    return str(path)


@pytest.mark.parametrize("day", [17, 18, 19])
def test_the_day_that_the_path_names_and_no_other(tmp_path, day):
    path = tmp_path / "events-2026-11-18.json"
    path.touch()  # changed today
    assert may_be_of_day(str(path), date(2026, 11, day), "UTC") is (day == 18)


@pytest.mark.parametrize(
    ("day", "zone", "expected"),
    [(17, "UTC", True), (18, "UTC", True), (19, "UTC", False), (19, "Europe/Berlin", True)],
)
def test_a_file_last_changed_before_a_day_holds_nothing_of_it(nameless, day, zone, expected):
    assert may_be_of_day(nameless, date(2026, 11, day), zone) is expected


@pytest.mark.parametrize("path", ["s3://bucket/events.json", "/absent/events.json", "events\0.json"])
def test_of_a_file_whose_change_nobody_knows_any_day_may_be(path):
    assert may_be_of_day(path, date(2026, 11, 18), "UTC")
