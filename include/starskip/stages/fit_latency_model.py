"""Stage fit_latency_model: ``queries`` to ``latency_bins`` and ``latency_model`` (seed 000, II.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

import pyarrow as pa
import pyarrow.compute as pc

from starskip.artefacts.manifest import Part
from starskip.artefacts.schemas import LATENCY_BINS, QUANTILE_SKETCHES
from starskip.latency.latency_model import fit_latency_model as fit_table
from starskip.latency.pooled_bins import merge_bins, pool_latencies
from starskip.latency.quantiles import merge_sketches, quantiles, sketch_queries
from starskip.stages.engine import Engine
from starskip.stages.gate_verdicts import usable_tables
from starskip.stages.night import Night, StageResult

_COLUMNS = (
    "table",
    "latency_ms",
    "entries_scanned_in_filter",
    "entries_scanned_post_filter",
    "exceptions",
)
_MAX_BINS = 500_000


def fit_latency_model(engine: Engine, night: Night) -> StageResult:
    """Publish ``latency_bins``, and ``latency_model`` with the fit and the quantiles as properties."""
    known = set(usable_tables(night, "table_facts", "fit_latency_model"))
    tables = [table for table in usable_tables(night, "queries", "fit_latency_model") if table in known]
    snapshot = night.store.snapshot("queries", night.date_text)
    assert snapshot is not None
    queries = engine.rows_of_snapshot(snapshot, tables, _COLUMNS)
    bins = queries.map(_pool, LATENCY_BINS).merge(["table"], _merge, LATENCY_BINS)
    pooled = bins.gather("latency bins", _MAX_BINS)
    sketches = queries.map(sketch_queries, QUANTILE_SKETCHES).merge(
        ["table"], merge_sketches, QUANTILE_SKETCHES
    )
    spread = quantiles(sketches.gather("quantile sketches", 10 * max(len(tables), 1)))
    aside = night.store.write_aside("latency_bins", night.date_text)
    bin_parts, model_parts = {}, {}
    fitted = 0
    for table in tables:
        of_table = pooled.filter(pc.equal(pooled["table"], table))
        model = fit_table(of_table, table, r2_threshold=night.settings.latency_r2_threshold)
        fitted += model.no_fit is None
        fit = {**asdict(model), "no_fit": model.no_fit.value if model.no_fit else None}
        bin_parts[table] = Part(aside.write(table, of_table))
        model_parts[table] = Part((), {"model": fit, "quantiles": spread.get(table, {})})
    night.publish("latency_bins", bin_parts)
    night.publish("latency_model", model_parts)
    return StageResult({"tables": len(tables), "models_that_fit": fitted, "latency_bins": len(pooled)})


def _pool(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from pool_latencies(batches).to_batches()


def _merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from merge_bins(pa.Table.from_batches([batch]) for batch in batches).to_batches()
