"""Thin a window to runs of consecutive rows, spread evenly over it; tell its rows in a column's order.

One run at the front would take a segment sorted by time for its first day; single rows would lose the
clusters that decide how far Pinot's iterators leap. If a column follows the order of the rows, a range of
its values is one stretch of rows: a few long runs would lie in it or beside it, so there are many short ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from starskip.tables.row_window import ColumnWindow, RowWindow

RUNS = 16
MOST_RUNS = 1_024
LEAST_RUN_ROWS = 16
"""Clusters, such as the lines of one order, are cut by the end of one run in so many rows."""

_LOOKED_AT_ROWS = 1_024
_ORDERED_RATIO = 0.25


def thin_window(window: RowWindow, max_rows: int) -> RowWindow:
    """Return at most ``max_rows`` rows of ``window`` in runs; the window itself if it is no larger.

    There are RUNS of them, and more and shorter ones if a column follows the order of the rows.
    """
    if window.rows <= max_rows or max_rows < RUNS:
        return window
    runs = RUNS
    if any(map(follows_rows, window.columns.values())):
        runs = max(min(MOST_RUNS, max_rows // LEAST_RUN_ROWS), RUNS)
    run_rows = max_rows // runs
    starts = (np.arange(runs) * (window.rows - run_rows)) // (runs - 1)
    rows = (starts[:, None] + np.arange(run_rows)).ravel()
    return rows_taken(window, rows)


def follows_rows(column: ColumnWindow) -> bool:
    """Return whether neighbours among evenly spaced rows differ far less than any two of them do.

    So it is with a sorted column, with one that events reached a little late, and with sorted files behind
    each other. A column of several values a row, or of one value, does not.
    """
    if column.offsets is not None:
        return False
    steps = min(_LOOKED_AT_ROWS, len(column.codes))
    codes = column.codes[(np.arange(steps) * len(column.codes)) // max(steps, 1)]
    if column.values is not None:
        # Distinct values of a raw column stand in no order.
        codes = pc.rank(column.values.take(codes), tiebreaker="dense").to_numpy()
    _, places = np.unique(codes, return_inverse=True)
    apart = np.abs(places - places[np.random.default_rng(0).permutation(steps)]).mean() if steps else 0.0
    return bool(np.abs(np.diff(places)).sum() < _ORDERED_RATIO * apart * steps)


def rows_taken(window: RowWindow, rows: npt.NDArray[np.int64]) -> RowWindow:
    """Return the given rows of ``window``, in their order."""
    columns = {name: _taken(column, rows) for name, column in window.columns.items()}
    return replace(window, rows=len(rows), columns=columns)


def _taken(column: ColumnWindow, rows: npt.NDArray[np.int64]) -> ColumnWindow:
    nulls = None if column.nulls is None else column.nulls[rows]
    if column.offsets is None:
        return replace(column, codes=column.codes[rows], nulls=nulls)
    lengths = np.diff(column.offsets)[rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    # Entry i of row r lies at the row's old start plus i: repeat each start, add a count within the row.
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    entries = np.repeat(column.offsets[:-1][rows], lengths) + within
    return replace(column, codes=column.codes[entries], offsets=offsets, nulls=nulls)


def sorted_rows(window: RowWindow, column: str) -> npt.NDArray[np.int64] | None:
    """Return the rows of ``window`` in the order of a single-value ``column``, as sorted input has them.

    Rows of equal values keep their order. Of a column that the window lacks the order is not known: None.
    """
    found = window.columns.get(column)
    if found is None or found.offsets is not None:
        return None
    codes: npt.NDArray[np.signedinteger] = found.codes
    if found.values is not None:
        # Distinct values of a raw column stand in no order.
        ranks = np.empty(len(found.values), dtype=np.int64)
        ranks[pc.array_sort_indices(found.values).to_numpy()] = np.arange(len(found.values))
        codes = ranks[codes]
    return np.argsort(codes, kind="stable")
