"""filter_cost against Pinot 0.11's iterators, row by row: which parts merge to bitmaps, what they read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pinot_iterators import ROWS, entries_of_run
from starskip.advisor.cost.bound_filter import BoundAnd, BoundFilter, filter_binder
from starskip.advisor.cost.filter_cost import filter_cost
from starskip.advisor.cost.leaf_masks import ConstantFilter
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.tables.row_window import RowWindow

Windows = Callable[..., RowWindow]


CARDINALITIES = {"a": 2, "b": 3, "c": 5, "d": 8, "e": 20, "f": 2}
_leaves = st.builds(
    "{} {} 1".format, st.sampled_from(sorted(CARDINALITIES)), st.sampled_from(["=", "<>", "<="])
)
filters = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(
            lambda parts, joint: f"({joint.join(parts)})",
            st.lists(inner, min_size=2, max_size=3),
            st.sampled_from([" and ", " or "]),
        ),
        st.builds("not ({})".format, inner),
    ),
    max_leaves=9,
)


@pytest.fixture(scope="module")
def window(window_of: Windows) -> RowWindow:
    draw = np.random.default_rng(7)
    return window_of(**{name: draw.integers(0, n, ROWS).tolist() for name, n in CARDINALITIES.items()})


def bound_filter(window: RowWindow, where: str) -> BoundFilter:
    cut = normalize_sql(f"select count(*) from t where {where}")
    return filter_binder(window, lambda leaf: False).bind(query_shape(cut.skeleton).filter, cut.literals)


def predicted(bound: BoundFilter, indexed: str) -> float:
    return filter_cost(bound, lambda leaf: 0.0 if leaf.column in indexed else None)


@settings(max_examples=40)
@given(where=filters, indexed=st.sets(st.sampled_from(sorted(CARDINALITIES))).map("".join))
def test_any_filter_under_any_indexes(window: RowWindow, where: str, indexed: str) -> None:
    bound = bound_filter(window, where)
    if isinstance(bound, ConstantFilter):
        return
    assert predicted(bound, indexed) == pytest.approx(entries_of_run(bound, indexed), rel=1e-9)


@pytest.mark.parametrize(
    ("where", "indexed"),
    [
        # By nothing but scans an AND is walked, and so is all that stands beside it.
        ("((a = 1 and b = 1) or e = 3) and f = 1", "e"),
        # One index merges with no scan where none stands beside it: the text's order is kept.
        ("(e = 3 or f = 1) and (a = 1 or b = 1)", "ab"),
        # NOT of an index is no bitmap, and is asked before the scan.
        ("f = 1 and not a = 1", "a"),
        # What an AND below an OR reads before the walk begins is not read again in it.
        ("((a = 1 and b = 1) or e = 3 or c = 2) and (f = 1 or d = 1)", "ae"),
    ],
)
def test_what_is_walked(window: RowWindow, where: str, indexed: str) -> None:
    bound = bound_filter(window, where)
    assert predicted(bound, indexed) == pytest.approx(entries_of_run(bound, indexed), rel=1e-9)


def test_an_and_with_an_index_is_a_bitmap_wherever_it_stands(window: RowWindow) -> None:
    is_a, is_b, is_e = (window.columns[name].codes == value for name, value in (("a", 1), ("b", 1), ("e", 3)))
    either = ((is_a & is_b) | is_e).mean()
    bound = bound_filter(window, "((a = 1 and b = 1) or e = 3) and f = 1")
    assert predicted(bound, "abe") == pytest.approx(either)
    assert predicted(bound, "ae") == pytest.approx(is_a.mean() + either), "b behind a, then f"
    # A segment without e = 99 is left with an AND below an AND.
    bound = bound_filter(window, "((a = 1 and b = 1) or e = 99) and f = 1")
    assert isinstance(bound, BoundAnd)
    assert predicted(bound, "a") == pytest.approx(is_a.mean() + (is_a & is_b).mean())
