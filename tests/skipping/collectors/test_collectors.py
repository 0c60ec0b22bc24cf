"""Collectors: what they keep is that of all values, however these come, and however small their memory is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.skipping.bloom_filters import may_hold
from starskip.skipping.collectors import (
    distinct_hashes,
    distinct_values,
    ranges_collector,
)
from starskip.skipping.collectors.distinct_hashes import DistinctHashes
from starskip.skipping.collectors.distinct_values import DistinctValues, ValuesCollector
from starskip.skipping.collectors.filter_collector import FilterCollector
from starskip.skipping.collectors.ranges_collector import RangesCollector
from starskip.skipping.file_collector import FileCollector

RANDOM = np.random.default_rng(8)


def through(
    make: Callable[[], FileCollector], name: str, batches: list[pa.Array], tasks: int
) -> dict[str, Any]:
    """Result of merging what some tasks have read of a file."""
    whole = make()
    for task in range(tasks):
        of_task = make()
        for batch in batches[task::tasks]:
            of_task.add(pa.record_batch({name: batch}))
        for part in of_task.parts():
            whole.merge(part)
    return {name: column[0].as_py() for name, column in whole.result().items()}


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.integers(0, 60) | st.sampled_from((2**64 - 1, 2**63))), max_size=12),
    st.sampled_from((1, 3, 8, 1000)),
)
def test_hashes_that_do_not_fit_into_memory_are_all_there_once(batches: list[list[int]], held: int) -> None:
    wanted = sorted({each for batch in batches for each in batch})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct_hashes, "HELD", held)
        found = DistinctHashes()
        for batch in batches:
            found.add(np.array(batch, np.uint64))
        assert [each for chunk in found.chunks() for each in chunk.tolist()] == wanted
        assert found.count() == len(wanted)


@pytest.mark.slow
def test_repeated_hashes_take_no_more_disk_than_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    most = Counter[str]()
    written = distinct_hashes._run

    def counted(file: Any, start: int, ascending: Any) -> Any:
        run = written(file, start, ascending)
        most["written"] = max(most["written"], start + int(run.ends[-1]))
        return run

    monkeypatch.setattr(distinct_hashes, "_run", counted)
    monkeypatch.setattr(distinct_hashes, "HELD", 1000)
    found = DistinctHashes()
    values = RANDOM.integers(0, 2**64, 5000, np.uint64)
    for _ in range(300):
        found.add(RANDOM.permutation(values))
        assert found.size_bytes <= 8 * (1000 + 5000)
    assert found.count() == 5000
    assert most["written"] < 2 * 5000 + 8 * 1000 + 5000 + 1


def test_hashes_that_are_written_cannot_be_read_there(monkeypatch: pytest.MonkeyPatch) -> None:
    raw: list[bytes] = []
    monkeypatch.setattr(distinct_hashes.tempfile, "TemporaryFile", lambda **_: _Watched(raw))
    monkeypatch.setattr(distinct_hashes, "HELD", 100)
    found = DistinctHashes()
    values = RANDOM.integers(0, 2**64, 3000, np.uint64)
    for piece in np.array_split(values, 30):
        found.add(piece)
    assert found.count() == 3000 and sum(map(len, raw)) > 8 * 2000
    plain = {int(each) for each in values}
    written = np.frombuffer(b"".join(raw), np.uint64)
    assert not plain & {int(each) for each in written}


class _Watched(BytesIO):
    def __init__(self, raw: list[bytes]) -> None:
        super().__init__()
        self._raw = raw

    def write(self, content: Any) -> int:
        self._raw.append(bytes(content))
        return super().write(content)


@pytest.mark.slow
@pytest.mark.parametrize("held", [50, 1 << 20])
def test_a_filter_is_the_same_whether_its_hashes_fit_into_memory(
    held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distinct_hashes, "HELD", held)
    values = RANDOM.integers(-(2**63), 2**63 - 1, 4000)
    batches = [pa.array([*values[at : at + 500], None]) for at in range(0, 4000, 250)]
    found = through(lambda: FilterCollector(0.01), "hashes", batches, 3)["filter"]
    assert len(found) == math.ceil(-4000 * math.log(0.01) / math.log(2) ** 2 / 8)
    filters = pa.array([found], pa.large_binary())
    assert all(may_hold(filters, np.array([each]).view(np.uint64), 0.01)[0] for each in values)
    others = RANDOM.integers(-(2**63), 2**63 - 1, 2000)
    assert np.mean([may_hold(filters, np.array([each]).view(np.uint64), 0.01)[0] for each in others]) < 0.02


def test_lists_end_where_values_are_too_many_or_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(most: int, most_bytes: int) -> Callable[[], FileCollector]:
        kind = pa.string()
        monkeypatch.setattr(distinct_values, "MOST_BYTES", most_bytes)
        return lambda: ValuesCollector("values", DistinctValues(kind, most), kind)

    batches = [pa.array(["a", None, "b"]), pa.array(["b", "c"]), pa.array([None], pa.string())]
    assert sorted(through(of(3, 1000), "values", batches, 2)["values"]) == ["a", "b", "c"]
    assert through(of(2, 1000), "values", batches, 2) == {"values": None}
    assert through(of(9, 100), "values", [*batches, pa.array(["x" * 200])], 1) == {"values": None}
    assert through(of(9, 100), "values", [], 1) == {"values": []}


def test_zeros_are_one_value_and_so_are_nans() -> None:
    found = DistinctValues(pa.float64())
    found.add(pa.array([0.0, -0.0, float("nan"), None]))
    found.add(pa.array([-0.0, -float("nan")]))
    assert len(found.values() or []) == 2


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(-50, 50), max_size=9), max_size=9), st.sampled_from((2, 3, 5, 1000)))
def test_ranges_hold_all_values_and_nothing_in_known_gaps(batches: list[list[int]], most: int) -> None:
    arrays = [pa.array([*each, None], pa.int32()) for each in batches]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges_collector, "MOST_RANGES", most)
        found = through(lambda: RangesCollector(pa.int32()), "values", arrays, 2)
    values, joined = found["values"], found["joined"]
    every = {each for batch in batches for each in batch}
    assert values == sorted(set(values)) and set(values) <= every
    assert len(values) <= 2 * most
    gaps = [
        (low, high) for low, high, closed in zip(values, values[1:], joined[1:], strict=False) if not closed
    ]
    assert not any(low < each < high for low, high in gaps for each in every)
    assert not every or (values[0], values[-1]) == (min(every), max(every))
    if len(every) <= 2 * most:
        assert values == sorted(every) and not any(joined)


def test_the_widest_gap_of_many_values_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges_collector, "MOST_RANGES", 50)
    values = np.concatenate([np.arange(0, 5000), np.arange(90_000, 95_000)])
    batches = [pa.array(each) for each in np.array_split(RANDOM.permutation(values), 40)]
    found = through(lambda: RangesCollector(pa.int64()), "values", batches, 4)
    assert (4999, 90_000) in [
        (low, high)
        for low, high, closed in zip(found["values"], found["values"][1:], found["joined"][1:], strict=False)
        if not closed
    ]
