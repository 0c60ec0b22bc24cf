"""Filters on a time column that nearly follows the rows, on sampled rows and on all of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from starskip.advisor.cost.bound_filter import filter_binder
from starskip.advisor.cost.filter_cost import filter_cost
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.thin_window import follows_rows, thin_window

ROWS = 60_000
SAMPLED = 8_192
"""As of a table with 16 segments."""

CHANCE = 3 * np.sqrt(1 / 7 * 6 / 7 / SAMPLED) * 2
"""Three standard deviations of the share of kind = 3 in a draw, times the two scans that read such a row."""

WAYS = {"scans": (), "range on ts": ("ts",), "inverted on kind": ("kind",), "both": ("ts", "kind")}


def events(order: str) -> RowWindow:
    """Return rows with a time, in seconds; one in ten arrives up to a fiftieth of the segment late."""
    rng = np.random.default_rng(1)
    times = np.arange(ROWS) - np.where(rng.random(ROWS) < 0.1, rng.integers(0, ROWS // 50, ROWS), 0)
    if order == "descending":
        times = times[::-1]
    elif order == "files":
        # Four sorted files, one behind the other.
        times = times.reshape(-1, 4).T.ravel()
    kinds = np.repeat(rng.integers(0, 7, ROWS // 4), 4)
    columns = {"ts": times, "kind": kinds, "user": rng.integers(0, 500, ROWS)}
    return RowWindow("t", "0", ROWS, ROWS, {name: _column(values) for name, values in columns.items()})


def _column(values: np.ndarray) -> ColumnWindow:
    dictionary, codes = np.unique(values, return_inverse=True)
    return ColumnWindow(codes.astype(np.int32), pa.array(dictionary))


WHOLE = {order: events(order) for order in ("ascending", "descending", "files")}
BINDERS = {
    order: [filter_binder(window, lambda leaf: False) for window in (whole, thin_window(whole, SAMPLED))]
    for order, whole in WHOLE.items()
}


def test_what_follows_the_rows() -> None:
    for whole in WHOLE.values():
        assert [name for name, column in whole.columns.items() if follows_rows(column)] == ["ts"]
    raw = ColumnWindow(
        np.arange(ROWS, dtype=np.int32), values=pa.array(np.random.default_rng(2).random(ROWS))
    )
    assert not follows_rows(raw), "its codes count its values, in the order in which they come"
    assert not follows_rows(ColumnWindow(np.zeros(ROWS, np.int32), pa.array(["one"])))
    assert not follows_rows(ColumnWindow(np.zeros(0, np.int32), pa.array(["none"])))


@pytest.mark.law
@settings(max_examples=law_cases("STARSKIP_CLUSTERED_TIMES", 60), deadline=None)
@given(
    order=st.sampled_from(sorted(WHOLE)),
    start=st.floats(0, 1),
    ratio=st.sampled_from([0.002, 0.01, 0.05, 0.2, 0.6]),
    way=st.sampled_from(sorted(WAYS)),
)
def test_sampled_rows_read_what_all_rows_do(order: str, start: float, ratio: float, way: str) -> None:
    first = round(start * (1 - ratio) * ROWS)
    cut = normalize_sql(
        "SELECT COUNT(*) FROM t"
        f" WHERE ts BETWEEN {first} AND {first + round(ratio * ROWS)} AND kind = 3 AND user <> 7"
    )
    exact, sampled = (
        filter_cost(
            binder.bind(query_shape(cut.skeleton).filter, cut.literals),
            lambda leaf: 0.0 if leaf.column in WAYS[way] else None,
        )
        for binder in BINDERS[order]
    )
    assert abs(sampled - exact) < CHANCE, "entries a row of the segment"
