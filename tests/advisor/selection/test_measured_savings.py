"""Workload, estimates, votes and selection together, against what a real Pinot scanned under each set."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from index_choice import k_selection
from starskip.advisor.cost.leapfrog_votes import leapfrog_votes
from starskip.advisor.cost.segment_estimates import (
    SegmentState,
    estimate_segment,
    merge_estimates,
    parsed_shape,
)
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.index import Index, by_column, parse_index
from starskip.advisor.selection.saving_interval import saving_interval
from starskip.advisor.selection.vote_list import VoteList, vote_lists
from starskip.advisor.workload.count_shapes import count_shapes
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_shapes
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.sql.predicate import leaves

TRUTH = Path(__file__).parents[2] / "data" / "truth"
SEGMENTS = Path(__file__).parents[3] / "include" / "sample" / "segments"
WINDOW_ROWS = 16_384
RULES = AccessRules()

Advised = tuple[dict[str, Any], list[ShapeWorkload], list[VoteList]]


@pytest.fixture(scope="module", params=["lineitem", "lineitem_with_range", "airlineStats"])
def advised(request: pytest.FixtureRequest) -> Iterator[Advised]:
    truth = json.loads((TRUTH / f"{request.param}.json").read_text())
    shapes = _shapes(truth)
    yield truth, shapes, _votes(truth, shapes)


def _shapes(truth: dict[str, Any]) -> list[ShapeWorkload]:
    records = []
    for query in truth["queries"]:
        record = {
            "table": truth["table"],
            "query_text": query["sql"],
            "latency_ms": 1,
            "rows_scanned": 0,
            "segments_queried": 1,
            "segments_processed": 1,
            "segments_matched": 1,
            "entries_scanned_in_filter": query["entries"],
            "entries_scanned_post_filter": 0,
            "exceptions": 0,
            "weight": 1.0,
            "query_text_length": len(query["sql"]),
            "line_format": "0.11.0",
        }
        records.extend([record] * max(1, round(query["weight"] * 10)))
    batches = count_shapes([pa.RecordBatch.from_pylist(records)], instances_per_shape=64)
    return [shape for batch in batches for shape in workload_shapes(batch)]


def _votes(truth: dict[str, Any], shapes: list[ShapeWorkload]) -> list[VoteList]:
    files = list_segments(SEGMENTS, [truth["table"]])
    facts = [read_segment_facts(file) for file in files]
    rows = sum(segment.rows for segment in facts)
    asked = {leaf.column for shape in shapes for leaf in leaves(parsed_shape(shape.skeleton).filter)} - {""}
    candidates = by_column({_structure(name) for subset in truth["subsets"] for name in subset["columns"]})
    estimates = []
    for file, segment in zip(files, facts, strict=True):
        window = read_row_window(file, asked, max_rows=WINDOW_ROWS)
        state = SegmentState(RULES, frozenset(c.name for c in segment.columns if c.is_sorted))
        estimates.append(estimate_segment(window, state, shapes, candidates, rows))
    return vote_lists(leapfrog_votes(shapes, merge_estimates(estimates), candidates, RULES))


def _structure(name: str) -> Index:
    """``range:COLUMN`` is a range index, a column alone an inverted one."""
    return parse_index(name) if name.startswith("range:") else Index("inverted", name)


def _real_savings(truth: dict[str, Any]) -> dict[frozenset[Index], float]:
    entries = {frozenset(map(_structure, s["columns"])): s["weighted_entries"] for s in truth["subsets"]}
    return {columns: 1 - read / entries[frozenset()] for columns, read in entries.items()}


@pytest.mark.parametrize("k", [1, 2, 3])
def test_chosen_set_saves_at_least_99_percent_of_the_best(advised: Advised, k: int) -> None:
    truth, _, lists = advised
    real = _real_savings(truth)
    chosen = k_selection(lists, k).chosen
    best = max(saving for columns, saving in real.items() if len(columns) <= k)
    assert real[chosen] >= 0.99 * best


def test_predictions_for_all_measured_sets(advised: Advised) -> None:
    truth, shapes, lists = advised
    real = _real_savings(truth)
    errors, held = [], []
    for columns, saving in real.items():
        predicted = saving_interval(
            lists,
            columns,
            entries=sum(shape.entries_scanned_in_filter for shape in shapes),
            entries_squared=sum(shape.entries_scanned_in_filter_squared for shape in shapes),
            model_error_ratio=0.02,
        )
        errors.append(abs(predicted.ratio - saving))
        held.append(predicted.low - 1e-9 <= saving <= predicted.high + 1e-9)
    assert len(errors) >= 130
    assert sorted(errors)[len(errors) // 2] < 0.005, "median, as a share of all entries"
    assert max(errors) < 0.02
    assert sum(held) >= 0.9 * len(held)
