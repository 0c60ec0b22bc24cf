"""Quantiles, the model and what indexes could win at most, of one table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from starskip.advisor.latency.latency_report import LatencyReport, latency_reports
from starskip.advisor.latency.pooled_bins import pool_latencies
from starskip.advisor.latency.quantiles import merge_sketches, read_sketches, sketch_queries
from starskip.storage.schemas import QUANTILES

Queries = Callable[..., pa.RecordBatch]


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
