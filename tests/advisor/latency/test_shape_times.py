"""The latency model by shapes, held against logs that are made from known costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.latency.shape_times import LINE, OWN_TIMES, ShapeTimes, fit_shape_times, mistrust
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload

from tests.support.law_cases import law_cases

MOST_CHEAP_ENTRIES = 200


def made_shape(
    random: np.random.Generator,
    number: int,
    ms_per_entry: float,
    *,
    constant_ms: float,
    noise_ratio: float,
    wait_ms: float,
) -> ShapeWorkload:
    """Return a shape with some texts, each asked several times, and with times of the given cost."""
    shape = ShapeWorkload("t", f"shape{number}", "", "")
    most = MOST_CHEAP_ENTRIES if number % 8 == 0 else 3_000_000
    for text in range(int(random.integers(2, 6))):
        queries = int(random.integers(2, 9))
        entries = int(random.integers(most // 10, most))
        work = constant_ms + ms_per_entry * entries
        times = work * (1 + noise_ratio * random.random(queries)) + random.exponential(wait_ms, queries)
        logged = np.round(times).astype(int)
        post_filter = entries // 3
        shape.instances[((str(text),),)] = Instance(
            queries=queries,
            entries_scanned_in_filter=queries * (entries - post_filter),
            entries_scanned_post_filter=queries * post_filter,
            timed_queries=queries,
            latency_ms_sum=int(logged.sum()),
            latency_ms_squared=float((logged**2).sum()),
            least_latency_ms=float(logged.min()),
        )
        shape.queries += queries
    return shape


def shares(shapes: list[ShapeWorkload], ms_of: dict[str, float]) -> np.ndarray:
    """Return each shape's share of the work of all."""
    work = np.array(
        [
            ms_of[shape.shape_id]
            * sum(
                each.entries_scanned_in_filter + each.entries_scanned_post_filter
                for each in shape.instances.values()
            )
            for shape in shapes
        ]
    )
    return np.asarray(work / work.sum())


def made_log(
    seed: int, *, noise_ratio: float, wait_ms: float
) -> tuple[list[ShapeWorkload], dict[str, float]]:
    """Return shapes whose entries cost from 1 to 50 ns, and by shape the milliseconds of an entry."""
    random = np.random.default_rng(seed)
    costs = {f"shape{number}": float(np.exp(random.uniform(0, np.log(50)))) * 1e-6 for number in range(24)}
    shapes = [
        made_shape(random, number, cost, constant_ms=4.0, noise_ratio=noise_ratio, wait_ms=wait_ms)
        for number, cost in enumerate(costs.values())
    ]
    return shapes, costs


def fitted(shapes: list[ShapeWorkload]) -> ShapeTimes:
    found = fit_shape_times(shapes)
    assert found is not None
    return found


@settings(max_examples=law_cases("STARSKIP_SHAPE_TIMES", 60), deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_quiet_log_tells_what_an_entry_of_each_shape_costs(seed: int) -> None:
    shapes, costs = made_log(seed, noise_ratio=0.05, wait_ms=0.0)
    times = fitted(shapes)
    assert not mistrust(times, 0.7)
    assert times.candidates[OWN_TIMES] > max(times.candidates[LINE] or 0.0, 0.9)  # type: ignore[operator]
    assert abs(times.constant_ms - 4) < 1.5
    predicted = shares(shapes, {shape: times.rate(shape).in_filter_ms for shape in costs})
    assert np.abs(predicted - shares(shapes, costs)).sum() / 2 < 0.05
    # All work and the constant make up what the log says.
    asked = sum(shape.queries for shape in shapes)
    logged = sum(each.latency_ms_sum for shape in shapes for each in shape.instances.values())
    assert times.ms_per_query == pytest.approx(logged / asked)


def test_a_busy_log_still_tells_which_shapes_cost_most() -> None:
    """Queries wait for others four times as long as a mean one works: shares are known roughly."""
    off, off_by_entries, waits, errors = [], [], [], []
    for seed in range(20):
        shapes, costs = made_log(seed, noise_ratio=0.3, wait_ms=60.0)
        times = fitted(shapes)
        real = shares(shapes, costs)
        predicted = shares(shapes, {shape: times.rate(shape).in_filter_ms for shape in costs})
        off.append(np.abs(predicted - real).sum())
        off_by_entries.append(np.abs(shares(shapes, dict.fromkeys(costs, 1.0)) - real).sum())
        waits.append(times.waiting_ms)
        errors.append(max(times.rate(shape).error_ratio for shape in costs))
    assert np.median(off) < 0.5 * np.median(off_by_entries)
    assert 30 < np.median(waits) < 90
    assert min(errors) > 0.05


def test_times_that_have_nothing_to_do_with_entries_are_not_trusted() -> None:
    random = np.random.default_rng(1)
    shapes = [
        made_shape(random, number, 1e-12, constant_ms=5.0, noise_ratio=2.0, wait_ms=0.0)
        for number in range(12)
    ]
    times = fit_shape_times(shapes)
    assert "R²" in mistrust(times, 0.7) or "too few" in mistrust(times, 0.7)


def test_a_log_without_latencies_has_no_model() -> None:
    shape = ShapeWorkload("t", "s", "", "", queries=1, instances={(("1",),): Instance(1, 100)})
    assert fit_shape_times([shape]) is None
    assert mistrust(None, 0.7) == "the log has no latencies of queries that read entries"


def test_one_text_a_shape_is_too_little_to_judge_by() -> None:
    shapes, _ = made_log(3, noise_ratio=0.0, wait_ms=0.0)
    for shape in shapes:
        shape.instances = dict(list(shape.instances.items())[:1])
    times = fitted(shapes)
    assert times.r2 is None
    assert "too few queries" in mistrust(times, 0.7)
