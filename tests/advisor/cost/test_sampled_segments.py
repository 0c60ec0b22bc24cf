"""Segments that queries are simulated on: apart in time, where queries look, and weighted for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.cost.sampled_segments import KnownSegments, SegmentEnds, sample_segments
from starskip.advisor.cost.segment_estimates import weighted_estimates
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.sql.normalize_sql import normalize_sql
from starskip.storage.schemas import ESTIMATES


def days(order: Sequence[int]) -> KnownSegments:
    """Return a segment a day, in an order of names that is none of time; ``codes`` tell nothing."""
    files = [SegmentFile("t", f"t_{name:04}", f"/t/t_{name:04}", 1) for name in range(len(order))]
    days = np.array(order, np.int64)
    ends = SegmentEnds(pa.array(100 * days), pa.array(100 * days + 99))
    every = SegmentEnds(pa.array(0 * days), pa.array(0 * days + 9))
    return KnownSegments(files, {"codes": every, "day": ends})


def queries_of_days(least: int, entries: int = 1_000) -> list[ShapeWorkload]:
    instance = Instance(queries=1, entries_scanned_in_filter=entries)
    query = normalize_sql(f"SELECT COUNT(*) FROM t WHERE day >= {100 * least}")
    return [ShapeWorkload("t", "s", "", query.skeleton, instances={query.literals: instance})]


def days_of(known: KnownSegments, order: Sequence[int], most: int, shapes=()) -> list[int]:
    chosen = sample_segments(known, shapes, most)
    return [order[known.files.index(each.file)] for each in chosen]


def test_all_segments_of_a_small_table_are_taken_as_they_are() -> None:
    chosen = sample_segments(days([2, 0, 1]), [], 3)
    assert [each.file.segment for each in chosen] == ["t_0000", "t_0001", "t_0002"]
    assert {each.weight for each in chosen} == {1.0}


def test_segments_lie_apart_in_time_whatever_they_are_called() -> None:
    order = np.random.default_rng(0).permutation(100).tolist()
    assert [day // 20 for day in days_of(days(order), order, 5)] == [0, 1, 2, 3, 4]


def test_without_a_column_of_time_they_lie_apart_by_name() -> None:
    known = days(list(range(100)))
    of_codes = KnownSegments(known.files, {"codes": known.ends["codes"]})
    assert [name // 20 for name in days_of(of_codes, list(range(100)), 5)] == [0, 1, 2, 3, 4]


def test_half_of_them_lie_where_queries_look() -> None:
    order = np.random.default_rng(1).permutation(1_000).tolist()
    found = days_of(days(order), order, 20, queries_of_days(least=990))
    assert sum(day >= 990 for day in found) >= 9
    assert sum(day < 990 for day in found) >= 9


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(2, 400),
    most=st.integers(1, 40),
    looked_at_ratio=st.floats(0, 1),
    seed=st.integers(0, 2**16),
)
def test_what_the_sample_stands_for_is_the_table(count, most, looked_at_ratio, seed) -> None:
    order = np.random.default_rng(seed).permutation(count).tolist()
    known = days(order)
    chosen = sample_segments(known, queries_of_days(int(count * looked_at_ratio)), most)
    assert len(chosen) <= most
    assert len({each.file.path for each in chosen}) == len(chosen)
    assert [each.position for each in chosen] == list(range(len(chosen)))
    assert sum(each.weight for each in chosen) == count


def test_a_few_new_segments_leave_most_of_the_sample() -> None:
    before = {each.file.path for each in sample_segments(days(list(range(1_000))), [], 32)}
    after = {each.file.path for each in sample_segments(days(list(range(1_010))), [], 32)}
    assert len(before & after) >= 24


def test_the_sample_is_the_same_wherever_the_deep_store_lies() -> None:
    known = days(list(range(100)))
    moved = [replace(file, path=f"s3://deep/store{file.path}") for file in known.files]
    names = [
        [each.file.segment for each in sample_segments(of, [], 9)]
        for of in (known, replace(known, files=moved))
    ]
    assert names[0] == names[1]


def test_an_estimate_stands_for_as_many_segments_as_its_weight_says() -> None:
    row = {"table": "t", "shape_id": "s", "leg": 0, "instance": 3, "entries": [10.0, 4.0], "ns": [1.0, 2.0]}
    batch = pa.RecordBatch.from_pylist([{**row, "simulated_ratio": 0.01}], ESTIMATES)
    (found,) = weighted_estimates(batch, 2.5).to_pylist()
    assert found == {**row, "entries": [25.0, 10.0], "ns": [2.5, 5.0], "simulated_ratio": 0.025}
    assert weighted_estimates(batch, 1.0) is batch
