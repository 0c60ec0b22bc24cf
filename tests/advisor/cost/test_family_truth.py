"""FST indexes and bloom filters against what a real Pinot 0.11 scanned (benchmarks/pinot/family_truth.py)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starskip.advisor.cost.segment_estimates import SegmentState, estimate_segment, merge_estimates
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.index import by_column, parse_index
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.sql.normalize_sql import normalize_sql

MEASURED = Path(__file__).parents[2] / "data" / "truth" / "families"
TRUTH: dict[str, Any] = json.loads((MEASURED / "entries.json").read_text())
RULES = AccessRules()
FALSE_POSITIVES = 0.2
"""A filter says *perhaps* wrongly of one segment in twenty: of these five, it does so of one or of none."""


@pytest.fixture(scope="module")
def segments() -> list[tuple[Any, SegmentState]]:
    found = []
    for file in list_segments(str(MEASURED / "segments"), ["visits"]):
        facts = read_segment_facts(file)
        window = read_row_window(file, [column.name for column in facts.columns], max_rows=facts.rows)
        ordered = frozenset(column.name for column in facts.columns if column.is_sorted)
        one_value = frozenset(column.name for column in facts.columns if column.cardinality == 1)
        found.append((window, SegmentState(RULES, ordered, constant_columns=one_value)))
    return found


def entries(sql: str, index: str, segments: list[tuple[Any, SegmentState]]) -> tuple[float, float]:
    """The entries without the index and with it, over all segments."""
    cut = normalize_sql(sql)
    shape = ShapeWorkload("visits", sql, sql, cut.skeleton, 1, instances={cut.literals: Instance(1, 1, 1.0)})
    rows = sum(window.segment_rows for window, _ in segments)
    candidates = by_column({parse_index(index)})
    estimates = merge_estimates(
        estimate_segment(window, state, [shape], candidates, rows, has_all_values=True)
        for window, state in segments
    )
    read = np.array([(each[0], each[-1]) for each in estimates["entries"].to_pylist()])
    without, with_index = read.sum(axis=0)
    return float(without), float(with_index)


@pytest.mark.parametrize("index", ["bloom:id", "inverted:page", "fst:page"])
@pytest.mark.parametrize("sql", TRUTH["queries"])
def test_predicted_entries_are_those_that_pinot_scanned(
    sql: str, index: str, segments: list[tuple[Any, SegmentState]]
) -> None:
    position = TRUTH["queries"].index(sql)
    measured = {name: TRUTH["entries"][name][position] for name in ("none", index)}
    without, with_index = entries(sql, index, segments)
    assert without == pytest.approx(measured["none"], rel=0.01, abs=2)
    slack = FALSE_POSITIVES * measured["none"] if index == "bloom:id" else 2
    assert with_index == pytest.approx(measured[index], rel=0.01, abs=slack)


def test_bloom_filters_spare_as_much_in_all_as_predicted(segments: list[tuple[Any, SegmentState]]) -> None:
    asked = [(number, sql) for number, sql in enumerate(TRUTH["queries"]) if "id = " in sql or "id IN" in sql]
    saved = sum(
        TRUTH["entries"]["none"][number] - TRUTH["entries"]["bloom:id"][number] for number, _ in asked
    )
    read = [entries(sql, "bloom:id", segments) for _, sql in asked]
    assert sum(without - left for without, left in read) == pytest.approx(saved, rel=0.1)


def test_walking_the_dictionary_is_charged(segments: list[tuple[Any, SegmentState]]) -> None:
    """Pinot counts no entries for it, but two rows could be scanned in the time of one value."""
    walked = [(window, replace(state, values_a_row={"page": 0.25})) for window, state in segments]
    pattern, plain = (
        f"SELECT COUNT(*) FROM visits WHERE page {each}" for each in ("LIKE '%x'", "= '/shop/a1/buy'")
    )
    assert entries(pattern, "fst:page", walked)[1] == 0.5 * 2_000
    assert entries(plain, "fst:page", walked)[1] == 0.0


def test_an_fst_index_alone_saves_nothing_and_no_index_changes_an_answer() -> None:
    patterns = [number for number, sql in enumerate(TRUTH["queries"]) if "LIKE" in sql]
    alone, none = TRUTH["entries"]["fst alone"], TRUTH["entries"]["none"]
    assert [alone[number] for number in patterns] == [none[number] for number in patterns]
    assert all(rows == TRUTH["rows"]["none"] for rows in TRUTH["rows"].values())
