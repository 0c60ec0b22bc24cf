"""Values of ranks in a t-digest: exact of few values, never descending, near of many."""

from __future__ import annotations

from typing import Any

import datasketches
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.star_tree.measures.sketch_answers import t_digest_quantile

RANKS = np.linspace(0, 1, 201)


def digest(values: Any, pieces: int = 1) -> Any:
    first, *others = (part for part in np.array_split(np.asarray(values, float), pieces) if len(part))
    merged = datasketches.tdigest_double(100)
    merged.update(first)
    for part in others:
        other = datasketches.tdigest_double(100)
        other.update(part)
        merged.merge(datasketches.tdigest_double.deserialize(other.serialize()))
    return merged


def test_of_few_values_it_is_the_value_that_holds_the_rank() -> None:
    found = [t_digest_quantile(digest([3, 1, 2]), rank) for rank in (0, 0.3, 0.4, 0.5, 0.6, 0.7, 1)]
    assert found == [1, 1, 2, 2, 2, 3, 3]
    assert t_digest_quantile(digest([7]), 0.5) == 7
    assert t_digest_quantile(digest([2, 2, 1, 3, 2]), 0.5) == 2


@given(st.lists(st.integers(-1000, 1000) | st.floats(-1e6, 1e6), min_size=1, max_size=400), st.integers(1, 5))
def test_it_ascends_from_the_least_value_to_the_greatest(values: list[float], pieces: int) -> None:
    merged = digest(values, pieces)
    found = [t_digest_quantile(merged, rank) for rank in RANKS]
    assert found[0] == min(values)
    assert found[-1] == max(values)
    assert found == sorted(found)


@pytest.mark.parametrize("pieces", [1, 300])
def test_of_many_values_the_rank_is_near(pieces: int) -> None:
    values = np.random.default_rng(1).lognormal(size=200_000)
    merged, ordered = digest(values, pieces), np.sort(values)

    def worst(quantile: Any) -> float:
        ranks = np.searchsorted(ordered, [quantile(rank) for rank in RANKS]) / len(values)
        return float(np.abs(ranks - RANKS).max())

    assert worst(lambda rank: t_digest_quantile(merged, rank)) < 0.01
    # The library's own is why there is another one: once it is mended, this one can go.
    assert worst(merged.get_quantile) > 0.02


def test_an_infinite_end_leaves_the_middle_alone() -> None:
    merged = digest([*np.linspace(0, 1, 2001), np.inf])
    assert t_digest_quantile(merged, 0.5) == pytest.approx(0.5, abs=0.01)
    assert t_digest_quantile(merged, 1) == np.inf
