from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.cost.bound_filter import (
    BUCKETS,
    BoundAnd,
    BoundFilter,
    BoundLeaf,
    FilterBinder,
    filter_binder,
    is_served_by_sorting,
    rescanned_rows,
)
from starskip.advisor.cost.leaf_masks import ConstantFilter
from starskip.advisor.families.access_rules import AccessRules
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.predicate import Leaf, leaves
from starskip.sql.query_shape import query_shape
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.thin_window import rows_taken, sorted_rows

Windows = Callable[..., RowWindow]


def bound(binder: FilterBinder, where: str, unknown_ratio: float | None = None) -> BoundFilter:
    cut = normalize_sql(f"select count(*) from t where {where}")
    return binder.bind(query_shape(cut.skeleton).filter, cut.literals, unknown_ratio)


def matching(binder: FilterBinder, where: str) -> list[int] | ConstantFilter:
    found = bound(binder, where)
    return found if isinstance(found, ConstantFilter) else np.flatnonzero(found.mask).tolist()


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("n = 3", [3]),
        ("n = -1", [0]),
        ("n in (-1, 3)", [0, 3]),
        ("n <> 3", [0, 1, 2, 4]),
        ("n >= 2 and n < 4", [2, 3]),
        ("n between 2 and 3", [2, 3]),
        ("not n = 3", [0, 1, 2, 4]),
        ("n = 3 or s = 'b'", [1, 3, 4]),
        ("s like 'a%'", [0, 2]),
        ("regexp_like(s, '^[bc]')", [1, 3, 4]),
        ("flag", [1, 3]),
        ("not flag", [0, 2, 4]),
        ("flag = false", [0, 2, 4]),
        ("many = 1", [0, 2]),
        ("many <> 1", [1, 3, 4]),
        ("many in (1, 5)", [0, 2, 4]),
        # What the segment's dictionary answers by itself
        ("n = 99", ConstantFilter.EMPTY),
        ("n <> 99", ConstantFilter.EVERYTHING),
        ("n < 100", ConstantFilter.EVERYTHING),
        ("s = 'zz' or n = 3", [3]),
        ("s = 'zz' and n = 3", ConstantFilter.EMPTY),
        ("n < 100 and n = 3", [3]),
        ("n < 100 or n = 3", ConstantFilter.EVERYTHING),
        ("not n < 100", ConstantFilter.EMPTY),
        ("n is null", ConstantFilter.EMPTY),
        ("n is not null", ConstantFilter.EVERYTHING),
        ("n is not null and n = 3", [3]),
    ],
)
def test_rows_that_match(window_of: Windows, where: str, rows: list[int] | ConstantFilter) -> None:
    window = window_of(
        n=[-1, 1, 2, 3, 4],
        s=["a", "b", "ab", "c", "b"],
        flag=[False, True, False, True, False],
        many=[[1], [2, 3], [1, 2], [2], [5, 3]],
    )
    assert matching(filter_binder(window, lambda leaf: False), where) == rows


@given(
    values=st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=1, max_size=30),
    wanted=st.lists(st.integers(0, 5), min_size=1, max_size=3),
)
def test_multi_value_rows_match_by_any_of_their_values(
    window_of: Windows, values: list[list[int]], wanted: list[int]
) -> None:
    values = [[0], *values]
    binder = filter_binder(window_of(many=values), lambda leaf: False)
    found = matching(binder, f"many in ({', '.join(map(str, wanted))})")
    expected = [row for row, entries in enumerate(values) if set(entries) & set(wanted)]
    entries = {value for row in values for value in row}
    if entries <= set(wanted):
        assert found is ConstantFilter.EVERYTHING
    else:
        assert found == (expected or ConstantFilter.EMPTY)


def test_unknown_columns_are_guessed_independently_of_one_another(window_of: Windows) -> None:
    # Names of the same letters once drew the same rows, which made them one and the same predicate.
    binder = filter_binder(window_of(n=list(range(20_000))), lambda leaf: False)
    both = bound(binder, "ab = 1 and ba = 1 and ab + ba > 1 and ab - ba > 1")
    assert isinstance(both, BoundAnd)
    masks = [child.mask for child in both.children]
    assert [mask.mean() for mask in masks] == pytest.approx([0.1, 0.1, 0.5, 0.5], abs=0.02)
    assert both.mask.mean() == pytest.approx(0.1 * 0.1 * 0.5 * 0.5, abs=0.002)
    again = bound(filter_binder(binder.window, lambda leaf: False), "ab = 1 and ba = 1")
    assert isinstance(again, BoundAnd)
    assert (again.children[0].mask == masks[0]).all()


def test_the_log_tells_how_much_an_expression_keeps(window_of: Windows) -> None:
    binder = filter_binder(window_of(n=list(range(20_000))), lambda leaf: False)
    found = bound(binder, "upper(n) = 'X'", unknown_ratio=0.02)
    assert isinstance(found, BoundLeaf)
    assert found.mask.mean() == pytest.approx(0.02, abs=0.005)


def test_a_value_outside_of_the_window_is_as_frequent_as_any_other(window_of: Windows) -> None:
    window = window_of(n=[n % 100 for n in range(20_000)])
    window.columns["n"].codes[window.columns["n"].codes == 7] = 8
    found = bound(filter_binder(window, lambda leaf: False), "n = 7")
    assert isinstance(found, BoundLeaf)
    assert found.mask.mean() == pytest.approx(0.01, abs=0.005)


def test_kept_masks_do_not_fill_the_memory(window_of: Windows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starskip.advisor.cost.bound_filter._MAX_KEPT_MASK_BYTES", 5_000)
    binder = filter_binder(window_of(n=list(range(1_000))), lambda leaf: False)
    for number in range(50):
        assert matching(binder, f"n = {number}") == [number]
    assert len(binder._masks) <= 6


def test_kept_positions_do_not_fill_the_memory(window_of: Windows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starskip.advisor.cost.leaf_positions._MAX_KEPT_BYTES", 5_000)
    binder = filter_binder(window_of(n=list(range(1_000))), lambda leaf: False)
    for number in range(50):
        assert matching(binder, f"n < {200 + number}") == list(range(200 + number))
    kept = [found.nbytes for found in binder.positions_of._found.values() if found is not None]
    assert 0 < sum(kept) <= 5_000 + max(kept)


@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc")), min_size=1, max_size=30),
    where=st.sampled_from(["n = 3", "n < 4 and s = 'a'", "n in (1, 2, 9)", "not n > 2 or s <> 'b'", "x = 1"]),
    order=st.sampled_from(["n", "s"]),
)
def test_another_order_of_the_rows_keeps_the_same_ones(
    window_of: Windows, rows: list[tuple[int, str]], where: str, order: str
) -> None:
    today = filter_binder(window_of(n=[n for n, _ in rows], s=[s for _, s in rows]), lambda leaf: False)
    in_order = sorted_rows(today.window, order)
    assert in_order is not None
    kept = matching(today, where)
    if not isinstance(kept, ConstantFilter):
        kept = [place for place, row in enumerate(in_order.tolist()) if row in kept]
    found = matching(today.in_order_of(in_order, lambda leaf: False), where)
    assert found == kept
    if "x" not in where:
        window = rows_taken(today.window, in_order)
        assert found == matching(filter_binder(window, lambda leaf: False), where)


@pytest.mark.parametrize(
    ("where", "is_served"),
    [("n = 1", True), ("n > 1", True), ("n in (1)", True), ("n like 'x'", False), ("m = 1", False)],
)
def test_sorting_serves_equalities_and_ranges(where: str, is_served: bool) -> None:
    (leaf,) = leaves(query_shape(normalize_sql(f"select a from t where {where}").skeleton).filter)
    assert isinstance(leaf, Leaf)
    assert is_served_by_sorting(leaf, frozenset({"n"}), AccessRules()) is is_served


def test_a_filter_is_asked_of_segments_that_pass_the_where_whole(window_of: Windows) -> None:
    binder = filter_binder(window_of(a=[1, 2, 3], b=[5, 5, 6]), lambda leaf: False)
    cut = normalize_sql("select sum(a) filter(where b = 5), count(*) from t where a >= 1")
    found = binder.bind(query_shape(cut.skeleton).filter, cut.literals)
    assert isinstance(found, BoundAnd)
    assert found.mask.tolist() == [True, True, False]


rows_of_codes = st.lists(st.lists(st.integers(0, 39), max_size=5), min_size=1, max_size=120)


def column(rows: list[list[int]]) -> ColumnWindow:
    codes = np.array([code for row in rows for code in row], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    return ColumnWindow(codes=codes, dictionary=pa.array(range(40)), offsets=offsets)


def buckets_of_pinot(values: list[int]) -> list[range]:
    """RangeIndexCreator.seal in Python: positions of each bucket among the sorted values."""
    size, start, found = -(-len(values) // BUCKETS), 0, []
    for position in range(len(values)):
        if position > start + size and values[position] != values[position - 1]:
            found.append(range(start, position))
            start = position
    return [*found, range(start, len(values))]


@given(rows=rows_of_codes, data=st.data())
def test_the_buckets_of_both_ends_are_read_again(rows: list[list[int]], data: st.DataObject) -> None:
    values = sorted(code for row in rows for code in row)
    if not values:
        return
    first, last = sorted((data.draw(st.sampled_from(values)), data.draw(st.sampled_from(values))))
    buckets = [{values[position] for position in bucket} for bucket in buckets_of_pinot(values)]
    again = {code for bucket in buckets if first in bucket or last in bucket for code in bucket}
    expected = [bool(again & set(row)) for row in rows]
    assert rescanned_rows(column(rows), first, last).tolist() == expected
