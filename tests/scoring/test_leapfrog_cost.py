"""leapfrog_cost against the walk itself, row by row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.scoring.leapfrog_cost import leapfrog_cost

Mask = npt.NDArray[np.bool_]
ROWS = 4_000


def walked_entries(masks: list[Mask]) -> float:
    """Entries a row of an AND: each child reads from the row asked to its next match, ends included."""
    rows = len(masks[0])
    read = row = 0
    while row < rows:
        leader = None
        child = 0
        while child < len(masks):
            if child == leader:
                child += 1
                continue
            match = row
            while match < rows and not masks[child][match]:
                match += 1
            if match == rows:
                return (read + rows - row) / rows
            read += match - row + 1
            if match == row:
                child += 1
            else:
                row, leader, child = match, child, 0
        row += 1
    return read / rows


def random_mask(random: np.random.Generator, ratio: float, run: int) -> Mask:
    """Matches at ``ratio`` that come in runs of ``run`` rows on average; run 1 is without any order."""
    if run == 1:
        return random.random(ROWS) < ratio
    # Two states; the chances to leave them give both the ratio and the length of runs.
    end = 1 / run
    begin = min(end * ratio / (1 - ratio), 1.0)
    mask = np.zeros(ROWS, dtype=bool)
    state = random.random() < ratio
    for row, chance in enumerate(random.random(ROWS)):
        state = chance >= end if state else chance < begin
        mask[row] = state
    return mask


def relative_error(masks: list[Mask]) -> float:
    exact = walked_entries(masks)
    return abs(sum(leapfrog_cost(masks).entries_per_row) - exact) / exact


@pytest.mark.parametrize(
    ("children", "run", "mean_bound", "worst_bound"),
    [
        (2, 1, 0.005, 0.02),
        (3, 1, 0.008, 0.03),
        (4, 1, 0.010, 0.04),
        (2, 5, 0.025, 0.08),
        (3, 5, 0.050, 0.15),
        (2, 30, 0.045, 0.15),
        (3, 30, 0.070, 0.22),
    ],
)
def test_error_over_many_random_masks(children: int, run: int, mean_bound: float, worst_bound: float) -> None:
    errors = []
    for seed in range(40):
        random = np.random.default_rng([children, run, seed])
        masks = [random_mask(random, random.uniform(0.02, 0.9), run) for _ in range(children)]
        errors.append(relative_error(masks))
    assert np.mean(errors) < mean_bound
    assert max(errors) < worst_bound


@given(seed=st.integers(0, 2**32), a=st.floats(0.02, 0.95), b=st.floats(0.02, 0.95))
def test_two_independent_scans_cost_the_closed_form(seed: int, a: float, b: float) -> None:
    random = np.random.default_rng(seed)
    first, second = random_mask(random, a, 1), random_mask(random, b, 1)
    a, b = first.mean(), second.mean()
    closed = 1 + a * b * (2 - b) / (a + b - a * b)
    assert sum(leapfrog_cost([first, second]).entries_per_row) == pytest.approx(closed, rel=0.04)


masks_of_rows = st.integers(1, 60).flatmap(
    lambda rows: st.lists(
        st.lists(st.booleans(), min_size=rows, max_size=rows).map(lambda rows: np.array(rows, dtype=bool)),
        min_size=2,
        max_size=4,
    )
)


@given(masks=masks_of_rows)
def test_any_masks_give_a_cost_between_nothing_and_every_scan_in_full(masks: list[Mask]) -> None:
    # Full, empty, equal and disjoint masks are where a chain of expectations could fail to end.
    each = leapfrog_cost(masks).entries_per_row
    assert len(each) == len(masks)
    assert all(entries >= -1e-9 for entries in each)
    # A child without a match reads one entry past the end before it gives up.
    assert sum(each) <= len(masks) * (1 + 1 / len(masks[0])) + 1e-6
    assert sum(each) >= 1 - 1e-6, "some child reads each row"


@pytest.mark.parametrize("order", [(0, 0, 0, 1), (1, 0, 0), (0, 1)])
def test_scans_without_a_common_row_cost_what_the_walk_costs(order: tuple[int, ...]) -> None:
    random = np.random.default_rng(2)
    one = random_mask(random, 0.3, 1)
    apart = [one, ~one & random_mask(random, 0.3, 1)]
    masks = [apart[number] for number in order]
    assert min(leapfrog_cost(masks).entries_per_row) >= 0
    assert relative_error(masks) < 0.02


def test_order_of_the_text_matters_as_measured() -> None:
    # samples README: quantity <= 25 AND shipmode <> 'AIR' 1.527, the other way round 1.692.
    random = np.random.default_rng(1)
    quantity, mode = random.random(100_000) < 0.49952, random.random(100_000) < 0.85696
    assert sum(leapfrog_cost([quantity, mode]).entries_per_row) == pytest.approx(1.527, abs=0.01)
    assert sum(leapfrog_cost([mode, quantity]).entries_per_row) == pytest.approx(1.692, abs=0.01)
