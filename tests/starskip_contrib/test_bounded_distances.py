"""Distances of more values than are held: nothing is lost, however tasks share a file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skipping_law.files_metadata import merged
from skipping_law.sparks_rows import levenshtein
from starskip_contrib import distances_collector
from starskip_contrib.distances_collector import DistancesCollector
from starskip_contrib.metric_distances import euclidean_distance

RANDOM = np.random.default_rng(17)
TEXTS = st.text("abé\U0001f600", max_size=5) | st.just("b" * 300)


@pytest.fixture
def few_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances_collector, "_HELD_VALUES", 2)


@pytest.mark.usefixtures("few_are_held")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.lists(TEXTS | st.none(), max_size=5), max_size=3), min_size=1, max_size=3))
def test_bounds_hold_the_distance_of_each_text(tasks: list[list[list[str | None]]]) -> None:
    batches = [[pa.record_batch({"values": pa.array(rows, pa.string())}) for rows in of] for of in tasks]
    made = [DistancesCollector("levenshtein", pa.string()) for _ in range(len(tasks) + 1)]
    (found,) = merged(made, batches).to_pylist()
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
    (found,) = merged([DistancesCollector("euclidean", kind) for _ in range(tasks + 1)], batches).to_pylist()
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
    (found,) = merged(made, [[batch]]).to_pylist()
    assert found == {"origin": None, "least": None, "greatest": None, "values": 2}
