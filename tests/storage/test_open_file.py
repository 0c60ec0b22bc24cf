"""Failures of one local file, and outages of its disk, which a retry may mend."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from no_more_files import no_more_files
from starskip.errors import SourceError, SourceOutage
from starskip.lake.parquet.parquet_footers import counted_rows, each_footer
from starskip.secondary.data_file import reading
from starskip.storage.files.byte_ranges import read_ranges
from starskip.storage.files.file_identity import file_identity
from starskip.storage.files.first_files import first_files
from starskip.storage.files.list_folder import list_folder
from starskip.storage.files.log_files import log_files
from starskip.storage.files.open_file import file_head, file_size, open_file, read_small_file

BROKEN = "/proc/self/mem"
"""A file that opens, and whose first byte cannot be read: EIO."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "a.parquet")
    return tmp_path


@pytest.mark.parametrize(
    "read",
    [
        lambda folder: open_file(f"{folder}/a.parquet").close(),
        lambda folder: file_head(f"{folder}/a.parquet", 4),
        lambda folder: read_ranges(f"{folder}/a.parquet", [(0, 4)]),
        lambda folder: list_folder(str(folder)),
        lambda folder: first_files(str(folder), 9),
        lambda folder: log_files([str(folder)]),
        lambda folder: counted_rows(f"{folder}/a.parquet"),
        lambda folder: each_footer([f"{folder}/a.parquet"]),
    ],
)
def test_a_process_without_descriptors_is_an_outage(read: Callable[[Path], object], place: Path) -> None:
    read(place)
    with no_more_files(), pytest.raises(SourceOutage) as caught:
        read(place)
    assert re.fullmatch(rf"{place}\S*: cannot be read now: Too many open files", str(caught.value))


@pytest.mark.parametrize("read", [lambda file: file.read(1), lambda file: file.read()])
def test_a_file_whose_bytes_cannot_be_read_is_no_outage(read: Callable[[object], bytes]) -> None:
    with open_file(BROKEN) as file, pytest.raises(OSError, match="Input/output error"):
        read(file)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gone", FileNotFoundError),
        (".", IsADirectoryError),
        ("a.parquet/below", NotADirectoryError),
        ("x" * 300, OSError),
    ],
)
def test_a_failure_of_one_file_stays_one(name: str, kind: type[OSError], place: Path) -> None:
    for read in (open_file, read_small_file):
        with pytest.raises(kind):
            read(f"{place}/{name}")
    if name != ".":
        with pytest.raises(kind):
            file_size(f"{place}/{name}")
        with pytest.raises(SourceError) as caught:
            file_identity(place / name)
        assert not isinstance(caught.value, SourceOutage)


def test_damage_that_a_library_finds_is_no_outage(place: Path) -> None:
    with pytest.raises(SourceError, match="its columns are encrypted") as caught, reading(str(place)):
        raise OSError("its columns are encrypted")
    assert not isinstance(caught.value, SourceOutage)
    with pytest.raises(SourceOutage), reading(BROKEN), no_more_files(), Path(BROKEN).open("rb"):
        pass
