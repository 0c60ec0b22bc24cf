from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from starskip.advisor.workload.count_shapes import count_shapes
from starskip.advisor.workload.fold_shapes import FOLDED, fold_shapes
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_shapes
from starskip.storage.schemas import WORKLOAD


def folded(batches: list[pa.RecordBatch], cap: int) -> list[ShapeWorkload]:
    table = pa.Table.from_batches(fold_shapes(batches, max_shapes=cap), schema=WORKLOAD)
    return list(workload_shapes(table))


def test_busiest_shapes_stay_and_the_rest_keeps_only_its_sums(
    record: Callable[..., dict[str, Any]], batch: Callable[..., pa.RecordBatch]
) -> None:
    records = [
        record(f"select count(*) from t where c{n} = 1", entries_scanned_in_filter=n * 100, exceptions=n % 2)
        for n in range(10)
    ]
    counted = list(count_shapes([batch(records)], instances_per_shape=4))
    shapes = folded(counted, cap=3)
    assert [s.entries_scanned_in_filter for s in shapes] == [900, 800, 700, 2100]
    assert shapes[-1].shape_id == FOLDED
    assert not shapes[-1].is_parsed
    assert (shapes[-1].queries, shapes[-1].failed, shapes[-1].instances) == (7, 3, {})
    assert sum(s.queries for s in shapes) == 10
    again = folded(list(pa.Table.from_batches(fold_shapes(counted, max_shapes=3)).to_batches()), cap=3)
    assert again == shapes, "folding what is folded changes nothing"


def test_each_table_has_its_own_cap(
    record: Callable[..., dict[str, Any]], batch: Callable[..., pa.RecordBatch]
) -> None:
    records = [record(f"select a from t where c{n} = 1", table=t) for n in range(3) for t in ("t", "u")]
    shapes = folded(list(count_shapes([batch(records)], instances_per_shape=4)), cap=2)
    assert [(s.table, s.queries) for s in shapes] == [("t", 1)] * 2 + [("t", 1)] + [("u", 1)] * 3
    assert [s.shape_id == FOLDED for s in shapes] == [False, False, True] * 2
