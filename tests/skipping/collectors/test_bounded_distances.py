"""Boxes and distances of more values than are held: nothing is lost, however tasks share a file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skipping_law.sparks_rows import levenshtein
from starskip.skipping.collectors import cover_boxes
from starskip.skipping.contrib import distances_collector
from starskip.skipping.contrib.distances_collector import DistancesCollector
from starskip.skipping.contrib.metric_distances import euclidean_distance
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.index_types.geo_box import GeoBox

RANDOM = np.random.default_rng(17)
COORDINATE = st.sampled_from([0.0, 1.0, 5.0, -1.5, 60.0, 61.0, float("nan"), float("inf"), None])
TEXTS = st.text("abé\U0001f600", max_size=5) | st.just("b" * 300)


@pytest.fixture
def few_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cover_boxes, "HELD", 4)
    monkeypatch.setattr(cover_boxes, "_KEPT", 3)
    monkeypatch.setattr(distances_collector, "_HELD_VALUES", 2)


def merged(made: list[FileCollector], batches: list[list[pa.RecordBatch]]) -> dict[str, object]:
    """Result of a file that as many tasks have read as there are lists of batches."""
    whole, *of_tasks = made
    for collector, read in zip(of_tasks, batches, strict=True):
        for batch in read:
            collector.add(batch)
        for part in collector.parts():
            whole.merge(part)
    return {name: column[0].as_py() for name, column in whole.result().items()}


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
    found = merged([index.collector(schema) for _ in range(len(tasks) + 1)], batches)
    boxes = found["boxes"]
    assert isinstance(boxes, list)
    points = {point for of in tasks for rows in of for point in rows if point != (None, None)}
    assert all(any(_covers(box, point) for box in boxes) for point in points), (boxes, points)


@pytest.mark.usefixtures("few_are_held")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.lists(TEXTS | st.none(), max_size=5), max_size=3), min_size=1, max_size=3))
def test_bounds_hold_the_distance_of_each_text(tasks: list[list[list[str | None]]]) -> None:
    batches = [[pa.record_batch({"values": pa.array(rows, pa.string())}) for rows in of] for of in tasks]
    made = [DistancesCollector("levenshtein", pa.string()) for _ in range(len(tasks) + 1)]
    found = merged(list(made), batches)
    texts = [text for of in tasks for rows in of for text in rows if text is not None]
    assert (found["values"] == 0) == (not texts)
    if texts and (found["origin"] is not None or all(len(text) > 256 for text in texts)):
        _bounded(found, [levenshtein(text, found["origin"]) for text in texts if found["origin"] is not None])
    else:
        assert not texts or any(len(text) > 256 for text in texts)


@pytest.mark.usefixtures("few_are_held")
@pytest.mark.parametrize("tasks", [1, 4])
def test_bounds_hold_the_distance_of_each_point(tasks: int) -> None:
    points = RANDOM.integers(-50, 50, (60, 2)).astype(float).tolist()
    batches = [[pa.record_batch({"values": pa.array(points[at::tasks])})] for at in range(tasks)]
    kind = pa.list_(pa.float64())
    found = merged([DistancesCollector("euclidean", kind) for _ in range(tasks + 1)], batches)
    distances = [euclidean_distance(point, found["origin"]) for point in points]
    _bounded(found, distances)
    if tasks == 1:
        assert (found["least"], found["greatest"]) == (min(distances), max(distances))


def _bounded(found: dict[str, object], distances: list[float]) -> None:
    least, greatest = found["least"], found["greatest"]
    assert (isinstance(least, float) and isinstance(greatest, float)) or not distances
    assert all(least <= each <= greatest for each in distances), (found, distances)  # type: ignore[operator]


def test_texts_that_are_no_texts_are_not_known() -> None:
    raw = pa.array([b"ab", b"\xff"], pa.binary()).view(pa.string())
    batch = pa.record_batch({"values": raw})
    made = [DistancesCollector("levenshtein", pa.string()) for _ in range(2)]
    assert merged(list(made), [[batch]]) == {"origin": None, "least": None, "greatest": None, "values": 2}
