import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.thin_window import RUNS, thin_window


def _window(lengths: list[int]) -> RowWindow:
    rows = len(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    # Each entry tells the row that it belongs to, so that a misplaced one is seen.
    owners = np.repeat(np.arange(rows, dtype=np.int32), lengths)
    dictionary = pa.array(range(rows), pa.int32())
    columns = {
        "single": ColumnWindow(np.arange(rows, dtype=np.int32), dictionary),
        "several": ColumnWindow(owners, dictionary, offsets),
    }
    return RowWindow("t", "s", 10 * rows, 0, rows, columns)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=400), st.integers(1, 200))
def test_rows_keep_their_entries_and_their_order(lengths: list[int], max_rows: int) -> None:
    thinned = thin_window(_window(lengths), max_rows)
    rows = thinned.columns["single"].codes
    offsets = thinned.columns["several"].offsets
    assert offsets is not None
    assert len(rows) == thinned.rows == len(offsets) - 1
    for place, row in enumerate(rows):
        entries = thinned.columns["several"].codes[offsets[place] : offsets[place + 1]]
        assert entries.tolist() == [row] * lengths[row]
    if max_rows >= RUNS:
        assert thinned.rows <= max(max_rows, 0) or len(lengths) <= max_rows


def test_runs_reach_from_the_first_row_to_the_last() -> None:
    rows = thin_window(_window([1] * 1000), 160).columns["single"].codes
    assert rows[0] == 0
    assert rows[-1] == 999
    assert len(set(np.diff(rows).tolist()) - {1}) >= 1


def test_a_small_window_is_left_as_it_is() -> None:
    window = _window([1] * 50)
    assert thin_window(window, 50) is window
