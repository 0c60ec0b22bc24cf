"""Distances of more values than are held: nothing is lost, however tasks share a file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skipping_law.sparks_rows import levenshtein
from starskip.skipping.file_collector import FileCollector
from starskip_contrib import distances_collector
from starskip_contrib.distances_collector import DistancesCollector
from starskip_contrib.metric_distances import euclidean_distance

RANDOM = np.random.default_rng(17)
TEXTS = st.text("abé\U0001f600", max_size=5) | st.just("b" * 300)


@pytest.fixture
def few_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
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
