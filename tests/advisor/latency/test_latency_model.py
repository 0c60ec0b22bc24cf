"""Quantiles, the model and what indexes could win at most, of one table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.latency.latency_model import MIN_BINS, LatencyModel, NoFit, fit_latency_model
from starskip.advisor.latency.latency_report import LatencyReport, latency_reports
from starskip.advisor.latency.pooled_bins import pool_latencies
from starskip.advisor.latency.quantiles import merge_sketches, read_sketches, sketch_queries
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_split
from starskip.storage.schemas import LATENCY_BINS, QUANTILES

Bins = Callable[..., pa.Table]
LOGS = Path(__file__).parents[3] / "include" / "sample" / "logs"


Queries = Callable[..., pa.RecordBatch]


def fitted(bins: pa.Table) -> LatencyModel:
    return fit_latency_model(bins, "t", r2_threshold=0.7)


@pytest.mark.parametrize(
    ("intercept", "alpha", "beta"), [(5.0, 1e-3, 2e-3), (0.0, 1e-4, 1e-2), (200.0, 5e-4, 0.0)]
)
def test_known_coefficients_are_recovered(
    synthetic: Bins, intercept: float, alpha: float, beta: float
) -> None:
    model = fitted(synthetic(intercept, alpha, beta))
    assert model.no_fit is None
    assert model.intercept_ms == pytest.approx(intercept, abs=1.0)
    assert model.alpha_ms == pytest.approx(alpha, rel=0.01)
    assert model.beta_ms == pytest.approx(beta, rel=0.01, abs=1e-6)
    assert model.r2_out_of_sample is not None
    assert model.r2_out_of_sample > 0.99
    assert model.queries == 4_000


def test_waiting_times_on_top_are_pooled_away(synthetic: Bins) -> None:
    model = fitted(synthetic(20.0, 1e-3, 2e-3, noise=True))
    assert model.no_fit is None
    assert model.alpha_ms == pytest.approx(1e-3, rel=0.3)
    assert model.beta_ms == pytest.approx(2e-3, rel=0.3)


def test_a_coefficient_is_never_negative(bins_of: Bins) -> None:
    entries = np.arange(1, 40) * 1000
    model = fitted(bins_of(entries, entries[::-1], 500 - entries / 100))
    assert model.intercept_ms is not None
    assert model.alpha_ms is not None
    assert model.beta_ms is not None
    assert min(model.intercept_ms, model.alpha_ms, model.beta_ms) >= 0


def test_intercept_alone_is_no_fit(bins_of: Bins) -> None:
    # The uncentred R2 is 0.99 here: all latencies are near their mean.
    random = np.random.default_rng(3)
    entries = random.uniform(0, 1e6, 60)
    model = fitted(bins_of(entries, entries / 2, 100 + random.normal(0, 5, 60)))
    assert model.no_fit is NoFit.POOR_FIT
    assert model.r2_out_of_sample is not None
    assert model.r2_out_of_sample < 0.2


@given(seed=st.integers(0, 10_000))
def test_noise_is_never_taken_for_a_fit(bins_of: Bins, seed: int) -> None:
    random = np.random.default_rng(seed)
    entries = random.uniform(0, 1e6, 40)
    model = fitted(bins_of(entries, random.uniform(0, 1e5, 40), random.exponential(50, 40)))
    assert model.no_fit is NoFit.POOR_FIT


def test_r2_of_noise_is_negative_out_of_sample_on_average(bins_of: Bins) -> None:
    found = []
    for seed in range(50):
        random = np.random.default_rng(seed)
        entries = random.uniform(0, 1e6, 30)
        model = fitted(bins_of(entries, random.uniform(0, 1e5, 30), random.exponential(50, 30)))
        assert model.r2_out_of_sample is not None
        found.append(model.r2_out_of_sample)
    assert np.mean(found) < 0
    assert max(found) <= 1


def test_too_few_bins(bins_of: Bins) -> None:
    entries = np.arange(MIN_BINS - 1) * 1000
    model = fitted(bins_of(entries, entries, entries))
    assert model.no_fit is NoFit.TOO_FEW_BINS
    assert (model.intercept_ms, model.alpha_ms, model.r2_out_of_sample) == (None, None, None)
    assert fitted(LATENCY_BINS.empty_table()).no_fit is NoFit.TOO_FEW_BINS


@pytest.mark.parametrize("constant", ["latency", "entries"])
def test_nothing_varies(bins_of: Bins, constant: str) -> None:
    rising, flat = np.arange(30) * 1000, np.full(30, 1000)
    bins = bins_of(
        flat if constant == "entries" else rising, rising, flat if constant == "latency" else rising
    )
    assert fitted(bins).no_fit is NoFit.NO_VARIATION


@pytest.mark.parametrize("table", ["lineitem", "airlineStats"])
def test_sample_logs_are_honestly_refused(table: str) -> None:
    # timeMs was measured on a busy machine: the queries take 2 to 8 ms whatever they read.
    files = sorted(map(str, LOGS.glob("*.gz")))
    batches = [batch for split in log_splits(files, 1 << 30) for batch in parse_split(split)]
    batches = [batch.filter(pc.equal(batch.column("kind"), "query")) for batch in batches]
    bins = pool_latencies(batches)
    model = fit_latency_model(bins.filter(pc.equal(bins["table"], table)), table, r2_threshold=0.7)
    assert model.no_fit is NoFit.POOR_FIT
    assert model.bins >= MIN_BINS
    assert model.queries > 1_500


def report_of(*batches: pa.RecordBatch, tables: tuple[str, ...] = ("t",)) -> dict[str, LatencyReport]:
    sketches = merge_sketches(sketch_queries(batches))
    spread = pa.Table.from_batches(read_sketches(sketches), schema=QUANTILES)
    return latency_reports(pool_latencies(batches), spread, tables, r2_threshold=0.7)


def test_what_could_be_won_is_the_quantiles_entries_times_alpha(queries: Queries) -> None:
    entries = np.arange(0, 2_000_000, 1_000)
    report = report_of(queries(entries, entries % 7_000, 5 + entries // 10_000))["t"]
    assert report.model.no_fit is None
    assert report.maximum_saving_ms is not None
    assert report.maximum_saving_ms["0.5"] == pytest.approx(100, rel=0.02)
    assert report.maximum_saving_ms["0.95"] == pytest.approx(190, rel=0.02)
    assert report.properties()["maximum_saving_ms"] == report.maximum_saving_ms
    assert report.properties()["model"]["no_fit"] is None


def test_without_a_model_to_trust_nothing_is_promised(queries: Queries) -> None:
    entries = np.arange(1, 500)
    report = report_of(queries(entries * 1000, entries, entries * 7919 % 101))["t"]
    assert report.maximum_saving_ms is None
    assert report.properties()["model"]["no_fit"] == "poor_fit"
    assert report.quantiles["latency_ms"]["0.99"] <= 100


@pytest.mark.parametrize(("number", "error"), [(4_000, 0), (40_000, 0.0005)])
def test_quantiles_are_those_of_the_queries_in_any_order(queries: Queries, number: int, error: float) -> None:
    """Their ranks are exact, and so are the values where there are few; others are rounded."""
    entries = np.random.default_rng(5).permutation(number) * 1_003
    # The first part alone has few values.
    parts = [queries(part, [0] * len(part), [0] * len(part)) for part in np.split(entries, [1_000])]
    found = [report_of(*batches)["t"] for batches in (parts, parts[::-1])]
    assert found[0].quantiles == found[1].quantiles
    assert found[0].queries == number
    assert found[0].quantiles["entries_scanned_in_filter"] == {
        f"{p:g}": pytest.approx((round(p * number) - 1) * 1_003, rel=error, abs=0)
        for p in (*(n / 10 for n in range(1, 10)), 0.95, 0.99)
    }


def test_a_table_without_queries(queries: Queries) -> None:
    report = report_of(queries([], [], []))["t"]
    assert (report.queries, report.quantiles, report.maximum_saving_ms) == (0, {}, None)
    assert report.properties()["model"]["no_fit"] == "too_few_bins"
