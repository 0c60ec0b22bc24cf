"""Predicted scanning factors against tables that are laid out so, and when a notice is given."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from starskip.advisor.families.skipping.choice import layout_notice as of_layouts
from starskip.advisor.families.skipping.choice.layout_notice import (
    ColumnShare,
    LayoutNotice,
    QueryLayout,
    column_shares,
    layout_notice,
)
from starskip.advisor.families.skipping.indicators import Indicators, indicators
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet

FILES, ROWS_A_FILE = 64, 500
ROWS = FILES * ROWS_A_FILE


def bounded(column: str, low: float, high: float) -> Expression:
    of = Column((column,), "double")
    return Call(
        "And",
        (
            Call("GreaterThanOrEqual", (of, Literal(pa.scalar(low)))),
            Call("LessThan", (of, Literal(pa.scalar(high)))),
        ),
    )


def table(seed: int = 5) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.random(ROWS) for name in ("a", "b", "c")}


Box = dict[str, tuple[float, float]]


def matches(values: dict[str, np.ndarray], query: Box) -> np.ndarray:
    mask = np.ones(ROWS, np.bool_)
    for column, (low, high) in query.items():
        mask &= (values[column] >= low) & (values[column] < high)
    return mask


def perfect(values: dict[str, np.ndarray], order: np.ndarray, query: Box) -> Indicators:
    """The indicators with perfect metadata of rows laid out in an order."""
    matching = matches(values, query)[order].reshape(FILES, ROWS_A_FILE).sum(axis=1)[None, :]
    found = indicators(np.full(FILES, ROWS_A_FILE), matching, matching > 0).query(0)
    assert isinstance(found, Indicators)
    return found


def z_order(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    ranks = [np.argsort(np.argsort(each)) * 1024 // ROWS for each in (first, second)]
    code = np.zeros(ROWS, np.int64)
    for bit in range(10):
        for position, rank in enumerate(ranks):
            code |= (rank >> bit & 1) << (2 * bit + position)
    return np.argsort(code, kind="stable")


def layouts(values: dict[str, np.ndarray], queries: list[Box]) -> list[QueryLayout]:
    """Queries on rows in their random order; shares from a sample."""
    sample = {name: pa.array(each[::7]) for name, each in values.items()}
    found = []
    for query in queries:
        now = perfect(values, np.arange(ROWS), query)
        predicate = None
        for column, (low, high) in query.items():
            leg = bounded(column, low, high)
            predicate = leg if predicate is None else Call("And", (predicate, leg))
        assert predicate is not None
        shares = column_shares(predicate, sample)
        assert shares.keys() == query.keys()
        found.append(QueryLayout(1.0, now.selectivity, now.layout_factor, shares))
    return found


def boxes(rng: np.random.Generator, columns: str, width: float, count: int) -> list[Box]:
    lows = rng.random((count, len(columns))) * (1 - width)
    return [{name: (low, low + width) for name, low in zip(columns, each, strict=True)} for each in lows]


def notice_of(queries: list[Box]) -> LayoutNotice:
    notice = layout_notice(layouts(table(), queries), files=FILES, rows=ROWS)
    assert notice is not None
    return notice


def test_sort_order_is_predicted_as_it_comes_out() -> None:
    queries = boxes(np.random.default_rng(1), "a", 0.03, 40)
    notice = notice_of(queries)
    assert notice.relayout is not None
    assert notice.relayout.columns == ("a",)
    values = table()
    measured = np.mean([perfect(values, np.argsort(values["a"]), query).scanning_factor for query in queries])
    print(f"sorted: predicted {notice.relayout.scanning_factor:.4f}, measured {measured:.4f}")
    assert notice.best_scanning_factor == pytest.approx(1.0, abs=0.01)
    assert notice.relayout.scanning_factor == pytest.approx(measured, rel=0.1)


def test_z_order_is_predicted_as_it_comes_out() -> None:
    rng = np.random.default_rng(2)
    queries = boxes(rng, "a", 0.1, 20) + boxes(rng, "b", 0.1, 20)
    notice = notice_of(queries)
    assert notice.relayout is not None
    assert notice.relayout.columns == ("a", "b")
    values = table()
    order = z_order(values["a"], values["b"])
    measured = np.mean([perfect(values, order, query).scanning_factor for query in queries])
    print(f"z-ordered: predicted {notice.relayout.scanning_factor:.4f}, measured {measured:.4f}")
    assert notice.relayout.scanning_factor == pytest.approx(measured, rel=0.15)
    assert "z-ordered by a, b" in notice.sentence


def test_two_columns_asked_together_are_predicted_for_the_sort_by_one() -> None:
    queries = boxes(np.random.default_rng(3), "ab", 0.05, 40)
    values = table()
    for column, order in (("a", np.argsort(values["a"])), ("b", np.argsort(values["b"]))):
        known = [
            QueryLayout(item.weight, item.selectivity, item.layout_factor, {column: item.shares[column]})
            for item in layouts(values, queries)
        ]
        notice = layout_notice(known, files=FILES, rows=ROWS)
        assert notice is not None
        assert notice.relayout is not None
        measured = np.mean([perfect(values, order, query).scanning_factor for query in queries])
        assert notice.relayout.scanning_factor == pytest.approx(measured, rel=0.15)


def test_query_on_another_column_keeps_reading_all() -> None:
    """After a sort by a, c is as mixed as before: its queries read nearly every file."""
    values, query = table(), {"c": (0.4, 0.41)}
    (layout,) = layouts(values, [query])
    spread = QueryLayout(1.0, layout.selectivity, layout.layout_factor, {"a": ColumnShare(1.0)})
    notice = layout_notice([spread], files=FILES, rows=ROWS)
    assert notice is not None
    assert notice.relayout is None
    assert "no sort order" in notice.sentence


def test_column_that_helps_most_queries_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_layouts, "_MIN_PAIR_GAIN_RATIO", 0.9)
    rng = np.random.default_rng(4)
    queries = boxes(rng, "a", 0.02, 3) + boxes(rng, "b", 0.02, 30)
    notice = notice_of(queries)
    assert notice.relayout is not None
    assert notice.relayout.columns == ("b",)
    assert "33 of 33 queries" in notice.sentence
    assert "sorted by b" in notice.sentence
    print(notice.sentence)


def test_good_layout_has_no_notice() -> None:
    query = QueryLayout(1.0, 0.01, 0.5, {"a": ColumnShare(0.01)})
    assert layout_notice([query], files=FILES, rows=ROWS) is None


def test_query_that_needs_most_rows_is_no_matter_of_layout() -> None:
    query = QueryLayout(1.0, 0.7, 0.7, {"a": ColumnShare(0.7)})
    assert layout_notice([query], files=FILES, rows=ROWS) is None


def test_sort_that_gains_little_is_not_told_of() -> None:
    query = QueryLayout(1.0, 0.01, 0.01, {"a": ColumnShare(0.8)})
    notice = layout_notice([query], files=FILES, rows=ROWS)
    assert notice is not None
    assert notice.relayout is None


def test_no_queries_and_one_file() -> None:
    query = QueryLayout(1.0, 0.001, 0.001, {})
    assert layout_notice([], files=FILES, rows=ROWS) is None
    assert layout_notice([query], files=1, rows=ROWS) is None
    notice = layout_notice([query], files=FILES, rows=ROWS)
    assert notice is not None
    assert notice.relayout is None


@pytest.mark.parametrize(("sigma", "layout"), [(0.0, 0.5), (0.5, 0.1), (0.5, 1.5)])
def test_factors_that_cannot_be_are_refused(sigma: float, layout: float) -> None:
    with pytest.raises(ValueError, match="selectivity"):
        layout_notice([QueryLayout(1.0, sigma, layout, {})], files=FILES, rows=ROWS)


def test_values_of_in_lie_in_as_many_places() -> None:
    sample = {"a": pa.array([1, 2, 3, None, 9, 9]), "b": pa.array([1, 2])}
    wanted = Call("In", (Column(("a",), "bigint"), LiteralSet(pa.array([1, 9, 50]))))
    assert column_shares(wanted, sample) == {"a": ColumnShare(0.5, 2)}
