"""Stage fit_latency_model: ``queries`` to ``latency_bins`` and ``latency_model`` (seed 000, II.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from starskip.artefacts.manifest import Part
from starskip.artefacts.schemas import LATENCY_BINS, QUANTILE_SKETCHES, QUANTILES, QUERIES
from starskip.latency.latency_report import latency_reports
from starskip.latency.pooled_bins import merge_bins, pool_latencies
from starskip.latency.quantiles import merge_sketches, read_sketches, sketch_queries
from starskip.stages.engine import Engine
from starskip.stages.gate_verdicts import usable_tables
from starskip.stages.night import Night, StageResult
from starskip.workload.leaf_records import LEAF

_COLUMNS = (
    "table",
    "latency_ms",
    "entries_scanned_in_filter",
    "entries_scanned_post_filter",
    "exceptions",
    "line_format",
)
_MAX_BINS = 500_000


def fit_latency_model(engine: Engine, night: Night) -> StageResult:
    """Publish ``latency_bins``, and ``latency_model`` with each table's latency_report as properties."""
    known = set(usable_tables(night, "table_facts", "fit_latency_model"))
    tables = [table for table in usable_tables(night, "queries", "fit_latency_model") if table in known]
    snapshot = night.store.snapshot("queries", night.date_text)
    assert snapshot is not None
    queries = engine.rows_of_snapshot(snapshot, tables, _COLUMNS)
    schema = pa.schema([QUERIES.field(name) for name in _COLUMNS])
    queries = queries.map(_of_one_table, schema)
    bins = queries.map(_pool, LATENCY_BINS).merge(["table"], _merge, LATENCY_BINS)
    pooled = bins.gather("latency bins", _MAX_BINS)
    sketches = queries.map(sketch_queries, QUANTILE_SKETCHES).merge(
        ["table"], merge_sketches, QUANTILE_SKETCHES
    )
    spread = sketches.map(read_sketches, QUANTILES).gather("quantiles", 10 * max(len(tables), 1))
    reports = latency_reports(pooled, spread, tables, r2_threshold=night.settings.latency_r2_threshold)
    aside = night.store.write_aside("latency_bins", night.date_text)
    bin_parts = {t: Part(aside.write(t, pooled.filter(pc.equal(pooled["table"], t)))) for t in tables}
    model_parts = {table: Part((), report.properties()) for table, report in reports.items()}
    fitted = sum(report.model.no_fit is None for report in reports.values())
    night.publish("latency_bins", bin_parts)
    night.publish("latency_model", model_parts)
    return StageResult({"tables": len(tables), "models_that_fit": fitted, "latency_bins": len(pooled)})


def _of_one_table(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Leave out leaves of multi-stage queries: the time is that of the whole query."""
    for batch in batches:
        yield batch.filter(pc.fill_null(pc.not_equal(batch.column("line_format"), LEAF), True))


def _pool(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from pool_latencies(batches).to_batches()


def _merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from merge_bins(pa.Table.from_batches([batch]) for batch in batches).to_batches()
