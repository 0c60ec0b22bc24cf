"""Literals drawn for queries that were logged without theirs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from starskip.advisor.cost.bound_filter import ConstantFilter, filter_binder
from starskip.advisor.cost.drawn_literals import LiteralDrawer, lacks_literals
from starskip.advisor.cost.filter_cost import filter_cost
from starskip.advisor.cost.observed_scan import ObservedScan, observed_scan
from starskip.advisor.workload.shape_workload import Instance
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.sql.redacted_text import is_redacted, mark_redacted
from starskip.tables.row_window import ColumnWindow, RowWindow

ROWS = 4_000
_RANDOM = np.random.default_rng(5)


def column(values: list[Any], codes: Any = None) -> ColumnWindow:
    if codes is None:
        codes = _RANDOM.integers(len(values), size=ROWS)
    return ColumnWindow(np.asarray(codes, dtype=np.int32), pa.array(values))


SKEWED = np.minimum(_RANDOM.zipf(1.5, ROWS) - 1, 499)
OF_SKEWED = column([f"v{n:03}" for n in range(500)], SKEWED)
WINDOW = RowWindow(
    "t",
    "s",
    ROWS,
    ROWS,
    {
        "few": column([1, 2, 3, 4, 5]),
        "many": column(list(range(1_000))),
        "skewed": OF_SKEWED,
        "twin": column([f"w{n:03}" for n in range(500)], SKEWED),
        "raw": ColumnWindow(
            _RANDOM.integers(300, size=ROWS).astype(np.int32),
            values=pa.array(_RANDOM.permutation(300).astype(float)),
        ),
        "tags": ColumnWindow(
            _RANDOM.integers(40, size=2 * ROWS).astype(np.int32),
            pa.array([f"t{n}" for n in range(40)]),
            np.arange(0, 2 * ROWS + 1, 2, dtype=np.int32),
        ),
        "flag": column([False, True]),
        "day": ColumnWindow(
            _RANDOM.integers(28, size=ROWS).astype(np.int32),
            pa.array([86_400_000 * n for n in range(28)], pa.timestamp("ms")),
        ),
        "price": column([Decimal(n) / 4 for n in range(100)]),
        "bytes": column([bytes((n,)) for n in range(50)]),
    },
)
BINDER = filter_binder(WINDOW, lambda leaf: False)
DRAWER = LiteralDrawer(BINDER, lambda bound: filter_cost(bound, lambda leaf: None))


def drawn(where: str, wanted: float | None, seed: int = 1, entries: Any = ()) -> tuple[float, Any]:
    """Return the share of rows that pass with drawn literals, and these."""
    cut = normalize_sql(f"SELECT COUNT(*) FROM t WHERE {where}")
    shape = query_shape(cut.skeleton)
    literals = mark_redacted(cut.literals, "1/2/3")
    assert lacks_literals(shape.filter, literals)
    observed = None if wanted is None else ObservedScan(wanted, *entries)
    found = DRAWER.drawn(shape.filter, literals, observed, seed)
    assert found == DRAWER.drawn(shape.filter, literals, observed, seed), "the same seed draws the same"
    bound = BINDER.bind(shape.filter, found)
    if isinstance(bound, ConstantFilter):
        return float(bound is ConstantFilter.EVERYTHING), found
    return float(bound.mask.mean()), found


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("many BETWEEN ? AND ?", 0.2),
        ("many >= ? AND many < ?", 0.01),
        ("many > ?", 0.7),
        ("raw <= ?", 0.1),
        ("raw BETWEEN ? AND ?", 0.5),
        ("many IN (?)", 0.05),
        ("many NOT IN (?)", 0.95),
        ("tags IN (?)", 0.4),
        ("skewed IN (?) AND few = ?", 0.1),
        ("few = ? AND many BETWEEN ? AND ?", 0.1),
        ("few <> ? AND many < ?", 0.4),
        ("day >= ?", 0.5),
        ("price < ?", 0.25),
        ("NOT (many BETWEEN ? AND ?)", 0.8),
    ],
)
def test_as_many_rows_pass_as_the_log_says(where: str, wanted: float) -> None:
    ratios = [drawn(where, wanted, seed)[0] for seed in range(20)]
    assert np.median(ratios) == pytest.approx(wanted, rel=0.35)


def test_values_are_drawn_as_often_as_rows_hold_them() -> None:
    expected = float(np.mean([np.mean(code == SKEWED) for code in SKEWED]))
    ratios = [drawn("skewed = ?", None, seed)[0] for seed in range(300)]
    assert np.mean(ratios) == pytest.approx(expected, rel=0.15)


def test_of_skewed_values_that_is_drawn_which_passes_what_the_log_says() -> None:
    rare = [drawn("skewed = ?", 0.001, seed)[0] for seed in range(60)]
    often = [drawn("skewed = ?", 0.35, seed)[0] for seed in range(60)]
    assert np.median(rare) < 0.1 < 0.3 < np.median(often)


def test_the_literals_of_an_and_come_from_one_row() -> None:
    assert all(drawn("skewed = ? AND twin = ?", None, seed)[0] > 0 for seed in range(50))


@pytest.mark.parametrize("name", ["few", "skewed", "raw", "tags", "flag", "day", "price", "bytes"])
def test_a_value_of_each_type_is_found_again(name: str) -> None:
    assert all(drawn(f"{name} = ?", None, seed)[0] > 0 for seed in range(10))


def test_what_is_known_stays_and_patterns_are_not_drawn() -> None:
    _, found = drawn("few = 3 AND skewed IN ('v001', 'v002') AND twin LIKE ? AND many = ?", 0.01)
    assert found[:2] == (("3",), ("'v001", "'v002"))
    assert is_redacted(found[2])
    assert not is_redacted(found[3])


@pytest.mark.parametrize(
    "where",
    [
        "gone = ?",
        "LOWER(skewed) = ?",
        "gone BETWEEN ? AND ? OR few = ?",
        "REGEXP_LIKE(skewed, ?)",
        "skewed = 'x' AND few BETWEEN ? AND 'no number'",
        "few IN (?, 1, ?) AND few = - ?",
        "few > many + ? AND many > ?",
    ],
)
def test_whatever_is_asked_something_comes_out(where: str) -> None:
    cut = normalize_sql(f"SELECT COUNT(*) FROM t WHERE {where}")
    shape = query_shape(cut.skeleton)
    for wanted in (None, 0.0, 0.3, 1.0):
        observed = None if wanted is None else ObservedScan(wanted, 0.5, 1.5)
        found = DRAWER.drawn(shape.filter, mark_redacted(cut.literals, "1/2/3"), observed, 1)
        assert len(found) == len(cut.literals)
        BINDER.bind(shape.filter, found)


@pytest.mark.parametrize("entries", [1.02, 1.1])
def test_of_draws_that_let_as_much_through_the_entries_tell_the_better(entries: float) -> None:
    where = "skewed = ? AND many BETWEEN ? AND ?"
    tree = query_shape(normalize_sql(f"SELECT COUNT(*) FROM t WHERE {where}").skeleton).filter

    def error(observed: tuple[float, ...]) -> float:
        found = [drawn(where, 0.01, seed, observed)[1] for seed in range(60)]
        return float(np.mean([abs(DRAWER.entries_per_row(BINDER.bind(tree, f)) - entries) for f in found]))

    assert error((entries, entries)) < 0.85 * error(())


def test_what_the_log_says_of_a_scan() -> None:
    instance = Instance(2, 8_000, 0.0, rows_scanned=100, segments_matched=4)
    assert observed_scan(instance, 1_000, 9_000, stops_early=False) == ObservedScan(0.025, 4 / 9, 2.0)
    assert observed_scan(instance, 1_000, 9_000, stops_early=True) == ObservedScan(100 / 8_000)
    of_none = Instance(2, 8_000, 0.0, rows_scanned=0, segments_matched=0)
    assert observed_scan(of_none, 1_000, 9_000, stops_early=False) == ObservedScan(0.0, 4 / 9, 4 / 9)
    assert observed_scan(Instance(), 1_000, 9_000, stops_early=False) is None
    assert ObservedScan(0.1).entries_distance(7.0) == 0.0
    observed = ObservedScan(0.1, 1.0, 2.0)
    assert observed.entries_distance(1.5) == 0.0
    assert observed.entries_distance(0.5) > observed.entries_distance(0.9) > 0
    assert observed.passing_distance(0.1, 0.01) == 0.0 < observed.passing_distance(0.0, 0.01)
