"""Boxes of more values than are held: nothing is lost, however tasks share a file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skipping_law.files_metadata import merged
from starskip.skipping.collectors import cover_boxes
from starskip.skipping.index_types.geo_box import GeoBox

COORDINATE = st.sampled_from([0.0, 1.0, 5.0, -1.5, 60.0, 61.0, float("nan"), float("inf"), None])


@pytest.fixture
def few_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cover_boxes, "HELD", 4)
    monkeypatch.setattr(cover_boxes, "_KEPT", 3)


def _covers(box: dict[str, float], point: tuple[float | None, float | None]) -> bool:
    for value, name in zip(point, ("lat", "lng"), strict=True):
        least, greatest = box[f"{name}_least"], box[f"{name}_greatest"]
        if value is not None:
            is_below = not np.isnan(greatest) and (np.isnan(value) or value > greatest)
            if is_below or (not np.isnan(value) and not value >= least):
                return False
    return True


@pytest.mark.usefixtures("few_are_held")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.lists(st.tuples(COORDINATE, COORDINATE), max_size=6), max_size=3), max_size=3))
def test_each_point_is_in_a_box(tasks: list[list[list[tuple[float | None, float | None]]]]) -> None:
    index = GeoBox(["lat", "lng"], ["2"])
    schema = pa.schema([("lat", pa.float64()), ("lng", pa.float64())])
    batches = [
        [pa.record_batch([list(axis) for axis in zip(*rows, strict=True)] or [[], []], schema) for rows in of]
        for of in tasks
    ]
    (found,) = merged([index.collector(schema) for _ in range(len(tasks) + 1)], batches).to_pylist()
    boxes = found["boxes"]
    assert isinstance(boxes, list)
    points = {point for of in tasks for rows in of for point in rows if point != (None, None)}
    assert all(any(_covers(box, point) for box in boxes) for point in points), (boxes, points)
