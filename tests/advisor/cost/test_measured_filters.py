"""The cost model predicts the entries that a real Pinot 0.11 scanned for generated filters.

`tests/data/pinot_filters` has the counters; the rows are made anew. `make bench-pinot-filters` measures.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pinot.filters.checked_segments import generated_variants
from pinot.filters.comparison import Compared, compared, summary
from pinot.filters.filter_truth import FilterTruth, Measured, read_truth
from pinot.filters.opened_segments import generated_segments
from pinot.filters.predicted_entries import Predictor

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[2] / "data" / "pinot_filters" / "seed-1.json.gz"
LEAST_PAIRS = 2_000
LEAST_EARLY_PAIRS = 1_000


@pytest.fixture(scope="module")
def truth() -> FilterTruth:
    return read_truth(SAMPLE)


@pytest.fixture(scope="module")
def predictor(truth: FilterTruth) -> Predictor:
    tables = generated_variants(truth)
    return Predictor(lambda variant: generated_segments(tables[variant]))


def _compared(
    truth: FilterTruth, predictor: Predictor, is_asked: Callable[[Measured], bool]
) -> tuple[Compared, ...]:
    return compared((pair for pair in truth.pairs() if pair.is_stable and is_asked(pair)), predictor.entries)


def test_queries_that_read_all_rows(truth: FilterTruth, predictor: Predictor) -> None:
    pairs = _compared(truth, predictor, lambda pair: not pair.query.ends_early)
    found = summary("all", pairs)
    assert found.pairs >= LEAST_PAIRS
    assert found.near_ratio >= 0.98
    assert not [
        (pair.measured.query.sql, pair.predicted) for pair in pairs if pair.is_off and not pair.is_small
    ]
    assert found.sum_ratio == pytest.approx(1, abs=0.01)


def test_queries_that_end_early(truth: FilterTruth, predictor: Predictor) -> None:
    pairs = _compared(truth, predictor, lambda pair: pair.query.ends_early)
    found = summary("early", pairs)
    assert found.pairs >= LEAST_EARLY_PAIRS
    assert found.near_ratio >= 0.95
    assert found.sum_ratio == pytest.approx(1, abs=0.02)
