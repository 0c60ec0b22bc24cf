"""Entries of a range are counted to 5 % and some at its ends; a count that is not exact has read no block.

Units that hold survivors are counted as a look at every row counts them.
"""

from __future__ import annotations

import random

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skipping_tables import aged
from starskip.secondary import IndexedTable, open_table
from starskip.secondary.cost import Stride, TableLayout
from starskip.secondary.entries import addresses_of, bitmap_of
from starskip.secondary.lifecycle import create_indexes
from starskip.secondary.postings import PostingReader
from starskip.storage.files.bytes_read import counted_bytes

ROWS, MOST = 200_000, 1 << 30
AT_ENDS = 300
"""Entries that blocks at the ends of a range have more or less than their spans tell, in three runs."""


_POSITIONS = st.sets(st.one_of(st.integers(0, 60), st.integers(0, 5_000), st.integers(0, (1 << 32) - 1)))


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
    aged(folder)
    create_indexes(str(folder), ["btree:k"])
    opened = open_table(str(folder))
    for segment in opened.opened.now().segments:
        # Footers tell of long lists.
        assert all(run.row_groups for run in segment.runs["btree:k"])
    return opened


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
        assert abs(counted - truth) <= 0.05 * truth + AT_ENDS
        if counted != truth:
            inexact += 1
            # A run may have a key with a long list at one end of a narrow range alone.
            assert read.bytes == 0 or width == 30
    # Keys with long lists are looked up, those between them are not.
    assert inexact > 0 or width == 30


@pytest.mark.parametrize("where", ["k = 7", "k IN (3, 48, 60000)", "k >= 3 AND k <= 11", "k <= 47"])
def test_keys_with_many_entries_are_counted_as_they_are(
    table: IndexedTable, keys: np.ndarray, where: str
) -> None:
    state = table.opened.now()
    path = state.condition(where)[1].paths[0]
    truth = duckdb.sql(
        f"SELECT count(*) FROM (SELECT unnest($1) AS k) WHERE {where}", params=[keys]
    ).fetchall()
    counted = PostingReader(state.segments).count(path)
    is_of_keys = "<" not in where
    assert abs(counted - truth[0][0]) <= (0 if is_of_keys else 0.05 * truth[0][0])


@given(
    st.dictionaries(st.integers(0, 30), _POSITIONS, max_size=6),
    st.lists(st.integers(1, 3_000), min_size=1, max_size=3),
)
def test_units_are_those_of_the_rows(positions_of_files: dict[int, set[int]], rows: list[int]) -> None:
    layout = TableLayout(1 << 33, tuple(Stride(each, {}, is_page=True) for each in rows))
    found_at = {file: np.array(sorted(places), np.int64) for file, places in positions_of_files.items()}
    addresses = [addresses_of(file, places) for file, places in found_at.items()]
    bitmap = bitmap_of(np.concatenate([np.array([], np.uint64), *addresses]))
    found = layout.units_holding({"segment": bitmap})
    assert list(found) == [
        sum(len(np.unique(places // each)) for places in found_at.values()) for each in rows
    ]
