"""Estimates of segments, merged, become votes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.cost.alternatives import Candidates
from starskip.advisor.cost.leapfrog_votes import leapfrog_votes
from starskip.advisor.cost.segment_estimates import (
    InstanceShare,
    SegmentState,
    estimate_segment,
    merge_estimates,
)
from starskip.advisor.families.access_rules import AccessRules, access_rules
from starskip.advisor.families.index import Index, by_column, drop_of
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.sql.normalize_sql import normalize_sql
from starskip.tables.row_window import RowWindow

Windows = Callable[..., RowWindow]
RULES = AccessRules()
PLAIN = SegmentState(RULES)
CANDIDATES = by_column({Index("inverted", name) for name in "abc"})


def workload(sql: str, entries: int, **fields: Any) -> ShapeWorkload:
    cut = normalize_sql(sql)
    instance = Instance(1, entries, float(entries) ** 2, segments_matched=1)
    plain: dict[str, Any] = {"queries": 1, "entries_scanned_in_filter": entries}
    return ShapeWorkload("t", sql, sql, cut.skeleton, **(plain | fields), instances={cut.literals: instance})


def savings(
    shape: ShapeWorkload,
    windows: list[RowWindow],
    states: list[SegmentState] | None = None,
    candidates: Candidates = CANDIDATES,
    table_rows: int | None = None,
    shares: list[InstanceShare] | None = None,
) -> dict[str, float]:
    rows = table_rows or sum(window.rows for window in windows)
    of_segments = [{shape.shape_id: share} for share in shares] if shares else [None] * len(windows)
    each = zip(windows, states or [PLAIN] * len(windows), of_segments, strict=True)
    estimates = [
        estimate_segment(window, state, [shape], candidates, rows, share) for window, state, share in each
    ]
    votes = leapfrog_votes([shape], merge_estimates(estimates), candidates, (states or [PLAIN])[0].rules)
    return {
        "+".join(text.removeprefix("inverted:") for text in row["structures"]): round(
            row["saving_entries"], 6
        )
        for row in votes.to_pylist()
    }


@pytest.fixture
def windows(window_of: Windows) -> list[RowWindow]:
    """Two segments of 100 rows; the second one has no a = 1, and no b = 3."""
    first = window_of(a=[n % 10 for n in range(100)], b=[n // 50 * 3 for n in range(100)], c=list(range(100)))
    second = window_of(a=[n % 2 * 5 for n in range(100)], b=[n // 50 for n in range(100)], c=list(range(100)))
    return [first, second]


def test_votes_are_scaled_to_what_the_log_observed(windows: list[RowWindow]) -> None:
    # The model says 100 of 100 rows; the broker had pruned half of them.
    assert savings(workload("select count(*) from t where a = 1", 50), windows) == {"a": 50.0}


def test_an_index_leaves_its_survivors_to_the_next_scan(windows: list[RowWindow]) -> None:
    found = savings(workload("select count(*) from t where b = 3 and c < 10", 110), windows[:1])
    assert found == {"b": pytest.approx(110 * (1 - 50 / 110), rel=0.1)}


def test_what_is_answered_already_saves_nothing(windows: list[RowWindow]) -> None:
    indexed = SegmentState(RULES, in_force=frozenset({Index("inverted", "a")}))
    ordered = SegmentState(RULES, sorted_columns=frozenset("a"))
    shape = workload("select count(*) from t where a = 1", 0)
    assert savings(shape, windows, [indexed, ordered]) == {}
    shape = workload("select count(*) from t where a = 5", 100)
    assert savings(shape, windows, [indexed, PLAIN]) == {"a": 100.0}


def test_a_sample_is_scaled_to_all_entries_that_succeeded(windows: list[RowWindow]) -> None:
    shape = workload(
        "select count(*) from t where a = 1",
        50,
        entries_scanned_in_filter=700,
        failed_entries_scanned_in_filter=100,
    )
    assert savings(shape, windows) == {"a": 600.0}


def test_legs_of_an_or_share_the_observed_entries(windows: list[RowWindow]) -> None:
    # b = 3 is missing in the second segment: of 300 rows scanned, a = 5 takes 200.
    shape = workload("select count(*) from t where a = 5 or b = 3", 300)
    found = savings(shape, windows)
    assert found == {"a": 200.0, "b": 100.0}


def test_an_and_with_an_index_reads_whole_segments_where_a_limit_had_ended_it(
    windows: list[RowWindow],
) -> None:
    # samples README, limit_check: 384 -> 10,799 entries with an index on one of the two.
    found = savings(workload("select c from t where b = 0 and a = 1 limit 1", 2), windows[:1])
    assert found["b"] < 0
    assert found["a+b"] == 2.0


def test_an_or_is_not_made_eager_by_a_segment_without_one_of_its_literals(windows: list[RowWindow]) -> None:
    # In the second segment b = 3 has no rows, so the OR is a = 5 alone there, and free with an index.
    found = savings(workload("select c from t where a = 5 or b = 3 limit 1000", 300), windows)
    assert found["a"] == pytest.approx(200.0)
    assert found["b"] == pytest.approx(100.0)
    assert found["a+b"] == pytest.approx(300.0)


def test_a_segment_without_the_literal_tells_nothing_of_an_early_end(windows: list[RowWindow]) -> None:
    # All of the first segment's rows have b < 9: only a = 1 is left there, a scan without an index on b.
    found = savings(workload("select c from t where a = 1 and b <> 9 limit 5", 60), windows)
    assert found["b"] == 0.0
    assert found["a"] == 60.0


@given(order=st.permutations(range(6)), cuts=st.lists(st.integers(0, 6), max_size=3))
def test_merge_is_associative_and_blind_to_order(
    window_of: Windows, order: list[int], cuts: list[int]
) -> None:
    shapes = [
        workload("select c from t where a = 1 and b = 3 limit 3", 40),
        workload("select count(*) from t where a = 1 and b = 3 or c = 2", 40),
    ]
    parts = []
    for number in range(6):
        window = window_of(
            a=[n % (number + 2) for n in range(64)],
            b=[n // 32 * (number % 2 + 2) for n in range(64)],
            c=[n % 3 for n in range(64)],
        )
        parts.append(estimate_segment(window, PLAIN, shapes, CANDIDATES, 384))
    expected = merge_estimates(parts)
    ends = sorted(cuts)
    groups = [order[i:j] for i, j in zip([0, *ends], [*ends, 6], strict=True)]
    merged = [merge_estimates([parts[n] for n in group]) for group in groups]
    found = merge_estimates([batch for table in merged for batch in table.to_batches()])
    assert_close(found, expected)


def assert_close(found: pa.Table, expected: pa.Table) -> None:
    for one, other in zip(found.to_pylist(), expected.to_pylist(), strict=True):
        assert one.pop("entries") == pytest.approx(other.pop("entries"))
        assert one.pop("simulated_ratio") == pytest.approx(other.pop("simulated_ratio"))
        assert one == other


def test_no_shapes_no_votes(windows: list[RowWindow]) -> None:
    estimates = merge_estimates([estimate_segment(windows[0], PLAIN, [], CANDIDATES, 100)])
    assert len(estimates) == 0
    assert len(leapfrog_votes([], estimates, CANDIDATES, RULES)) == 0


def test_a_range_index_answers_ranges(windows: list[RowWindow]) -> None:
    candidates = by_column({Index("range", "c"), Index("inverted", "a")})
    shape = workload("select count(*) from t where a = 5 and c < 10", 110)
    found = savings(shape, windows[:1], candidates=candidates)
    assert found == {"a": pytest.approx(100, abs=1), "range:c": pytest.approx(100, abs=1), "a+range:c": 110.0}


def test_before_0_10_a_range_index_reads_the_ends_of_a_range(windows: list[RowWindow]) -> None:
    candidates = by_column({Index("range", "c")})
    old = SegmentState(access_rules("0.9"))
    shape = workload("select count(*) from t where c < 10", 100)
    assert savings(shape, windows[:1], [old], candidates) == {"range:c": 90.0}
    assert savings(shape, windows[:1], [SegmentState(access_rules("0.10"))], candidates) == {"range:c": 100.0}


def test_dropping_an_index_costs_what_it_saved(windows: list[RowWindow]) -> None:
    indexed = SegmentState(RULES, in_force=frozenset({Index("inverted", "a")}))
    candidates = by_column({drop_of(Index("inverted", "a"))})
    # Today nothing is read; without the index the first segment's 100 rows and the second's are.
    shape = workload("select count(*) from t where a = 5", 0)
    assert savings(shape, windows, [indexed, indexed], candidates) == {"without_inverted:a": -200.0}
    # b is scanned behind the index today: 50 rows of a = 5; without it the scans leapfrog.
    shape = workload("select count(*) from t where a = 5 and b <> 0", 10)
    found = savings(shape, windows[:1], [indexed], candidates)
    assert found["without_inverted:a"] < -50


SEGMENTS = 12
IN_FORCE = frozenset({Index("inverted", "a")})
SCALED_CASES = [
    # Dropping the index in force loses what no log has seen.
    ("select count(*) from t where a = 1", 0, SegmentState(RULES, in_force=IN_FORCE)),
    ("select count(*) from t where a = 1 and b = 3", 300, SegmentState(RULES, in_force=IN_FORCE)),
    ("select count(*) from t where a = 1", 0, SegmentState(RULES, sorted_columns=frozenset("a"))),
    # A LIMIT ends these after a tenth of the table, and after one segment.
    ("select c from t where a = 1 and b = 3 limit 5", 150, PLAIN),
    ("select c from t where a = 1 and b = 3 limit 1", 3, PLAIN),
]


@pytest.mark.parametrize(("sql", "entries", "state"), SCALED_CASES)
@settings(max_examples=10)
@given(sampled=st.integers(1, SEGMENTS), every=st.integers(1, SEGMENTS), first=st.integers(0, SEGMENTS))
def test_losses_do_not_depend_on_how_many_equal_segments_are_simulated(
    window_of: Windows, sql: str, entries: int, state: SegmentState, sampled: int, every: int, first: int
) -> None:
    segment = window_of(
        a=[n % 7 for n in range(100)], b=[n // 50 * 3 for n in range(100)], c=list(range(100))
    )
    candidates = by_column({Index("inverted", "b"), Index("sorted", "c"), drop_of(*IN_FORCE)})
    shape = workload(sql, entries)
    rows = SEGMENTS * segment.rows
    everything = savings(shape, [segment] * SEGMENTS, [state] * SEGMENTS, candidates, rows)
    assert everything
    few = savings(shape, [segment] * sampled, [state] * sampled, candidates, rows)
    assert few == pytest.approx(everything)
    shares = [InstanceShare(every, first + number) for number in range(SEGMENTS)]
    assert savings(
        shape, [segment] * SEGMENTS, [state] * SEGMENTS, candidates, rows, shares
    ) == pytest.approx(everything)


def test_a_loss_is_one_of_the_whole_table(windows: list[RowWindow]) -> None:
    indexed = SegmentState(RULES, in_force=IN_FORCE)
    shape = workload("select count(*) from t where a = 5", 0)
    found = savings(shape, windows[:1], [indexed], by_column({drop_of(*IN_FORCE)}), table_rows=100_000)
    assert found == {"without_inverted:a": -100_000.0}


@pytest.mark.parametrize(
    "where", ["a = 1", "a = 1 and b = 2", "(a = 1 or b = 1) and c > 2", "upper(a) = 'X' and b = 2"]
)
def test_a_segment_without_rows_tells_nothing(
    window_of: Windows, windows: list[RowWindow], where: str
) -> None:
    empty = RowWindow("t", "empty", 0, 0, {})
    shape = workload(f"select count(*) from t where {where}", 100)
    assert not any(savings(shape, [empty]).values())
    assert savings(shape, [empty, *windows]) == savings(shape, windows)


def test_the_most_selective_three_of_seven_columns_are_known_to_save_most(window_of: Windows) -> None:
    draw = np.random.default_rng(3)
    names = "abcdefg"
    segment = window_of(
        **{name: draw.integers(0, 2 + n // 3, 4_000).tolist() for n, name in enumerate(names)}
    )
    # As the night's candidates: most distinct values first.
    candidates = {name: (Index("inverted", name),) for name in reversed(names)}
    shape = workload(f"select count(*) from t where {' and '.join(f'{name} = 1' for name in names)}", 5_000)
    found = savings(shape, [segment], candidates=candidates)
    assert found["e+f+g"] > max(saved for columns, saved in found.items() if len(columns) == 3)
    assert found["d+e+f+g"] > found["e+f+g"]


def test_a_query_of_which_the_sampled_rows_hold_nothing_saves_what_the_others_do(window_of: Windows) -> None:
    shape = workload(
        "select count(*) from t where a = 1 and b = 1", 60, queries=3, entries_scanned_in_filter=180
    )
    # The broker counted entries for it, so it read segments or rows that were not sampled.
    shape.instances[(("77",), ("1",))] = Instance(2, 120, 2 * 60.0**2, segments_matched=2)
    found = savings(shape, [window_of(a=[1, 2, 3, 4] * 10, b=[1] * 40)])
    alone = savings(workload(shape.text, 60), [window_of(a=[1, 2, 3, 4] * 10, b=[1] * 40)])
    assert found == {name: pytest.approx(3 * saving) for name, saving in alone.items()}
    assert alone["a"] > 0
