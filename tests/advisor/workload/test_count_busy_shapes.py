"""Counting with a bound: the same totals as without, and of the shapes that scan most the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.workload.busy_keys import busy_keys
from starskip.advisor.workload.count_shapes import count_shapes, merge_shapes
from starskip.advisor.workload.fold_shapes import FOLDED, fold_shapes
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_shapes
from starskip.execution.local_engine import LocalRows

Record = dict[str, Any]
Batch = Callable[[list[Record]], pa.RecordBatch]

SUMS = (
    "queries",
    "failed",
    "entries_scanned_in_filter",
    "entries_scanned_in_filter_squared",
    "entries_scanned_post_filter",
    "failed_entries_scanned_in_filter",
    "latency_ms_sum",
    "unlogged_queries",
    "unlogged_entries_scanned_in_filter",
)
FORMS = (
    "select a from t where c{} = {}",
    "SELECT a FROM t WHERE c{} = {} /* asked again */",
    "select b, a from t where c{} in ({}, 4)",
    "drop table c{} {}",
)
logs = st.lists(
    st.tuples(st.sampled_from(FORMS), st.integers(0, 25), st.integers(0, 9), st.booleans(), st.booleans()),
    min_size=1,
    max_size=120,
)


def folded(batches: Any, max_shapes: int) -> dict[tuple[str, str], ShapeWorkload]:
    kept = fold_shapes(merge_shapes(batches, instances_per_shape=5), max_shapes=max_shapes)
    return {(s.table, s.shape_id): s for rows in kept for s in workload_shapes(rows)}


@settings(max_examples=150)
@given(log=logs, cut=st.integers(0, 120), max_shapes=st.integers(1, 12))
def test_totals_stay_and_the_heaviest_shapes_too(
    record: Callable[..., Record], batch: Batch, log: list[Any], cut: int, max_shapes: int
) -> None:
    records = [
        record(
            form.format(n, literal),
            table="tu"[is_u],
            entries_scanned_in_filter=(n + 1) ** 3,
            exceptions=int(n % 5 == 0),
            weight=2.0 if is_sampled else 1.0,
        )
        for form, n, literal, is_u, is_sampled in log
    ]
    parts = [batch(records[:cut]), batch(records[cut:])]
    busy = busy_keys(LocalRows(lambda: iter(parts), parts[0].schema), max_shapes)
    bounded = [rows for part in parts for rows in count_shapes([part], instances_per_shape=5, busy=busy)]
    unbounded = [rows for part in parts for rows in count_shapes([part], instances_per_shape=5)]
    with_bound, without = folded(bounded, max_shapes), folded(unbounded, 1_000)
    for table in ("t", "u"):
        of_table = [shape for key, shape in with_bound.items() if key[0] == table]
        truth = [shape for key, shape in without.items() if key[0] == table]
        for name in SUMS:
            assert sum(getattr(s, name) for s in of_table) == sum(getattr(s, name) for s in truth), name
        named = [shape for shape in of_table if shape.shape_id != FOLDED]
        assert len(named) <= max_shapes
        ranked = sorted(truth, key=lambda shape: (-shape.estimated_entries, shape.shape_id))[:max_shapes]
        least = busy[table].left_out_entries if table in busy else -1.0
        # A shape of parsed text has one key here; one of a reason has many, and counts those that are kept.
        heavy = [shape for shape in ranked if shape.is_parsed and shape.estimated_entries > least]
        assert all(with_bound[table, shape.shape_id] == shape for shape in heavy)


def test_memory_holds_the_busy_shapes_only(record: Callable[..., Record], batch: Batch) -> None:
    records = [
        record(f"select a from t where c{n} = {k}", entries_scanned_in_filter=n)
        for n in range(1_500)
        for k in range(2)
    ]
    queries = batch(records)
    busy = busy_keys(LocalRows(lambda: iter([queries]), queries.schema), 50)
    (rows,) = count_shapes([queries], instances_per_shape=5, busy=busy)
    assert rows.num_rows == 101
    entries = sorted(s.entries_scanned_in_filter for s in workload_shapes(rows) if s.shape_id != FOLDED)
    assert entries == [2 * n for n in range(1_400, 1_500)]
