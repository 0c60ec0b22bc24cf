"""Stage fit_latency_model: ``queries`` to ``latency_bins`` and ``latency_model``.

Source: Automated Inverted Index Recommendation, II.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.latency.latency_report import LatencyReport, latency_reports
from starskip.advisor.latency.pooled_bins import merge_bins, pool_latencies
from starskip.advisor.latency.quantiles import merge_sketches, read_sketches, sketch_queries
from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.gate_verdicts import usable_tables
from starskip.advisor.run.night import Night, StageResult
from starskip.advisor.run.table_by_table import failed_parts, failure_warnings, table_by_table
from starskip.advisor.workload.leaf_records import LEAF
from starskip.execution.engine import Engine
from starskip.execution.gather_aside import gather_aside
from starskip.storage.manifest import Part
from starskip.storage.schemas import LATENCY_BINS, QUANTILE_SKETCHES, QUANTILES, QUERIES

_COLUMNS = (
    "table",
    "latency_ms",
    "entries_scanned_in_filter",
    "entries_scanned_post_filter",
    "exceptions",
    "line_format",
)


def fit_latency_model(engine: Engine, night: Night) -> StageResult:
    """Publish ``latency_bins``, and ``latency_model`` with each table's latency_report as properties."""
    known = set(usable_tables(night, "table_facts", "fit_latency_model"))
    tables = [table for table in usable_tables(night, "queries", "fit_latency_model") if table in known]
    found = table_by_table(tables, partial(_fitted, engine, night))
    bins = {table: part for fitted in found.results for table, part in fitted.bins.items()}
    reports = {table: report for fitted in found.results for table, report in fitted.reports.items()}
    models = {table: Part((), report.properties()) for table, report in reports.items()}
    night.publish("latency_bins", bins)
    night.publish("latency_model", {**models, **failed_parts(found.failures)})
    counts = {
        "tables": len(tables),
        "models_that_fit": sum(report.model.no_fit is None for report in reports.values()),
        "latency_bins": sum(part.rows for part in bins.values()),
    }
    return StageResult(counts, tuple(failure_warnings("fit_latency_model", found.failures)))


@dataclass(frozen=True, slots=True)
class _Fitted:
    """Parts of ``latency_bins`` and reports of models, by table."""

    bins: Mapping[str, Part]
    reports: Mapping[str, LatencyReport]


def _fitted(engine: Engine, night: Night, tables: Sequence[str]) -> _Fitted:
    queries = engine.rows_of_snapshot(published(night, "queries"), tables, _COLUMNS)
    schema = pa.schema([QUERIES.field(name) for name in _COLUMNS])
    queries = queries.map(_of_one_table, schema)
    bins = queries.map(_pool, LATENCY_BINS).merge(["table"], _merge, LATENCY_BINS)
    staged = night.store.staged_write("latency_bins", night.date_text)
    pooled = gather_aside(bins, LATENCY_BINS, staged, "latency bins")
    sketches = queries.map(sketch_queries, QUANTILE_SKETCHES).merge(
        ["table"], merge_sketches, QUANTILE_SKETCHES
    )
    spread = sketches.map(read_sketches, QUANTILES).gather("quantiles", 10 * max(len(tables), 1))
    reports = latency_reports(pooled, spread, tables, r2_threshold=night.settings.latency.r2_threshold)
    parts = {t: Part(staged.write(t, pooled.filter(pc.equal(pooled["table"], t)))) for t in tables}
    return _Fitted(parts, reports)


def _of_one_table(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Leave out leaves of multi-stage queries: their latency is the whole query's."""
    for batch in batches:
        yield batch.filter(pc.fill_null(pc.not_equal(batch.column("line_format"), LEAF), True))


def _pool(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from pool_latencies(batches).to_batches()


def _merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from merge_bins(pa.Table.from_batches([batch]) for batch in batches).to_batches()
