"""Combinations of a part of the rows stand for those of all rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from starskip.advisor.families.star_tree.recommend.combinations import (
    distinct_combinations,
    seen_combinations_ratio,
)
from starskip.advisor.families.star_tree.recommend.cuboids import Cuboids

ROWS = 40_000


def cuboids(rows: int) -> Cuboids:
    """Return those of the first ``rows`` of ROWS in no order; ``fine`` has 20,000 values, ``coarse`` ten."""
    chosen = np.random.default_rng(5)
    fine = chosen.integers(0, 20_000, ROWS)[:rows].astype(np.int32)
    codes = {"fine": fine, "coarse": (fine % 10).astype(np.int32)}
    found = distinct_combinations(codes, np.ones(rows, np.int64))
    values = {"fine": pa.array(range(20_000)), "coarse": pa.array(range(10))}
    return Cuboids({frozenset(codes): found}, values, rows / ROWS)


@pytest.mark.parametrize("part", [2, 4])
def test_rare_combinations_are_extrapolated_and_frequent_ones_are_not(part: int) -> None:
    whole, some = cuboids(ROWS), cuboids(ROWS // part)
    fine, coarse = frozenset(["fine", "coarse"]), frozenset(["coarse"])
    assert some.combinations(coarse).total == whole.combinations(coarse).total == 10
    true = whole.combinations(fine).total
    seen = some.combinations(fine).kept
    assert seen < 0.8 * true
    assert some.combinations(fine).total == pytest.approx(true, rel=0.25)
    documents = some.documents(fine, coarse).sum()
    assert documents == pytest.approx(some.combinations(fine).total)


def test_the_share_of_what_is_seen() -> None:
    rows = np.array([1, 1, 3, 5])
    assert seen_combinations_ratio(rows, 1.0) == 1
    assert seen_combinations_ratio(rows, 0.25) == 4 / (2 + 2 * 2)
    assert seen_combinations_ratio(rows[:0], 0.25) == 1
