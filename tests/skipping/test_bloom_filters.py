"""Bloom filters: as large as they need be, as false as they may be, never wrong."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.skipping import bloom_filters
from starskip.skipping.bloom_filters import may_hold
from starskip.skipping.index_types.hybrid import hybrid_threshold

RANDOM = np.random.default_rng(6)


def filters_of(lists: list[list[int] | None], ratio: float = 0.01) -> pa.Array:
    made = [
        pa.nulls(1, pa.large_binary())
        if each is None
        # In two pieces, as those of a large file come.
        else bloom_filters.bloom_filter(
            np.split(hashes(sorted({*each})), [len({*each}) // 2]), len({*each}), ratio
        )
        for each in lists
    ]
    return pa.concat_arrays(made) if made else pa.nulls(0, pa.large_binary())


def hashes(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64).view(np.uint64)


@given(st.lists(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=20) | st.none(), max_size=6))
def test_what_is_in_is_found(lists):
    filters = filters_of(lists)
    for value in {each for values in lists for each in values or []}:
        found = may_hold(filters, hashes([value]), 0.01)
        assert all(f or not (v is None or value in v) for f, v in zip(found, lists, strict=True))


@pytest.mark.parametrize("ratio", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("count", [10, 1000, 4000])
def test_size_and_false_positives_are_those_asked_for(ratio, count):
    files = max(20, 4000 // count)
    values = RANDOM.integers(-(1 << 63), 1 << 63, (files, count))
    filters = filters_of(values.tolist(), ratio)
    bits = pa.compute.binary_length(filters).to_numpy() * 8
    assert set(bits) == {math.ceil(-count * math.log(ratio) / math.log(2) ** 2 / 8) * 8}
    tried = RANDOM.integers(-(1 << 63), 1 << 63, 8000 // files)
    found = [may_hold(filters, hashes([int(each)]), ratio).mean() for each in tried]
    assert np.mean(found) < 1.5 * ratio + 0.003


def test_thousands_of_values_at_once():
    values = RANDOM.integers(0, 1 << 62, (50, 100))
    filters = filters_of(values.tolist(), 1e-6)
    several = np.concatenate([RANDOM.integers(0, 1 << 62, 5000), values[7], values[33]])
    found = np.flatnonzero(may_hold(filters, several.view(np.uint64), 1e-6)).tolist()
    # A quarter of a false one is expected among as many pairs.
    assert {7, 33} <= set(found) and len(found) < 7


def test_more_probes_than_are_worth_it(monkeypatch):
    monkeypatch.setattr(bloom_filters, "MOST_PROBES", 100)
    filters = filters_of([[1], [], None, [2]] * 10)
    assert may_hold(filters, hashes(list(range(100, 200))), 0.01).tolist() == [True, False, True, True] * 10


def test_slices_of_a_column():
    filters = filters_of([[1], [2], None, [3]])
    assert may_hold(filters.slice(1, 2), hashes([2]), 0.01).tolist() == [True, True]
    assert may_hold(filters.slice(3), hashes([2]), 0.01).tolist() == [False]
    assert may_hold(filters.slice(4), hashes([2]), 0.01).tolist() == []


def test_the_seeds_example_of_a_threshold():
    assert int(hybrid_threshold(64e6, 512)) == 10_088


def test_values_smaller_than_a_filters_share_are_always_listed():
    assert hybrid_threshold(64e6, 8) == math.inf
