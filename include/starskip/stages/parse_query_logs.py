"""Stage parse_query_logs: broker logs to ``queries`` and ``rejected_records`` (seed 000, III.1).

Which records belong to a night is decided by their own time, not by the name of their file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import date, datetime, time, timedelta
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from starskip.artefacts.aside import Aside
from starskip.artefacts.manifest import Part
from starskip.artefacts.schemas import QUERIES, REJECTED_RECORDS
from starskip.pinot.logs.log_files import LogSplit, log_files, log_splits
from starskip.pinot.logs.log_summary import LogSummary, log_summary
from starskip.pinot.logs.parse_records import parse_split
from starskip.stages.engine import Engine
from starskip.stages.night import Night, StageResult
from starskip.stages.receipts import MAX_RECEIPTS, RECEIPTS, TableWriter, note_receipt, notes_of, parts_of

_QUERIES = "queries"
_REJECTED = "rejected_records"

NO_TABLE = "-"
"""Stands for the table of records that name none; no table of Pinot can be called so."""


def parse_query_logs(engine: Engine, night: Night) -> StageResult:
    """Publish ``queries`` and ``rejected_records`` of the night's tables."""
    paths = [path.replace("{run_date}", night.date_text) for path in night.log_paths]
    splits = log_splits(log_files(paths), night.settings.log_split_bytes)
    asides = (
        night.store.write_aside(_QUERIES, night.date_text),
        night.store.write_aside(_REJECTED, night.date_text),
    )
    map_splits = partial(_write_records, asides, night.run_date, night.tables)
    receipts = engine.rows_of_items(splits, map_splits, RECEIPTS).gather("log receipts", MAX_RECEIPTS)
    summary, outside = LogSummary(), 0
    for note in map(json.loads, notes_of(receipts, _QUERIES)):
        outside += note.pop("outside_run_date")
        summary += LogSummary(**note)
    log = {**summary.to_json(), "outside_run_date": outside}
    parts = parts_of(receipts, _QUERIES)
    # A table that nobody asked that night has an empty part, which the stages behind can tell from no run.
    for table in _expected_tables(night) - parts.keys():
        parts[table] = Part(())
    night.publish(_REJECTED, parts_of(receipts, _REJECTED))
    night.publish(_QUERIES, {table: Part(part.files, {"log": log}) for table, part in parts.items()})
    counts = {name: value for name, value in log.items() if isinstance(value, int)}
    warnings = [f"{n} log records rejected: {reason}" for reason, n in summary.rejected.items()]
    strange = sorted(parts.keys() - _expected_tables(night))
    warnings.extend(f"queries of table {table!r}, which has no segments, are left out" for table in strange)
    return StageResult(counts, tuple(warnings))


def _expected_tables(night: Night) -> set[str]:
    snapshot = night.store.snapshot("table_facts", night.date_text)
    return {table for table in snapshot.tables if night.wants(table)} if snapshot else set()


def _write_records(
    asides: tuple[Aside, Aside], run_date: date, tables: frozenset[str] | None, splits: Iterable[LogSplit]
) -> Iterator[pa.RecordBatch]:
    queries, rejected = TableWriter(asides[0]), TableWriter(asides[1])
    for split in splits:
        summary, outside = LogSummary(), 0
        for batch in parse_split(split):
            tonight = batch.filter(_is_tonight(batch, run_date))
            outside += batch.num_rows - tonight.num_rows
            summary += log_summary(tonight)
            is_query = pc.equal(tonight.column("kind"), "query")
            yield from queries.add(_wanted(tonight.filter(is_query), tables).select(QUERIES.names))
            kept_aside = tonight.filter(pc.invert(is_query)).select(REJECTED_RECORDS.names)
            yield from rejected.add(_named(kept_aside))
        yield note_receipt(_QUERIES, NO_TABLE, json.dumps({**asdict(summary), "outside_run_date": outside}))
    yield from queries.finish()
    yield from rejected.finish()


def _is_tonight(batch: pa.RecordBatch, run_date: date) -> pa.Array:
    """Rows of the night; a record without a readable time counts too, no other night would have it."""
    start = datetime.combine(run_date, time())
    stamps = batch.column("logged_at")
    inside = pc.and_(
        pc.greater_equal(stamps, pa.scalar(start, stamps.type)),
        pc.less(stamps, pa.scalar(start + timedelta(days=1), stamps.type)),
    )
    return pc.fill_null(inside, True)


def _wanted(batch: pa.RecordBatch, tables: frozenset[str] | None) -> pa.RecordBatch:
    if tables is None:
        return batch
    return batch.filter(pc.is_in(batch.column("table"), value_set=pa.array(sorted(tables), pa.string())))


def _named(batch: pa.RecordBatch) -> pa.RecordBatch:
    position = batch.schema.get_field_index("table")
    names = pc.fill_null(batch.column("table"), NO_TABLE)
    return batch.set_column(position, batch.schema.field(position), names)
