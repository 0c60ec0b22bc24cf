"""Entries that bloom filters spare: segments of a raw column that lack what a query asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from starskip.advisor.cost.leapfrog_votes import leapfrog_votes
from starskip.advisor.cost.segment_estimates import SegmentState, estimate_segment, merge_estimates
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.column_indexes import BLOOM
from starskip.advisor.families.index import Index, by_column, drop_of
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.pinot.column_indexes.bloom import BLOOM_PATH
from starskip.pinot.table_config import table_config
from starskip.sql.normalize_sql import normalize_sql
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.table_overview import ColumnOverview

FILTER = Index("bloom", "id")
STATE = SegmentState(AccessRules())
ROWS = 1_000
SEGMENTS = 4


def raw(values: list[str]) -> ColumnWindow:
    distinct = pa.array(sorted(set(values), reverse=True))
    codes = pc.index_in(pa.array(values), value_set=distinct).to_numpy().astype("int32")
    return ColumnWindow(codes, values=distinct, ends=pa.array(["a", "z"]))


@pytest.fixture
def windows(window_of: Callable[..., RowWindow]) -> list[RowWindow]:
    """Segment number n holds the ids x<n>_0 to x<n>_9, in a raw column and in one with a dictionary."""
    found = []
    for number in range(SEGMENTS):
        ids = [f"x{number}_{row % 10}" for row in range(ROWS)]
        window = window_of(dict=ids, city=[row % 4 for row in range(ROWS)])
        found.append(replace(window, columns={**window.columns, "id": raw(ids)}))
    return found


def saved(
    where: str, windows: list[RowWindow], state: SegmentState = STATE, index: Index = FILTER, **options: Any
) -> float:
    """The share of today's entries that the index saves."""
    cut = normalize_sql(f"select count(*) from t where {where}")
    entries = 10_000
    instance = Instance(1, entries, float(entries) ** 2, segments_matched=1)
    shape = ShapeWorkload(
        "t",
        where,
        where,
        cut.skeleton,
        1,
        entries_scanned_in_filter=entries,
        instances={cut.literals: instance},
    )
    candidates = by_column({index})
    options = {"has_all_values": True} | options
    estimates = [
        estimate_segment(window, state, [shape], candidates, ROWS * SEGMENTS, **options) for window in windows
    ]
    votes = leapfrog_votes([shape], merge_estimates(estimates), candidates, state.rules).to_pylist()
    return votes[0]["saving_entries"] / entries if votes else 0.0


@pytest.mark.parametrize(
    ("where", "ratio"),
    [
        ("id = 'x1_3'", 0.95 * 3 / 4),
        ("id = 'nobody'", 0.95),
        ("id in ('x1_3', 'x2_5')", 0.95**2 * 2 / 4),
        ("id in ('x0_1', 'x1_1', 'x2_1', 'x3_1')", 0.0),
        ("id = 'x1_3' or id = 'x1_4'", 0.95**2 * 3 / 4),
        ("id <> 'x1_3'", 0.0),
        ("not id = 'x1_3'", 0.0),
        ("id = 'x1_3' or city = 1", 0.0),
        ("upper(id) = 'X1_3'", 0.0),
        ("id > 'x1_3'", 0.0),
        ("id in (" + ", ".join(f"'y{number}'" for number in range(10)) + ")", 0.95**10),
        ("id in (" + ", ".join(f"'y{number}'" for number in range(11)) + ")", 0.0),
        ("dict = 'x1_3'", 0.0),
    ],
)
def test_segments_without_the_value_are_spared(where: str, ratio: float, windows: list[RowWindow]) -> None:
    assert saved(where, windows) == pytest.approx(ratio)


def test_beside_another_predicate_the_spared_segments_are_the_same(windows: list[RowWindow]) -> None:
    # In a segment with the value the other column is read where the first matches: 100 entries of 1,000 more.
    alone, beside = (saved(where, windows) for where in ("id = 'x1_3'", "id = 'x1_3' and city = 1"))
    assert 0.9 * alone < beside < alone


def test_an_index_in_force_spares_today_already_and_its_drop_does_not(windows: list[RowWindow]) -> None:
    state = replace(STATE, in_force=frozenset({FILTER}))
    left = 1 / 4 + 0.05 * 3 / 4
    assert saved("id = 'x1_3'", windows, state, drop_of(FILTER)) == pytest.approx(1 - 1 / left)


def test_rows_that_are_not_all_there_tell_of_no_absence(windows: list[RowWindow]) -> None:
    assert saved("id = 'x1_3'", windows, has_all_values=False) == 0.0


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (ColumnOverview("c", dictionary_ratio=0.0), None),
        (ColumnOverview("c", dictionary_ratio=0.5), None),
        (ColumnOverview("c"), "has_dictionary"),
        (ColumnOverview("c", data_type="BOOLEAN", dictionary_ratio=0.0), "no_bloom_type"),
    ],
)
def test_columns_that_get_none(column: ColumnOverview, reason: str | None) -> None:
    found = BLOOM_PATH.obstacle(column)
    assert (found.reason if found else None) == reason


def test_filters_in_force_are_read_wherever_a_config_names_them() -> None:
    config = {
        "tableName": "t",
        "tableIndexConfig": {"bloomFilterColumns": ["a"], "bloomFilterConfigs": {"b": {"fpp": 0.01}}},
        "fieldConfigList": [
            {"name": "c", "indexes": {"bloom": {}}},
            {"name": "d", "indexes": {"bloom": {"disabled": True}}},
        ],
    }
    assert BLOOM.config.in_force(table_config(config)) == ("a", "b", "c")
