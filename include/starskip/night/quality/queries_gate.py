"""The gate behind parse_query_logs: an understood log, and queries of this table and night alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.expectations import Expectation, View, between, in_set, none, present, warn_only
from starskip.advisor.run.gate import Counts, Gate, Measure, mapping_of, number_of
from starskip.advisor.run.night import Night
from starskip.night.quality.count_rows import (
    Row,
    count,
    count_missing,
    counted_row,
    exact_sum,
    sum_of,
)
from starskip.settings import Settings
from starskip.storage.schemas import QUERIES
from starskip.storage.snapshot import Snapshot

_COUNTERS = (
    "latency_ms",
    "rows_scanned",
    "rows_total",
    "entries_scanned_in_filter",
    "entries_scanned_post_filter",
    "segments_queried",
    "segments_processed",
    "segments_matched",
    "exceptions",
)
EARLIER_QUERIES = "earlier_queries"
"""Property of a table's queries: how many it had in each night of the week before."""
_WITHOUT_COUNTERS = ("no_entries", "multi_stage")
"""Reasons of records that are about a query and do not tell what it scanned."""
_MOST_CHANGE = 5.0
"""Times as many queries, or as few, as in a usual night: weekends are within it."""
_MOST_BITS = 63
"""The workload keeps sums as int64, whose last bit is the sign."""


def _views(night: Night, table: str) -> Mapping[str, View]:
    queries = published(night, "queries")
    row, duplicates = counted_queries(night, table)
    log = mapping_of(queries.parts()[table].properties.get("log"))
    records, rejected = number_of(log.get("records")), mapping_of(log.get("rejected"))
    is_rejected = sum(number_of(n) or 0 for n in rejected.values())
    unknown = sum(number_of(n) or 0 for n in mapping_of(log.get("not_understood")).values())
    others = mapping_of(log.get("other"))
    without_counters = sum(number_of(others.get(reason)) or 0 for reason in _WITHOUT_COUNTERS)
    in_log = number_of(log.get("queries")) or 0
    view = {
        **row,
        "has_facts": table in published(night, "table_facts").tables,
        "rejected_ratio": None if records is None else is_rejected / max(records, 1),
        "not_understood_ratio": unknown / max(records or 0, 1),
        "without_counters_ratio": without_counters / max(in_log + without_counters, 1),
        "usual_ratio": _usual_ratio(queries.parts()[table].properties, row["queries"]),
        "duplicates": duplicates,
        "unaccounted": _unaccounted(night, queries, table, row["queries"], _kept_in_log(log)),
    }
    sums = [{"counter": name, "bits": sum_of(row, name).bit_length()} for name in _COUNTERS]
    return {"queries": View([view]), "counters": View(sums, "counter")}


def _usual_ratio(properties: Mapping[str, Any], queries: int) -> float | None:
    """Return the table's queries as a multiple of an earlier night's; None if there is no earlier night."""
    earlier = [number for each in properties.get(EARLIER_QUERIES, ()) if (number := number_of(each))]
    return queries / median(earlier) if earlier else None


def _unaccounted(night: Night, queries: Snapshot, table: str, of_table: int, in_log: float | None) -> float:
    """Return by how much the kept queries differ from the log's: lost queries, or some kept twice.

    A night of some tables alone keeps some of the log's queries, beside parts of another run.
    """
    if night.tables is not None:
        return max(of_table - (in_log or 0), 0)
    others = queries.parts().keys() - {table}
    kept = of_table + sum(f.rows or 0 for other in others for f in queries.parts()[other].files)
    return abs(kept - (in_log or 0))


def _kept_in_log(log: Mapping[str, object]) -> float:
    """Return the log's queries; queries of several tables count as often as they were shared out."""
    return (number_of(log.get("queries")) or 0) + (number_of(log.get("multi_stage_shares")) or 0)


def counted_queries(night: Night, table: str) -> tuple[Row, int]:
    """Return the counts of the table's queries, and the number of queries that were taken twice."""
    return counted_row(night, "queries", table, _counts(night))


def _counts(night: Night) -> Counts:
    return Counts(_measures(night.run_date), key=["source_file", "source_position"])


def _measures(run_date: date) -> dict[str, Measure]:
    text, logged_at, unit = pc.field("query_text"), pc.field("logged_at"), QUERIES.field("logged_at").type
    start = datetime.combine(run_date, time())
    is_outside = (logged_at < pa.scalar(start, unit)) | (
        logged_at >= pa.scalar(start + timedelta(days=1), unit)
    )
    return {
        "queries": Measure(pc.scalar(1), "sum"),
        "without_text": count((pc.binary_length(text) == 0) | text.is_null()),
        "outside_run_date": count(is_outside),
        "without_position": count_missing("source_position"),
        "without_file": count_missing("source_file"),
        **{f"{name}_minimum": Measure(pc.field(name), "min") for name in _COUNTERS},
        **{part: measure for name in _COUNTERS for part, measure in exact_sum(name).items()},
    }


def _expectations(settings: Settings) -> Sequence[Expectation]:
    view = "queries"
    return (
        warn_only(between(view, "queries", "queries of {table}: number", 1)),
        in_set(view, "has_facts", "segments of {table}: whether known", [True]),
        present(view, "rejected_ratio", "log of {table}: number of records"),
        between(
            view,
            "rejected_ratio",
            "log of {table}: share of records that no format explains",
            0,
            settings.gates.max_rejected_ratio,
        ),
        between(
            view,
            "not_understood_ratio",
            "log of {table}: share of records that may be queries in a form that is not known",
            0,
            settings.gates.max_not_understood_ratio,
        ),
        between(
            view,
            "without_counters_ratio",
            "log of {table}: share of the records on queries that tell no counters",
            0,
            settings.gates.max_without_counters_ratio,
        ),
        warn_only(
            between(
                view,
                "usual_ratio",
                "queries of {table}: as a multiple of the median of the week before",
                1 / _MOST_CHANGE,
                _MOST_CHANGE,
            )
        ),
        none(view, "unaccounted", "queries of the log that {table} is read from: lost, or kept twice"),
        none(view, "duplicates", "queries of {table}: taken twice from one place of the log"),
        none(view, "other_tables", "queries of {table}: rows of other tables"),
        none(view, "without_text", "query_text of {table}: missing values"),
        none(view, "without_file", "source_file of {table}: missing values"),
        none(view, "without_position", "source_position of {table}: missing values"),
        none(view, "outside_run_date", "logged_at of {table}: queries of another date"),
        *(between(view, f"{name}_minimum", f"{name} of {{table}}: minimum", 0) for name in _COUNTERS),
        between("counters", "bits", "counters of {table}: bits of the sum", None, _MOST_BITS),
    )


QUERIES_GATE = Gate(_views, _expectations, _counts)
