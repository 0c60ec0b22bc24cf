from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import obstore
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.storage.files.byte_ranges import coalesced, read_ranges
from starskip.storage.files.object_reader import ObjectReader

CONTENT = os.urandom(600_001)
_RANGES = st.lists(
    st.tuples(st.integers(0, len(CONTENT)), st.integers(0, 5_000)).map(
        lambda each: (each[0], min(each[0] + each[1], len(CONTENT)))
    ),
    max_size=12,
)


@given(_RANGES, st.integers(0, 100_000))
def test_coalesced_ranges_cover_all_and_lie_apart(ranges: list[tuple[int, int]], gap: int) -> None:
    found = coalesced(ranges, gap)
    for start, end in ranges:
        assert start == end or any(first <= start and end <= last for first, last in found)
    assert all(after[0] - before[1] > gap for before, after in pairwise(found))


def test_ranges_of_a_file_are_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)

    @given(_RANGES)
    def check(ranges: list[tuple[int, int]]) -> None:
        found, _ = read_ranges(str(path), ranges)
        assert [bytes(each) for each in found] == [CONTENT[start:end] for start, end in ranges]

    check()


def test_ranges_of_an_object_are_few_requests(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{s3.fresh_url()}/object"
    obstore.put(s3.store(), url.removeprefix(s3.url()), CONTENT)
    asked: list[tuple[int, int]] = []
    sound = ObjectReader.read_range

    def counted(self: ObjectReader, start: int, end: int) -> bytes:
        asked.append((start, end))
        return sound(self, start, end)

    monkeypatch.setattr(ObjectReader, "read_range", counted)
    ranges = [(500_000, 500_100), (0, 10), (100, 110), (599_990, 600_001)]
    found, size = read_ranges(url, ranges)
    assert [bytes(each) for each in found] == [CONTENT[start:end] for start, end in ranges]
    assert sorted(asked) == [(0, 110), (500_000, 600_001)]
    assert size == 110 + 100_001


def test_a_file_that_is_shorter_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    with pytest.raises(OSError, match="ends within"):
        read_ranges(str(path), [(1, 9)])
