"""Units that hold survivors are counted as a look at every row counts them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from starskip.secondary.cost import Stride, TableLayout
from starskip.secondary.entries import addresses_of, bitmap_of

_POSITIONS = st.sets(st.one_of(st.integers(0, 60), st.integers(0, 5_000), st.integers(0, (1 << 32) - 1)))


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
