"""The choice by time: which index it takes, when it is made, and what it says in both units."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from index_choice import advised, in_force
from settings_with import settings_with
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.storage.schemas import VOTES
from starskip.tables.table_overview import ColumnOverview, TableOverview

COLUMNS = "abcdefgh"
TEXTS = 4
QUERIES = 5
CONSTANT_MS = 2


def made(column: str, entries: int, ms_per_million: float, *, is_timed: bool = True) -> ShapeWorkload:
    """Return a shape that filters by ``column``, of some texts with up to twice as many entries."""
    found: ShapeWorkload | None = None
    for number in range(TEXTS):
        cut = normalize_sql(f"select count(*) from t where {column} = {number}")
        read = entries * (TEXTS + number) // TEXTS
        ms = CONSTANT_MS + ms_per_million * read / 1e6
        times: dict[str, Any] = {}
        if is_timed:
            times = {
                "timed_queries": QUERIES,
                "latency_ms_sum": round(QUERIES * ms),
                "latency_ms_squared": QUERIES * ms**2,
                "least_latency_ms": ms,
            }
        instance = Instance(QUERIES, QUERIES * read, QUERIES * float(read) ** 2, **times)
        shape_id = query_shape(cut.skeleton).shape_id
        found = found or ShapeWorkload("t", shape_id, column, cut.skeleton)
        found.instances[cut.literals] = instance
        found.queries += QUERIES
        found.entries_scanned_in_filter += instance.entries_scanned_in_filter
        found.entries_scanned_in_filter_squared += instance.entries_scanned_in_filter_squared
    assert found is not None
    return found


def advice(shapes: list[ShapeWorkload], saved_ratio: float = 1.0, **settings: Any) -> TableAdvice:
    """Return the advice where an index on its column saves a share of each shape's entries and time."""
    rows = [
        {
            "table": "t",
            "shape_id": shape.shape_id,
            "leg": 0,
            "structures": [f"inverted:{shape.text}"],
            "saving_entries": saved_ratio * shape.entries_scanned_in_filter,
            "saving_entries_squared": saved_ratio**2 * shape.entries_scanned_in_filter_squared,
            "saving_entries_cross": saved_ratio * shape.entries_scanned_in_filter_squared,
            "saving_priced_entries": saved_ratio * shape.entries_scanned_in_filter,
            "is_complete": True,
        }
        for shape in shapes
    ]
    known = {name: ColumnOverview(name, cardinality=100.0, sorted_ratio=0.0) for name in COLUMNS}
    overview = TableOverview("t", 1, 1_000_000, known, in_force())
    return advised("t", shapes, pa.Table.from_pylist(rows, VOTES), overview, settings_with(**settings))


def chosen(found: TableAdvice) -> list[str]:
    return [item.index.column for item in found.recommendation.chosen]


# Column a has most of the entries, column b most of the time; the others read next to nothing.
CHEAP = [made(name, 100, 3.0) for name in "cd"]
BUSY = [made("a", 900_000, 3.0), made("b", 300_000, 50.0), *CHEAP]


@pytest.mark.parametrize(("unit", "first"), [("ms", "b"), ("auto", "b"), ("entries", "a")])
def test_the_best_index_is_the_one_that_saves_most_of_the_unit(unit: str, first: str) -> None:
    found = advice(BUSY, unit=unit, max_indexes=1)
    assert chosen(found) == [first]
    assert found.unit == ("entries" if unit == "entries" else "ms")
    assert found.mistrust == ""
    assert found.times is not None
    assert found.time is not None


def test_both_units_are_told_whichever_the_choice_was_made_in() -> None:
    by_time = advice(BUSY, unit="ms", max_indexes=1)
    entries = sum(shape.entries_scanned_in_filter for shape in BUSY)
    of_b = BUSY[1].entries_scanned_in_filter / entries
    # What indexes save is a share of entries, also of an index that was chosen by its time.
    assert by_time.recommendation.saving.ratio == pytest.approx(of_b)
    assert by_time.recommendation.chosen[0].individual_saving_ratio == pytest.approx(of_b)
    assert by_time.combined.saving.ratio == pytest.approx(of_b)
    time = by_time.time
    assert time is not None
    logged = sum(each.latency_ms_sum for shape in BUSY for each in shape.instances.values())
    queries = sum(shape.queries for shape in BUSY)
    assert time.ms_per_query == pytest.approx(logged / queries)
    of_time = sum(each.latency_ms_sum - CONSTANT_MS * QUERIES for each in BUSY[1].instances.values())
    assert time.saving_ms == pytest.approx(of_time / queries, rel=0.05)
    assert time.low_ms < time.saving_ms < time.high_ms <= time.ms_per_query
    # The refused index saves more entries, and less time.
    refused = {each.index.column: each.detail for each in by_time.refused}
    assert "of the time of filters" in refused["a"]


def test_the_time_of_each_index_adds_up_to_that_of_all() -> None:
    found = advice(BUSY, unit="ms")
    assert sorted(chosen(found)) == ["a", "b"]
    assert found.time is not None
    by_index = {index.column: ms for index, ms in found.index_times.columns.items()}
    assert by_index["b"] > by_index["a"] > 0
    assert sum(by_index.values()) == pytest.approx(found.time.saving_ms)


def test_intervals_grow_by_what_past_applications_missed() -> None:
    found = advice(BUSY, unit="ms", max_indexes=1)
    wider = found.widened(2.0, 3.0)
    told, wide = found.combined.saving, wider.combined.saving
    assert (wide.ratio, wide.ratio - wide.low) == (told.ratio, pytest.approx(2 * (told.ratio - told.low)))
    assert wide.high == pytest.approx(min(told.ratio + 2 * (told.high - told.ratio), 1.0))
    assert found.time is not None and wider.time is not None
    assert wider.time.saving_ms == found.time.saving_ms
    below = wider.time.saving_ms - wider.time.low_ms
    assert below == pytest.approx(3 * (found.time.saving_ms - found.time.low_ms))
    assert found.time.high_ms <= wider.time.high_ms <= found.time.ms_per_query
    assert wider.interval_factor == 2.0
    assert found.widened(1.0, 1.0) == found


def test_an_index_that_makes_queries_slower_saves_less_than_nothing() -> None:
    found = advice(BUSY, saved_ratio=-0.2, unit="ms")
    assert chosen(found) == []
    assert {each.code for each in found.refused if each.index.column in "ab"} == {"reads_more_entries"}


def test_without_a_model_to_trust_the_choice_is_by_entries_and_says_why() -> None:
    untimed = [made(name, 900_000, 3.0, is_timed=False) for name in "ab"]
    found = advice(untimed, unit="auto")
    assert (found.unit, found.times, found.time) == ("entries", None, None)
    assert found.mistrust == "the log has no latencies of queries that read entries"
    # Some texts of every shape take long, whatever they read.
    odd = [made(name, entries, 3.0) for name, entries in (("a", 900_000), ("b", 500_000), ("c", 100))]
    for shape in odd:
        for number, each in enumerate(shape.instances.values()):
            ms = (3, 90, 2, 41)[number]
            each.latency_ms_sum, each.latency_ms_squared = QUERIES * ms, QUERIES * float(ms) ** 2
            each.least_latency_ms = float(ms)
    found = advice(odd, unit="auto")
    assert found.unit == "entries"
    assert "R²" in found.mistrust
    assert advice(odd, unit="ms").unit == "ms"
