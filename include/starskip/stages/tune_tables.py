"""Advice for tables from a log and a segment folder in one go, without publishing anything.

The functions are those of the night's stages; all records of the log count, whatever their day.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.artefacts.schemas import COLUMN_SUMS
from starskip.errors import SourceError
from starskip.pinot.logs.log_files import LogSplit, log_files, log_splits
from starskip.pinot.logs.log_summary import log_summary
from starskip.pinot.logs.parse_records import parse_split
from starskip.pinot.segments.facts_table import collect_facts
from starskip.pinot.segments.segment_files import SegmentFile, list_segments, segment_tables
from starskip.settings import Settings
from starskip.stages.local_engine import LocalEngine
from starskip.stages.planned_votes import planned_votes, table_plans
from starskip.stages.select_indexes import TableAdvice, advise_table
from starskip.tables.table_overview import TableOverview, column_sums, merge_column_sums, table_overviews
from starskip.workload.count_shapes import QUERY_COLUMNS, count_shapes
from starskip.workload.fold_shapes import fold_shapes
from starskip.workload.shape_workload import ShapeWorkload, workload_shapes

Progress = Callable[[str, Sequence[Any]], Iterable[Any]]
_MAX_VOTES = 2_000_000


@dataclass(frozen=True, slots=True)
class TuneRequest:
    """``tables`` empty means all of the log; ``configured``: inverted indexes in force, by table."""

    log_paths: Sequence[str]
    segments_root: str
    tables: Sequence[str]
    configured: Mapping[str, Collection[str]]
    index_kind: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class TuneAnswer:
    """The advice by table, and what a person should know of the inputs."""

    tables: tuple[TableAdvice, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScoredTables:
    """What is known before anything is chosen: shapes and overviews by table, votes of all tables."""

    tables: tuple[str, ...]
    workload: Mapping[str, Sequence[ShapeWorkload]]
    overviews: Mapping[str, TableOverview]
    votes: pa.Table
    warnings: tuple[str, ...]


def tune_tables(request: TuneRequest, progress: Progress) -> TuneAnswer:
    """Return the advice for each table asked for; raises SourceError for one that has no segments."""
    scored = scored_tables(request, progress)
    votes = scored.votes
    advice = tuple(
        advise_table(
            table,
            scored.workload.get(table, ()),
            votes.filter(pc.equal(votes["table"], table)),
            scored.overviews.get(table),
            request.settings,
            request.index_kind,
        )
        for table in scored.tables
    )
    return TuneAnswer(advice, scored.warnings)


def scored_tables(request: TuneRequest, progress: Progress) -> ScoredTables:
    """Return shapes, overviews and votes; raises SourceError for a table asked for without segments."""
    known = segment_tables(request.segments_root)
    for table in request.tables:
        if table not in known:
            listing = ", ".join(known) or "none"
            raise SourceError(
                f"unknown table {table}: {request.segments_root} has segments of {listing}", source=table
            )
    workload, warnings = _workload(request, progress)
    tables = tuple(request.tables or sorted(workload))
    overviews: dict[str, TableOverview] = {}
    for table in tables:
        if table not in known:
            warnings.append(f"table {table} of the log has no segments below {request.segments_root}")
            continue
        try:
            overview, damaged = _overview(table, request, progress)
        except SourceError as error:
            if table in request.tables:
                raise
            warnings.append(str(error))  # one table of the log must not end the advice for the others
            continue
        overviews.update(overview)
        warnings.extend(damaged)
    shapes_of = partial(_shapes_of, workload)
    plans = table_plans(overviews, shapes_of, request.index_kind)
    engine = LocalEngine(partial(progress, "simulating"))
    rows = planned_votes(engine, plans, request.segments_root, request.settings)
    votes = rows.gather("votes", _MAX_VOTES)
    return ScoredTables(tables, workload, overviews, votes, tuple(warnings))


def _shapes_of(workload: Mapping[str, Sequence[ShapeWorkload]], table: str) -> Sequence[ShapeWorkload]:
    return workload.get(table, ())


def _workload(request: TuneRequest, progress: Progress) -> tuple[dict[str, list[ShapeWorkload]], list[str]]:
    settings = request.settings
    splits = log_splits(log_files(request.log_paths), settings.log_split_bytes)
    rejected: dict[str, _Rejected] = {}
    queries = _queries(progress("reading the log", splits), request.tables, rejected)
    counted = count_shapes(queries, instances_per_shape=settings.instances_per_shape)
    workload: dict[str, list[ShapeWorkload]] = {}
    for batch in fold_shapes(counted, max_shapes=settings.max_shapes_per_table):
        for shape in workload_shapes(batch):
            workload.setdefault(shape.table, []).append(shape)
    return workload, [
        f"{found.records} log records rejected: {reason}, the first in {found.first_file}"
        for reason, found in sorted(rejected.items())
    ]


@dataclass(slots=True)
class _Rejected:
    """Records of a log that were rejected for one reason."""

    first_file: str
    records: int = 0


def _queries(
    splits: Iterable[LogSplit], tables: Sequence[str], rejected: dict[str, _Rejected]
) -> Iterator[pa.RecordBatch]:
    """Yield the queries of the tables, and count what was rejected."""
    for split in splits:
        for batch in parse_split(split):
            for reason, records in log_summary(batch).rejected.items():
                rejected.setdefault(reason, _Rejected(split.path)).records += records
            queries = batch.filter(pc.equal(batch.column("kind"), "query")).select(QUERY_COLUMNS)
            if tables:
                queries = queries.filter(pc.is_in(queries.column("table"), value_set=pa.array(tables)))
            yield queries


def _overview(
    table: str, request: TuneRequest, progress: Progress
) -> tuple[dict[str, TableOverview], list[str]]:
    warnings: list[str] = []

    def sums(files: Iterable[SegmentFile]) -> Iterator[pa.RecordBatch]:
        for facts, damaged in collect_facts(files):
            yield from column_sums(facts.to_batches()).to_batches()
            warnings.extend(
                f"damaged segment {row['source_file']}: {row['reason']}: {row['detail']}"
                for row in damaged.to_pylist()
            )

    files = list_segments(request.segments_root, [table])
    engine = LocalEngine(partial(progress, f"segments of {table}"))
    rows = engine.rows_of_items(files, sums, COLUMN_SUMS)
    merged = merge_column_sums(rows.batches())
    if not len(merged):
        raise SourceError(
            f"table {table}: none of its {len(files)} segments can be read: {warnings[0]}", source=table
        )
    return table_overviews(merged, request.configured), warnings
