"""Bounds of a stage's memory and work: caps that refuse, budgets that keep what matters most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from settings_with import settings_with
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.errors import CapExceeded
from starskip.execution.local_engine import LocalEngine, LocalRows

pytestmark = pytest.mark.slow

NUMBERS = pa.schema([("n", pa.int64())])


def batches_of(*sizes: int) -> LocalRows:
    batches = [pa.record_batch([pa.array(range(size), pa.int64())], schema=NUMBERS) for size in sizes]
    return LocalRows(lambda: iter(batches), NUMBERS)


def test_gather_returns_as_many_rows_as_the_cap() -> None:
    assert len(batches_of(3, 4).gather("numbers", 7)) == 7


def test_gather_refuses_one_row_more_by_name() -> None:
    with pytest.raises(CapExceeded, match="numbers: more than 6 rows"):
        batches_of(3, 4).gather("numbers", 6)


def test_gather_stops_reading_at_the_cap() -> None:
    read = []

    def endless() -> Any:
        while True:
            read.append(1)
            yield pa.record_batch([pa.array([1, 2])], schema=NUMBERS)

    with pytest.raises(CapExceeded):
        LocalRows(endless, NUMBERS).gather("numbers", 9)
    assert len(read) == 5


def test_maps_run_only_when_rows_are_asked_for() -> None:
    ran = []

    def double(batches: Any) -> Any:
        for batch in batches:
            ran.append(batch.num_rows)
            yield batch
            yield batch

    rows = LocalEngine().rows_of_items([2, 3], lambda items: map(_batch, items), NUMBERS)
    doubled = rows.map(double, NUMBERS).merge(["n"], double, NUMBERS)
    assert ran == []
    assert len(doubled.gather("numbers", 100)) == 20
    assert sum(ran) == 5 + 10


def _batch(size: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(range(size), pa.int64())], schema=NUMBERS)


def test_of_more_shapes_than_the_cap_the_busiest_stay_and_the_rest_still_counts(
    lab: Any, log_line: Callable[..., str]
) -> None:
    for path in lab.logs.iterdir():
        path.unlink()
    query = "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 1 AND x{} = 2"
    lab.log(*[log_line("lineitem", query.format(number), entries=number) for number in range(1, 41)])
    lab.settings = settings_with(lab.settings, max_shapes_per_table=5)
    night = lab.run(stages=STAGE_NAMES[:-1])
    snapshot = night.store.snapshot("workload", night.date_text)
    shapes = {row["text"]: row for row in snapshot.read_table(["lineitem"]).to_pylist()}
    folded = shapes.pop("unparsed:too_many_shapes")
    assert sorted(row["entries_scanned_in_filter"] for row in shapes.values()) == [36, 37, 38, 39, 40]
    assert (folded["queries"], folded["entries_scanned_in_filter"]) == (35, sum(range(1, 36)))
    advice = night.store.snapshot("recommendations", night.date_text).parts()["lineitem"].properties
    assert (advice["entries"], advice["queries"], advice["unparsed"]) == (sum(range(1, 41)), 40, 35)
    assert advice["saving"]["ratio"] <= sum(range(36, 41)) / sum(range(1, 41))


def test_simulations_are_shared_out_over_segments_the_same_at_every_run(lab: Any) -> None:
    lab.settings = settings_with(window_rows_per_table=2_048, max_simulations_per_table=60)
    lab.run(stages=STAGE_NAMES[:4])
    first = lab.published("votes")
    lab.run(stages=STAGE_NAMES[3:4])
    assert lab.published("votes") == first
    lab.settings = settings_with(lab.settings, max_simulations_per_table=20_000)
    lab.run(stages=STAGE_NAMES[3:4])
    assert lab.published("votes") != first
