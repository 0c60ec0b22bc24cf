"""Savings of time: the share of what entries cost, by their kind, and of what is read behind the filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starskip.advisor.cost.entry_prices import (
    EQUAL,
    INDEXED_ROW_NS,
    ITERATED_ROW_NS,
    OTHER,
    PATTERN,
    POST_FILTER_NS,
    PROJECTED_ROW_NS,
    SCATTERED_NS,
)
from starskip.advisor.cost.leapfrog_votes import leapfrog_votes
from starskip.advisor.cost.segment_estimates import SegmentState, estimate_segment, merge_estimates
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.index import Index, by_column
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.sql.normalize_sql import normalize_sql
from starskip.tables.row_window import RowWindow

ROWS = 1_000
CANDIDATES = by_column({Index("inverted", name) for name in "ab"})


def saved(window: RowWindow, where: str, entries: int, **counts: int) -> dict[str, tuple[float, float]]:
    """Return by set of indexes the shares of entries and of time that it saves; one query was logged."""
    cut = normalize_sql(f"select count(*) from t where {where}")
    instance = Instance(1, entries, float(entries) ** 2, segments_matched=1, **counts)
    post_filter = instance.entries_scanned_post_filter
    sums: dict[str, Any] = {"queries": 1, "entries_scanned_in_filter": entries}
    shape = ShapeWorkload("t", where, where, cut.skeleton, **sums, instances={cut.literals: instance})
    state = SegmentState(AccessRules())
    estimates = merge_estimates([estimate_segment(window, state, [shape], CANDIDATES, ROWS)])
    votes = leapfrog_votes([shape], estimates, CANDIDATES, AccessRules())
    return {
        "+".join(text.removeprefix("inverted:") for text in row["structures"]): (
            row["saving_entries"] / entries,
            row["saving_priced_entries"] / (entries + post_filter),
        )
        for row in votes.to_pylist()
    }


@pytest.fixture
def window(window_of: Callable[..., RowWindow]) -> RowWindow:
    texts = [f"word {row % 100}" for row in range(ROWS)]
    return window_of(a=[row % 10 for row in range(ROWS)], b=texts)


def test_the_cheap_side_of_an_or_is_half_of_the_entries_and_little_of_the_time(window: RowWindow) -> None:
    found = saved(window, "a = 1 or b like '%7%'", 2 * ROWS)
    assert found["a"][0] == pytest.approx(0.5)
    scanned = (EQUAL.batch_ns + PATTERN.batch_ns) * ROWS
    assert found["a"][1] == pytest.approx((EQUAL.batch_ns - 0.1 * INDEXED_ROW_NS) * ROWS / scanned)


def test_what_is_read_behind_the_filter_stays(window: RowWindow) -> None:
    found = saved(window, "a = 1", ROWS, rows_scanned=100, entries_scanned_post_filter=200)
    assert found["a"][0] == pytest.approx(1.0)
    behind = 200 * POST_FILTER_NS + 100 * PROJECTED_ROW_NS
    gained = (EQUAL.batch_ns - 0.1 * INDEXED_ROW_NS) * ROWS
    assert found["a"][1] == pytest.approx(gained / (EQUAL.batch_ns * ROWS + behind))


def test_rows_that_are_only_counted_cost_nothing_behind_the_filter(window: RowWindow) -> None:
    found = saved(window, "a = 1", ROWS, rows_scanned=100)
    assert found["a"][1] == pytest.approx(1 - 0.1 * INDEXED_ROW_NS / EQUAL.batch_ns)


def test_a_scan_behind_an_index_reads_in_batches_and_saves_more_than_entries(window: RowWindow) -> None:
    """Without the index the scans of an AND advance one another, an entry at a time."""
    found = saved(window, "a = 1 and b = 'word 11'", ROWS + 100)
    left = 100 * (EQUAL.batch_ns + SCATTERED_NS) + 100 * INDEXED_ROW_NS
    ratio_left = 1 - found["a"][1]
    # Nearly every entry is read by itself: 1,000 of a, or of b, and those to which the other one advances.
    assert ratio_left < 1.2 * left / (ROWS * EQUAL.single_ns)
    assert ratio_left < 1 - found["a"][0] + 0.06


def test_rows_that_scans_find_one_by_one_cost_more_than_rows_of_bitmaps(window: RowWindow) -> None:
    found = saved(window, "b <> 'word 11' and not (a = 1)", 2 * ROWS)
    # With both indexes nothing is scanned, and 890 rows are found by bitmaps.
    assert found["a+b"][0] == pytest.approx(1.0)
    assert found["a+b"][1] > 1 - 1_090 * INDEXED_ROW_NS / (890 * ITERATED_ROW_NS)


def test_an_index_that_finds_nearly_all_rows_hardly_saves_time(window: RowWindow) -> None:
    listed = ", ".join(map(str, range(9)))
    found = saved(window, f"a in ({listed})", ROWS, rows_scanned=900, entries_scanned_post_filter=900)
    assert found["a"][0] == pytest.approx(1.0)
    behind = 900 * (POST_FILTER_NS + PROJECTED_ROW_NS)
    assert found["a"][1] == pytest.approx(
        (OTHER.batch_ns - 0.9 * INDEXED_ROW_NS) * ROWS / (OTHER.batch_ns * ROWS + behind)
    )
    assert found["a"][1] < 0.25
