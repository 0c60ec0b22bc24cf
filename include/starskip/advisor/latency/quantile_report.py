"""Quantiles and the latency model of a log in one go, without publishing anything.

Source: Automated Inverted Index Recommendation, II.1.

The figures equal the figures of stage fit_latency_model over the same records: both call latency_reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.latency.latency_report import LatencyReport, latency_reports
from starskip.advisor.latency.pooled_bins import merge_bins, pool_latencies
from starskip.advisor.latency.quantiles import merge_sketches, read_sketches, sketch_queries
from starskip.errors import SourceError
from starskip.execution.progress import Progress
from starskip.pinot.logs.log_formats import module_names
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_split
from starskip.pinot.logs.record_columns import TABLE_SEPARATOR
from starskip.pinot.logs.rejected_records import RejectedRecords
from starskip.pinot.logs.sampling_weights import SamplingSummary, sampling_summary
from starskip.settings import Settings
from starskip.storage.files.log_files import log_files
from starskip.storage.schemas import QUANTILES

_MERGED_BATCHES = 64
"""Batches whose bins and sketches are held before they are merged."""
_MOST_NAMED = 20
"""Tables of a log that a message names."""


@dataclass(frozen=True, slots=True)
class QuantileReport:
    """The report of each table by name, and the warnings on the log."""

    tables: Mapping[str, LatencyReport]
    warnings: tuple[str, ...]


def quantile_report(
    log_paths: Sequence[str], tables: Sequence[str], settings: Settings, progress: Progress
) -> QuantileReport:
    """Return the report of each table of the log, or of ``tables``.

    Raises SourceError for a path without a log, for a log without an understood record, and for a table that
    no query of the log reads.
    """
    formats = module_names(settings.log.formats)
    splits = log_splits(log_files(log_paths), settings.log.split_bytes, settings.log.message_field, formats)
    bins: list[pa.Table] = []
    sketches: list[pa.RecordBatch] = []
    rejected = RejectedRecords()
    sampling = SamplingSummary()
    in_log: set[str] = set()
    for split in progress("reading the log", splits):
        for batch in parse_split(split):
            rejected.add(split.path, batch)
            sampling += sampling_summary(batch)
            queries = batch.filter(pc.equal(batch.column("kind"), "query"))
            # The entries and the latency of a query of several tables belong to no single table.
            several = pc.match_substring(queries.column("table"), TABLE_SEPARATOR)
            queries = queries.filter(pc.invert(several))
            if tables:
                if len(in_log) < _MOST_NAMED:
                    in_log.update(pc.unique(queries.column("table")).to_pylist())
                named = pc.is_in(queries.column("table"), value_set=pa.array(tables, pa.string()))
                queries = queries.filter(named)
            bins.append(pool_latencies([queries]))
            sketches.extend(sketch_queries([queries]))
            if len(bins) >= _MERGED_BATCHES:
                bins, sketches = [merge_bins(bins)], list(merge_sketches(sketches))
    warnings = tuple(rejected.warnings(settings.gates.max_not_understood_ratio))
    if sampling.dropped_lines:
        warnings += (f"{sampling.words} in advice; quantiles cover the logged queries only",)
    spread = pa.Table.from_batches(read_sketches(merge_sketches(sketches)), schema=QUANTILES)
    found = sorted(set(spread["table"].to_pylist()))
    for table in tables:
        if table not in found:
            listing = ", ".join(sorted(in_log)[:_MOST_NAMED]) or "none"
            raise SourceError(
                f"no query of table {table} in the log: it has queries of {listing}", source=table
            )
    reports = latency_reports(merge_bins(bins), spread, found, r2_threshold=settings.latency.r2_threshold)
    return QuantileReport(reports, warnings)
