"""Stage parse_query_logs: broker logs to ``queries``, event logs to ``lake_queries``; ``rejected_records``.

Automated Inverted Index Recommendation, III.1.

The time of a record, in the log's time zone, decides to which night it belongs, not the name of its file. A
record without a time belongs to the day in its file's path. If the path names no day, the record belongs to
each night that reads it, unless the file was last changed before that day began.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple
from datetime import date
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.cost.read_overviews import table_sizes
from starskip.advisor.run.artefact_rows import earlier_snapshots
from starskip.advisor.run.night import NO_TABLE, Night, StageResult
from starskip.advisor.run.table_by_table import FAILED
from starskip.advisor.workload.cut_texts import (
    CUT_LENGTHS,
    TextLengths,
    cut_lengths,
    cut_words,
    text_lengths,
    text_lengths_of,
    with_greatest_lengths,
)
from starskip.advisor.workload.hybrid_records import HybridRecords
from starskip.advisor.workload.leaf_records import LeafRecords, TableSize, leaves_by_table
from starskip.errors import SourceError, SourceOutage, printable
from starskip.execution.engine import Engine
from starskip.execution.gather_aside import gather_messages
from starskip.night.lake_logs import LakeLogs, publish_lake_queries
from starskip.night.lake_only import LAKE_ONLY, lake_only_tables
from starskip.night.log_times import KnownLogs, LogTimes, times_of
from starskip.night.night_logs import is_of_day, night_logs, no_log
from starskip.night.quality.queries_gate import EARLIER_QUERIES
from starskip.pinot.hybrid_tables import tables_of_halves
from starskip.pinot.logs.file_day import may_be_of_day
from starskip.pinot.logs.log_formats import module_names
from starskip.pinot.logs.log_splits import LogSplit, log_splits
from starskip.pinot.logs.log_summary import LogSummary, log_summary
from starskip.pinot.logs.parse_records import parse_split
from starskip.pinot.logs.sampling_weights import SamplingSummary, sampling_summary
from starskip.storage.commit_messages import (
    COMMIT_MESSAGES,
    TableWriter,
    note_message,
    notes_of,
    parts_of,
)
from starskip.storage.manifest import Part
from starskip.storage.schemas import QUERIES, REJECTED_RECORDS
from starskip.storage.staged_write import StagedWrite

_QUERIES = "queries"
_REJECTED = "rejected_records"
_NAMED_STRANGERS = 5


def parse_query_logs(engine: Engine, night: Night) -> StageResult:
    """Publish ``queries``, ``lake_queries`` and ``rejected_records`` of the night's tables.

    Queries of tables that have no segments are counted and left out: a log may name any number of tables.
    Raises SourceError, and publishes nothing, if the log holds no record at all of that night. If all tables
    lie in the lake alone, the log is not read; if some do, missing event logs of Spark fail only them.
    """
    expected, lake_only = _expected_tables(night), lake_only_tables(night)
    in_pinot = None if expected is None else expected - lake_only
    # If all tables lie in the lake alone, no broker's log is looked for.
    sources = () if in_pinot == frozenset() else night.log_paths
    logs = night_logs(sources, night.run_date, neighbours=night.settings.log.read_neighbouring_days)
    reading = night.settings.log
    formats = module_names(reading.formats)
    known = KnownLogs(night, logs.files)
    paths = [file.path for file in known.to_read]
    splits = log_splits(paths, reading.split_bytes, reading.message_field, formats)
    staged = (
        night.store.staged_write(_QUERIES, night.date_text),
        night.store.staged_write(_REJECTED, night.date_text),
    )
    wanted = night.tables if in_pinot is None else in_pinot
    sizes = table_sizes(engine, night) if splits else {}
    of_tables = (wanted, tables_of_halves({*sizes, *(wanted or ())}), sizes)
    map_splits = partial(_write_records, staged, night.run_date, night.settings.log.time_zone, of_tables)
    rows = engine.rows_of_items(splits, map_splits, COMMIT_MESSAGES)
    messages = gather_messages(engine, rows, staged, "log")
    summary, sampling, strangers = LogSummary(), SamplingSummary(), set[str]()
    outside = untimed = left_out = 0
    leaves: Counter[str] = Counter()
    shares = 0
    lengths: dict[str, TextLengths] = {}
    times: dict[str, LogTimes] = {}
    of_night: set[str] = set()
    for note in map(json.loads, notes_of(messages, _QUERIES)):
        left_out += note.pop("left_out")
        shares += note.pop("shares")
        leaves.update(note.pop("leaves"))
        outside += note.pop("outside_run_date")
        untimed += note.pop("untimed_queries")
        strangers.update(note.pop("strangers"))
        sampling += SamplingSummary(**note.pop("sampling"))
        for path, of_file in note.pop("lengths").items():
            lengths[path] = lengths.get(path, TextLengths()) + text_lengths_of(of_file)
        of_night.update(note.pop("of_night"))
        for path, of_file in note.pop("times").items():
            times[path] = times.get(path, LogTimes()) + LogTimes(*of_file)
        summary += LogSummary(**note)
    outside += sum(each.records for each in known.left_out.values())
    silent = known.keep(times, of_night) if sources else []
    if not summary.records and in_pinot != frozenset():
        # Publishing it would give advice from nothing; the artefact of an earlier run of this night stays.
        raise no_log(night, len(logs.files), outside)
    # A table without queries in that night has an empty part, which stages behind distinguish from no run.
    parts = {table: Part(()) for table in expected or ()} | parts_of(messages, _QUERIES)
    if night.tables is None and left_out:
        summary += LogSummary(queries=-left_out, other={"table_without_segments": left_out})
    log: dict[str, Any] = {**summary.to_json(), "outside_run_date": outside}
    booleans = {name for size in sizes.values() for name in size.booleans}
    if cut := cut_lengths(night.settings.log.query_text_length, lengths.values(), booleans):
        log[CUT_LENGTHS] = list(cut)
    if shares:
        # Records beyond the first that queries of several tables are shared out to.
        log["multi_stage_shares"] = shares
    if sampling.dropped_lines:
        log["sampling"] = asdict(sampling)
    try:
        lake = publish_lake_queries(engine, night, staged[1])
    except SourceOutage:
        raise
    except SourceError as error:
        if in_pinot == frozenset():
            raise
        words = printable(f"{error}: what Spark asked of tables of the lake is not known")
        lake = LakeLogs(warnings=(words,), failure=str(error))
    rejected = _together(parts_of(messages, _REJECTED), lake.rejected)
    night.publish(_REJECTED, _rejected_parts(night, rejected))
    of_lake_only = {LAKE_ONLY: True} | ({FAILED: lake.failure} if lake.failure else {})
    told = {
        table: of_lake_only
        if table in lake_only
        else {"log": {**log, "not_understood": dict(summary.not_understood), "leaves": leaves[table]}}
        for table in parts
    }
    earlier = _earlier_queries(night)
    night.publish(
        _QUERIES,
        {
            table: Part(part.files, {**told[table], EARLIER_QUERIES: earlier.get(table, [])})
            for table, part in parts.items()
        },
    )
    counts = {name: value for name, value in log.items() if isinstance(value, int)}
    if known.left_out:
        counts["log_files_not_read_again"] = len(known.left_out)
    warnings = [
        *logs.warnings,
        *silent,
        *cut_words(cut),
        *([sampling.words] if sampling.dropped_lines else []),
    ]
    warnings += summary.replay_words
    if untimed:
        warnings.append(
            f"{untimed} queries have no time: they count for this night, which their files may hold"
        )
    warnings += [f"{n} log records rejected: {reason}" for reason, n in summary.rejected.items()]
    if night.tables is None and left_out:
        named = ", ".join(sorted(strangers)[:_NAMED_STRANGERS])
        warnings.append(f"{left_out} queries of tables without segments are left out, such as {named}")
    return StageResult({**counts, **lake.counts}, (*warnings, *lake.warnings))


def _earlier_queries(night: Night) -> dict[str, list[int]]:
    """Return the number of queries of each table in each night of the week before that has some."""
    found: dict[str, list[int]] = {}
    for snapshot in earlier_snapshots(night, _QUERIES):
        for table, part in snapshot.parts().items():
            if queries := part.rows:
                found.setdefault(table, []).append(queries)
    return found


def _together(first: Mapping[str, Part], second: Mapping[str, Part]) -> dict[str, Part]:
    """Return the parts of both by table."""
    both = [(table, part) for parts in (first, second) for table, part in parts.items()]
    return {
        table: Part(tuple(f for name, part in both if name == table for f in part.files)) for table, _ in both
    }


def _rejected_parts(night: Night, rejected: Mapping[str, Part]) -> dict[str, Part]:
    """Return the parts to publish: a run of some tables keeps the records of others, or of no table."""
    former = night.store.snapshot(_REJECTED, night.date_text) if night.tables is not None else None
    parts = {table: Part(()) for table in (NO_TABLE, *(night.tables or ()))} | dict(rejected)
    others = {table for table in former.tables if not night.wants(table)} if former else set()
    return {table: part for table, part in parts.items() if table not in others}


def _expected_tables(night: Night) -> frozenset[str] | None:
    """Return the tables with facts of the night; None before it has any."""
    snapshot = night.store.snapshot("table_facts", night.date_text)
    parts = snapshot.parts() if snapshot else {}
    found = (name for name, part in parts.items() if night.wants(name) and FAILED not in part.properties)
    return frozenset(found) if snapshot else None


def _write_records(
    staged: tuple[StagedWrite, StagedWrite],
    run_date: date,
    log_time_zone: str,
    of_tables: tuple[frozenset[str] | None, frozenset[str], Mapping[str, TableSize]],
    splits: Iterable[LogSplit],
) -> Iterator[pa.RecordBatch]:
    queries, rejected = TableWriter(staged[0]), TableWriter(staged[1])
    tables, hybrids, sizes = of_tables
    halves = HybridRecords(hybrids, sizes.get)
    leaf_records = LeafRecords(halves.whole_size, {*sizes, *hybrids})
    summary, sampling, strangers = LogSummary(), SamplingSummary(), set[str]()
    outside = untimed = left_out = shares = 0
    lengths: dict[str, TextLengths] = {}
    times: dict[str, LogTimes] = {}
    of_night: set[str] = set()
    leaves: Counter[str] = Counter()
    for split in splits:
        may_be_tonight = may_be_of_day(split.path, run_date, log_time_zone)
        for batch in parse_split(split, log_time_zone):
            tonight = with_greatest_lengths(batch).filter(is_of_day(batch, run_date, untimed=may_be_tonight))
            times[split.path] = times.get(split.path, LogTimes()) + times_of(batch)
            outside += batch.num_rows - tonight.num_rows
            of_night.update([split.path] if tonight.num_rows else [])
            summary += log_summary(tonight)
            sampling += sampling_summary(tonight)
            lengths[split.path] = lengths.get(split.path, TextLengths()) + text_lengths(tonight)
            is_query = pc.equal(tonight.column("kind"), "query")
            asked = tonight.filter(is_query)
            untimed += asked.column("logged_at").null_count
            records = asked.num_rows
            asked = halves.of_halves(leaf_records.shared(asked))
            is_wanted = _is_wanted(asked, tables)
            kept = asked.filter(is_wanted)
            yield from queries.add(kept.select(QUERIES.names))
            # A multi-stage query is kept if one of its tables is, and once for each of these tables.
            kept_records = len(pc.unique(kept.column("source_position")))
            left_out += records - kept_records
            shares += kept.num_rows - kept_records
            leaves.update(leaves_by_table(kept))
            others = pc.unique(asked.filter(pc.invert(is_wanted)).column("table")).to_pylist()
            strangers = set(
                sorted({*strangers, *(printable(name, 100) for name in others)})[:_NAMED_STRANGERS]
            )
            kept_aside = tonight.filter(pc.invert(is_query)).select(REJECTED_RECORDS.names)
            yield from rejected.add(_named(kept_aside))
    note = {
        **asdict(summary),
        "outside_run_date": outside,
        "untimed_queries": untimed,
        "left_out": left_out,
        "shares": shares,
        "leaves": leaves,
        "strangers": sorted(strangers),
        "sampling": asdict(sampling),
        "of_night": sorted(of_night),
        "times": {path: astuple(of_file) for path, of_file in times.items()},
        "lengths": {path: of_file.to_json() for path, of_file in lengths.items()},
    }
    yield note_message(_QUERIES, NO_TABLE, json.dumps(note))
    yield from queries.finish()
    yield from rejected.finish()


def _is_wanted(batch: pa.RecordBatch, tables: frozenset[str] | None) -> pa.Array:
    if tables is None:
        return pa.repeat(pa.scalar(True), batch.num_rows)
    return pc.is_in(batch.column("table"), value_set=pa.array(sorted(tables), pa.string()))


def _named(batch: pa.RecordBatch) -> pa.RecordBatch:
    position = batch.schema.get_field_index("table")
    names = pc.fill_null(batch.column("table"), NO_TABLE)
    return batch.set_column(position, batch.schema.field(position), names)
