"""Plans of the predicates of a shape, today and with the advice."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.families.access_rules import access_rules
from starskip.advisor.families.index import Index
from starskip.reports.advice_values import Interval
from starskip.reports.evidence import Evidence
from starskip.reports.log_values import LatencyBin, ShapeEvidence, Shapes, thinned_bins, top_shapes
from starskip.reports.shapes_evidence import MAX_PREDICATES, shape_plan
from starskip.sql.normalize_sql import normalize_sql

RULES = access_rules("1.2.0")
INVERTED, RANGE = Index("inverted", "a"), Index("range", "b")


def shape(number: int, entries: int) -> ShapeEvidence:
    return ShapeEvidence(f"{number:04}", "SELECT ?", 1, entries, 0.0, 0.0, ())


def test_interval_upside_down_is_refused() -> None:
    with pytest.raises(ValueError, match="low must not pass high"):
        Interval(0.6, 0.5)


def test_interval_of_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="low must not pass high"):
        Interval(float("nan"), 0.5)


def test_local_time_is_refused(evidence: Evidence) -> None:
    with pytest.raises(ValueError, match="not in UTC"):
        replace(evidence, created_at=datetime(2026, 11, 18, tzinfo=timezone(timedelta(hours=1))))
    with pytest.raises(ValueError, match="not in UTC"):
        replace(evidence, created_at=datetime(2026, 11, 18))


def test_more_shapes_than_the_evidence_may_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="use top_shapes"):
        Shapes(tuple(shape(i, i) for i in range(101)))


def test_latency_model_refused_without_reason_is_refused(evidence: Evidence) -> None:
    with pytest.raises(ValueError, match="needs a reason"):
        replace(evidence.latency, accepted=False, reason=None)


@given(st.lists(st.integers(0, 10**9), max_size=150), st.randoms(use_true_random=False))
def test_top_shapes_keep_the_sum_and_forget_the_order(entries: list[int], random: object) -> None:
    shapes = [shape(i, e) for i, e in enumerate(entries)]
    bounded = top_shapes(tuple(shapes))
    random.shuffle(shapes)  # type: ignore[attr-defined]
    assert top_shapes(tuple(shapes)) == bounded
    assert len(bounded.top) + bounded.other_shapes == len(entries)
    kept = sum(each.entries_scanned_in_filter for each in bounded.top)
    assert kept + bounded.other_entries_scanned_in_filter == sum(entries)


@given(st.integers(2, 50), st.integers(0, 300))
def test_thinned_bins_keep_the_ends(limit: int, number: int) -> None:
    bins = tuple(LatencyBin(float(i), 0.0, float(i), None) for i in range(number))
    thinned = thinned_bins(bins, limit)
    assert len(thinned) == min(limit, number)
    assert len(set(thinned)) == len(thinned)
    if number:
        assert (thinned[0], thinned[-1]) == (bins[0], bins[-1])


def skeleton_of(condition: str) -> str:
    return normalize_sql(f"SELECT COUNT(*) FROM t WHERE {condition}").skeleton


@pytest.mark.parametrize(
    ("condition", "today", "advised"),
    [
        ("a = 7", None, "inverted"),
        ("a > 7", None, None),
        ("b > 7", None, "range"),
        ("s = 7", "sorted", "sorted"),
        ("old = 7", "inverted", "inverted"),
        ("other = 7", None, None),
    ],
)
def test_a_predicate_is_answered_by_what_serves_it(
    condition: str, today: str | None, advised: str | None
) -> None:
    (found,) = shape_plan(skeleton_of(condition), RULES, {"s"}, {Index("inverted", "old")}, {INVERTED, RANGE})
    assert (found.today, found.advised) == (today, advised)


def test_a_predicate_on_an_expression_names_its_columns() -> None:
    (found,) = shape_plan(skeleton_of("a + b > 7"), RULES, (), (), {INVERTED})
    assert (found.column, found.comparison, found.advised) == ("a, b", "within an expression", None)


def test_what_cannot_be_understood_has_no_plan_and_a_long_one_is_cut() -> None:
    assert shape_plan("SELECT FROM WHERE", RULES, (), (), ()) == ()
    many = " OR ".join(f"c{i} = 7" for i in range(40))
    assert len(shape_plan(skeleton_of(many), RULES, (), (), ())) == MAX_PREDICATES
