"""filter_cost against the entries that a real Pinot 0.11.0 scanned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starskip.advisor.cost.bound_filter import filter_binder
from starskip.advisor.cost.filter_cost import filter_cost, filter_entries
from starskip.advisor.cost.pruned_segments import is_pruned, segment_ends
from starskip.advisor.families.access_rules import AccessRules
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.predicate import Leaf
from starskip.sql.query_shape import query_shape

pytestmark = pytest.mark.slow

Case = dict[str, Any]

ERROR_RATIO = 0.0001


def _beyond(cases: list[tuple[str, float, float]]) -> list[str]:
    """Return the (text, measured, predicted) cases that are wrong, as readable lines."""
    return [
        f"{text}: measured {measured}, predicted {predicted:.0f}"
        for text, measured, predicted in cases
        if abs(predicted - measured) > ERROR_RATIO * max(measured, 1)
    ]


def test_measured_predicates_of_lineitem(
    truth: Callable[[str], list[Case]], scanned: Callable[..., float]
) -> None:
    cases = [
        (
            case["where"],
            case["entries"],
            scanned(
                "lineitem",
                f"select count(*) from lineitem where {case['where']}",
                case["inverted"],
                case["range"],
            ),
        )
        for case in truth("model_check")
    ]
    assert len(cases) == 80
    assert _beyond(cases) == []


def test_measured_not_or_multi_value_raw_and_filter_clauses(
    truth: Callable[[str], list[Case]], scanned: Callable[..., float]
) -> None:
    cases = [
        (
            case["sql"],
            case["entries"],
            scanned(case["table"], case["sql"], case["inverted"], case["range"]),
        )
        for case in truth("not_cases")
    ]
    assert len(cases) == 218
    assert _beyond(cases) == []


ROWS = 1_000
BINDER_COLUMNS = {
    "a": [i % 10 for i in range(ROWS)],
    "b": [i // 500 for i in range(ROWS)],
    "many": [[i % 3, i % 7 + 10, i % 5 + 20] for i in range(ROWS)],
}


@pytest.mark.parametrize(
    ("where", "indexed", "entries_per_row"),
    [
        ("a = 1", "", 1.0),
        ("a = 1", "a", 0.0),
        ("a > 1", "a", 1.0),  # an inverted index answers no range
        ("a = 99", "", 0.0),  # the dictionary lacks it
        ("a <> 99", "", 0.0),  # all rows match: the predicate drops out
        ("a >= 0", "", 0.0),
        ("a = 1 OR b = 1", "", 2.0),
        ("a = 1 OR a = 2", "", 1.0),
        ("a = 1 OR b = 1", "a", 1.0),
        ("NOT a = 1", "", 1.0),
        ("many = 1", "", 3.0),
        ("many = 1", "many", 0.0),
        ("a = 1 AND b = 1", "a", 0.1),
        ("a = 1 AND b = 1 AND many = 1", "a", 0.1 + 0.05 * 3),
        # Scans of single values come before those of many, whatever the text says.
        ("many = 1 AND a = 1 AND b = 1", "a", 0.1 + 0.05 * 3),
        ("a = 1 AND b = 1", "ab", 0.0),
        ("a = 1 AND (a = 1 OR b = 1)", "ab", 0.0),
        ("a = 99 AND b = 1", "", 0.0),
        ("a <> 99 AND b = 1", "", 1.0),
        # What runs on an index of its own reads nothing.
        ("TEXT_MATCH(many, 'x')", "", 0.0),
        ("JSON_MATCH(many, 'x') OR a = 1", "a", 0.0),
        ("TEXT_MATCH(many, 'x') AND a = 1", "a", 0.0),
    ],
)
def test_known_costs(window_of: Callable[..., Any], where: str, indexed: str, entries_per_row: float) -> None:
    cut = normalize_sql(f"select count(*) from t where {where}")
    binder = filter_binder(window_of(**BINDER_COLUMNS), lambda leaf: False)
    bound = binder.bind(query_shape(cut.skeleton).filter, cut.literals)

    def answers(leaf: Leaf) -> float | None:
        return 0.0 if leaf.column in indexed and AccessRules().serves("inverted", leaf) else None

    assert filter_cost(bound, answers) == pytest.approx(entries_per_row)


def test_what_runs_on_its_own_index_leaves_its_survivors_to_the_scans(window_of: Callable[..., Any]) -> None:
    cut = normalize_sql("select count(*) from t where a = 1 AND JSON_MATCH(many, 'x')")
    binder = filter_binder(window_of(**BINDER_COLUMNS), lambda leaf: False)
    bound = binder.bind(query_shape(cut.skeleton).filter, cut.literals, unknown_ratio=0.3)
    assert filter_cost(bound, lambda leaf: None) == pytest.approx(0.3, abs=0.05)


def test_only_an_and_with_an_index_is_evaluated_eagerly(window_of: Callable[..., Any]) -> None:
    cut = normalize_sql("select a from t where a = 1 AND b = 1 LIMIT 1")
    binder = filter_binder(window_of(**BINDER_COLUMNS), lambda leaf: False)
    bound = binder.bind(query_shape(cut.skeleton).filter, cut.literals)
    # Two scans leap to the first row of both; an index has its survivors read to the end of the segment.
    assert filter_entries(bound, lambda leaf: None, limit=1).eager == 0
    with_index = filter_entries(bound, lambda leaf: 0.0 if leaf.column == "a" else None, limit=1)
    assert (with_index.eager, with_index.walked) == (100, 0)


def test_a_limit_ends_a_scan_after_a_batch_wherever_the_window_ends(window_of: Callable[..., Any]) -> None:
    cut = normalize_sql("select a from t where a = 1 LIMIT 1")
    binder = filter_binder(window_of(**BINDER_COLUMNS), lambda leaf: False)
    bound = binder.bind(query_shape(cut.skeleton).filter, cut.literals)
    found = filter_entries(bound, lambda leaf: None, limit=1)
    assert found.of_segment(ROWS, 100 * ROWS, limit=1)[0] == 256
    # The window has 100 matches: four more windows like it hold the 500.
    found = filter_entries(bound, lambda leaf: None, limit=500)
    assert found.of_segment(ROWS, 100 * ROWS, limit=500)[0] == 5 * ROWS
    assert found.of_segment(ROWS, 2 * ROWS, limit=500)[0] == 2 * ROWS


def test_a_not_of_a_filter_clause_looks_for_its_first_row_where_no_row_is_left(
    window_of: Callable[..., Any],
) -> None:
    """Pinot 0.11.0 scanned 25,088 entries for such a query of five segments whose WHERE matches nothing."""
    sql = "select sum(b) filter(where not a = 9), count(*) from t where a = 99"
    cut = normalize_sql(sql)
    binder = filter_binder(window_of(**BINDER_COLUMNS), lambda leaf: False)
    shape = query_shape(cut.skeleton).filter
    # a = 99 lies outside of all values of a: the segment is left alone. Among them it is looked into.
    assert is_pruned(shape, cut.literals, segment_ends(binder.window))
    bound = binder.bind(shape, cut.literals)
    assert filter_entries(bound, lambda leaf: 0.0).walked == 0, "an index finds the first row without a scan"
    gaps = window_of(a=[2 * (i % 10) for i in range(ROWS)], b=BINDER_COLUMNS["b"])
    cut = normalize_sql(sql.replace("a = 99", "a = 7").replace("a = 9", "a = 18"))
    binder, shape = filter_binder(gaps, lambda leaf: False), query_shape(cut.skeleton).filter
    assert not is_pruned(shape, cut.literals, segment_ends(binder.window))
    bound = binder.bind(shape, cut.literals)
    assert filter_entries(bound, lambda leaf: None).walked == 256, (
        "a batch, which has the first row of a = 18"
    )


def test_a_filter_clause_scans_each_of_its_bounds(window_of: Callable[..., Any]) -> None:
    """The broker merges the bounds of a WHERE into one range, and looks at no FILTER."""
    binder = filter_binder(window_of(**BINDER_COLUMNS), lambda leaf: False)

    def entries(sql: str) -> float:
        cut = normalize_sql(sql)
        return filter_cost(binder.bind(query_shape(cut.skeleton).filter, cut.literals), lambda leaf: None)

    assert entries("select count(*) from t where a >= 2 and a <= 8") == 1.0
    # One row of ten, the one that follows a failed upper bound, is not asked for it: both scans leap.
    assert entries("select count(*) filter(where a >= 2 and a <= 8) from t") == pytest.approx(1.9, rel=0.01)


@pytest.mark.parametrize(
    ("where", "is_left_alone"),
    [
        ("a = 99 AND b = 1", True),
        ("(a = 99 OR b > 7) AND many = 1", True),
        ("(a = 99 AND many = 1) OR b IN (5, 6)", True),
        ("(a = 99 AND many = 1) OR b IN (1, 6)", False),
        ("a IN (91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101)", False),
        ("NOT a < 99", False),
        ("a < 3 AND a > 7", True),
        ("a <= 3 AND a >= 3", False),
        ("a < 3 AND a >= 3", True),
    ],
)
def test_segments_are_ruled_out_by_the_ends_of_their_columns(
    window_of: Callable[..., Any], where: str, is_left_alone: bool
) -> None:
    cut = normalize_sql(f"select count(*) from t where {where}")
    predicate = query_shape(cut.skeleton).filter
    assert is_pruned(predicate, cut.literals, segment_ends(window_of(**BINDER_COLUMNS))) is is_left_alone
