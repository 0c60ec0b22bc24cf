"""Entries of a range are counted to 5 %, and a count that is not exact has read no block."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.indexes.secondary import IndexedTable, open_table
from starskip.indexes.secondary.lifecycle import create_indexes
from starskip.indexes.secondary.postings import PostingReader
from starskip.storage.files.bytes_read import counted_bytes

ROWS, MOST = 200_000, 1 << 30


@pytest.fixture(scope="module")
def keys() -> np.ndarray:
    """Whole numbers, half of them spread, half of them few."""
    drawn = np.random.default_rng(11)
    return np.where(drawn.random(ROWS) < 0.5, drawn.integers(0, MOST, ROWS), drawn.integers(0, 50, ROWS))


@pytest.fixture(scope="module")
def table(keys: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> IndexedTable:
    folder = tmp_path_factory.mktemp("keys")
    for number, part in enumerate(np.array_split(keys, 3)):
        pq.write_table(pa.table({"k": part}), folder / f"{number}.parquet")
    create_indexes(str(folder), ["btree:k"])
    return open_table(str(folder))


@pytest.mark.parametrize("width", [30, 10_000, 10_000_000, MOST // 3, MOST])
def test_a_count_is_exact_or_has_read_nothing(table: IndexedTable, keys: np.ndarray, width: int) -> None:
    drawn = random.Random(width)
    inexact = 0
    for _ in range(40):
        low = drawn.randrange(-width // 2, MOST)
        state = table.opened.now()
        path = state.condition(f"k >= {low} AND k < {low + width}")[1].paths[0]
        with counted_bytes() as read:
            counted = PostingReader(state.segments).count(path)
        truth = int(np.count_nonzero((keys >= low) & (keys < low + width)))
        assert abs(counted - truth) <= 0.05 * truth
        if counted != truth:
            inexact += 1
            assert read.bytes == 0
    assert (inexact > 0) == (width >= MOST // 3)
