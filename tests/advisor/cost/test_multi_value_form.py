"""The multi-value form (III.2) against what a real Pinot scanned (benchmarks/data/truth)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from starskip.advisor.cost.baseline_ranking import parser_scores
from starskip.advisor.families.families import segment_indexes
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.pinot.segments.facts_table import collect_facts
from starskip.pinot.segments.segment_files import list_segments
from starskip.sql.normalize_sql import normalize_sql
from starskip.tables.table_overview import TableOverview, column_sums, table_overviews

ROOT = Path(__file__).parents[3]
TRUTH = ROOT / "benchmarks" / "data" / "truth" / "airlineStats_mv.json"
SEGMENTS = ROOT / "include" / "sample" / "segments"


def test_an_index_on_a_column_of_many_values_saves_what_pinot_measured() -> None:
    truth = json.loads(TRUTH.read_text())
    scanned = {tuple(s["columns"]): np.array(s["entries_in_filter"]) for s in truth["subsets"]}
    weights = np.array([weight for _, weight in truth["templates"]])
    total = float(weights @ scanned[()])
    real = 1 - float(weights @ scanned[("RandomAirports",)]) / total
    shapes = [
        _shape(sql, round(weight * 1000 * float(entries)))
        for (sql, weight), entries in zip(truth["templates"], scanned[()], strict=True)
    ]
    predicted = parser_scores(shapes, _overview(), order=9)["RandomAirports"] / (1000 * total)
    # Without the column's own entries it would be 4.6 %, where 6.6 % were measured.
    assert predicted == pytest.approx(real, rel=0.1)


def _shape(sql: str, entries: int) -> ShapeWorkload:
    cut = normalize_sql(sql)
    instances = {cut.literals: Instance(1, entries, float(entries) ** 2)}
    return ShapeWorkload("airlineStats", sql, sql, cut.skeleton, 1, 0, entries, instances=instances)


def _overview() -> TableOverview:
    facts = collect_facts(list_segments(SEGMENTS, ["airlineStats"]))
    sums = column_sums(batch for of_file, _ in facts for batch in of_file.to_batches())
    return table_overviews(sums, segment_indexes())["airlineStats"]
