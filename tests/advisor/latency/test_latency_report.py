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


def test_quantiles_of_some_thousand_queries_are_exact_and_the_same_every_time(queries: Queries) -> None:
    latencies = np.random.default_rng(5).permutation(4_000)
    halves = (
        queries([0] * 2_000, [0] * 2_000, latencies[:2_000]),
        queries([0] * 2_000, [0] * 2_000, latencies[2_000:]),
    )
    for batches in (halves, halves[::-1]):
        report = report_of(*batches)["t"]
        assert report.queries == 4_000
        assert report.quantiles["latency_ms"] == {
            f"{p:g}": pytest.approx(p * 4_000, abs=1) for p in (*(n / 10 for n in range(1, 10)), 0.95, 0.99)
        }


def test_a_table_without_queries(queries: Queries) -> None:
    report = report_of(queries([], [], []))["t"]
    assert (report.queries, report.quantiles, report.maximum_saving_ms) == (0, {}, None)
    assert report.properties()["model"]["no_fit"] == "too_few_bins"
