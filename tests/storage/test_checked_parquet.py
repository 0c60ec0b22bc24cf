"""Footers of the store's Parquet files: read once, and told where one bit is another."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flipped_footers import flipped_footers, footer_start
from starskip.storage.checked_parquet import checked_parquet, footer_digest, opened_parquet
from starskip.storage.encryption.data_key import DataKey
from starskip.storage.manifest import DataFile

NAME = "a/data/x.parquet"
ROWS = pa.table({"a": list(range(600)), "b": [str(number % 7) for number in range(600)]})


class Reads(io.BytesIO):
    """A file that keeps where it was read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.ranges: list[tuple[int, int]] = []

    def read(self, size: int | None = -1) -> bytes:
        start = self.tell()
        found = super().read(size)
        self.ranges.append((start, start + len(found)))
        return found


def written(groups: int = 1, encryption: Any = None) -> tuple[bytes, DataFile]:
    size = len(ROWS) // groups
    content = checked_parquet(ROWS, NAME, row_group_size=size, encryption=encryption).to_pybytes()
    return content, DataFile(NAME, len(content), len(ROWS), footer_digest(content))


def told(content: bytes, file: DataFile) -> tuple[int, int]:
    """Return how many flips there are, and how many are told by the exception that is meant to."""
    flips = found = 0
    for flipped in flipped_footers(content):
        flips += 1
        try:
            opened_parquet(pa.BufferReader(flipped), file)
        except pa.ArrowInvalid as error:
            found += str(error) == f"{NAME}: its footer is not the one that was written"
    return flips, found


@pytest.mark.parametrize("groups", [1, 10])
def test_each_changed_bit_of_a_footer_is_told(groups: int) -> None:
    content, file = written(groups)
    assert opened_parquet(pa.BufferReader(content), file).read().equals(ROWS)
    flips, found = told(content, file)
    assert found == flips == 3 * (len(content) - footer_start(content)) > 1_000


def test_without_its_digest_a_footer_is_believed() -> None:
    content, file = written()
    wrong = 0
    for flipped in flipped_footers(content):
        try:
            read = opened_parquet(pa.BufferReader(flipped), replace(file, footer=None)).read()
        except (pa.ArrowException, OSError, LookupError, ValueError):
            continue
        wrong += not read.equals(ROWS)
    assert wrong


@pytest.mark.parametrize("groups", [1, 600])
def test_a_footer_is_read_as_often_as_pyarrow_reads_it(groups: int) -> None:
    content, file = written(groups)
    by_us, by_pyarrow = Reads(content), Reads(content)
    parquet: Any = opened_parquet(pa.PythonFile(by_us, mode="r"), file)
    pq.ParquetFile(pa.PythonFile(by_pyarrow, mode="r"))
    # The second is of a footer that the first has not seen all of.
    assert len(by_us.ranges) == len(by_pyarrow.ranges) == (1 if groups == 1 else 2)
    assert parquet.read().equals(ROWS)


def test_a_shorter_file_and_an_empty_one_are_told() -> None:
    content, file = written()
    for kept in (0, 3, 8, len(content) // 2, len(content) - 1):
        with pytest.raises((pa.ArrowInvalid, OSError), match=r"its footer is not the one|Read out of bounds"):
            opened_parquet(pa.BufferReader(content[:kept]), file)


@pytest.mark.parametrize("content", [b"", b"<html>", b"PAR1 is what it begins with", b"ends with PARE"])
def test_what_is_no_parquet_has_no_digest(content: bytes) -> None:
    assert footer_digest(content) is None


def test_an_encrypted_footer_is_read_once_and_told_too() -> None:
    key = DataKey.new("t", "g")
    content, file = written(10, key.encryption(NAME))
    reads = Reads(content)
    parquet: Any = opened_parquet(pa.PythonFile(reads, mode="r"), file, decryption=key.decryption(NAME))
    assert len(reads.ranges) == 1
    assert parquet.read().equals(ROWS) and parquet.read_row_group(9).equals(ROWS.slice(540))
    for flipped in flipped_footers(content):
        with pytest.raises(pa.ArrowInvalid, match="its footer is not the one that was written"):
            opened_parquet(pa.BufferReader(flipped), file, decryption=key.decryption(NAME))
