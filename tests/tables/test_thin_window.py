from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.thin_window import RUNS, thin_window


def window_of(rows: int) -> RowWindow:
    """Row r holds code r, and in column ``many`` r % 4 entries of code r."""
    lengths = np.arange(rows) % 4
    columns = {
        "one": ColumnWindow(np.arange(rows, dtype=np.int32), pa.array(range(rows))),
        "many": ColumnWindow(
            np.repeat(np.arange(rows), lengths).astype(np.int32),
            pa.array(range(rows)),
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        ),
    }
    return RowWindow("t", "0", rows, rows, columns)


@given(rows=st.integers(1, 2_000), max_rows=st.integers(1, 2_500))
def test_runs_of_whole_rows_spread_from_the_first_to_the_last(rows: int, max_rows: int) -> None:
    whole = window_of(rows)
    thin = thin_window(whole, max_rows)
    kept = thin.columns["one"].codes
    assert thin.segment_rows == rows
    assert thin.rows == len(kept)
    if rows <= max_rows or max_rows < RUNS:
        assert thin is whole
        return
    assert len(kept) <= max_rows
    assert len(set(kept.tolist())) == len(kept), "no row twice"
    assert (kept[0], kept[-1]) == (0, rows - 1)
    # Code r follows row r: there are more runs than of rows in no order.
    assert np.count_nonzero(np.diff(kept) != 1) <= max(RUNS, max_rows // 16) - 1
    many = thin.columns["many"]
    assert many.offsets is not None
    for position, row in enumerate(kept):
        entries = many.codes[many.offsets[position] : many.offsets[position + 1]]
        assert entries.tolist() == [row] * (row % 4)
