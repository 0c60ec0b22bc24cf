"""The spread of a saving when the mix of queries is unknown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.selection.advice_without_log import guess_interval


def test_it_holds_nine_of_ten_mixes() -> None:
    entries = dict.fromkeys("abcdefghij", 1.0)
    saved = {"a": 1.0, "b": 0.9, "c": 0.5}
    found = guess_interval(saved, entries)
    assert found.ratio == pytest.approx(0.24)
    ratios = np.array([saved.get(name, 0.0) for name in entries])
    mixes = np.random.default_rng(7).dirichlet(np.ones(10), 20_000) @ ratios
    inside = np.mean((mixes >= found.low) & (mixes <= found.high))
    assert inside == pytest.approx(0.9, abs=0.02)


def test_nothing_read_nothing_saved_and_all_saved() -> None:
    assert guess_interval({}, {}).high == 0.0
    alone = guess_interval({"a": 0.75}, {"a": 1.0})
    assert (alone.low, alone.ratio, alone.high) == (0.75, 0.75, 0.75)
    # Their shares sum to more than 1 in floats.
    whole = {"a": 4.0, "b": 4.7}
    assert guess_interval(whole, whole).high == 1.0


@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.floats(0, 1e6), st.floats(-2, 1)), min_size=1))
def test_the_ratio_lies_inside_and_never_above_all(columns: dict[str, tuple[float, float]]) -> None:
    entries = {name: value for name, (value, _) in columns.items()}
    saved = {name: value * share for name, (value, share) in columns.items()}
    found = guess_interval(saved, entries)
    assert found.low <= found.ratio <= found.high <= 1.0
