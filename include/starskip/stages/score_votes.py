"""Stage score_votes: ``queries`` and ``table_facts`` to ``workload`` and ``votes`` (seed 000, II.2-3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from starskip.artefacts.manifest import Part
from starskip.artefacts.schemas import COLUMN_SUMS, ESTIMATES, VOTES, WORKLOAD
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.segment_files import SegmentFile, list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.scoring.leapfrog_votes import leapfrog_votes
from starskip.scoring.segment_estimates import SegmentState, estimate_segment, merge_estimates, parsed_shape
from starskip.sql.predicate import leaves
from starskip.stages.engine import Engine
from starskip.stages.gate_verdicts import usable_tables
from starskip.stages.night import Night, StageResult
from starskip.tables.table_overview import TableOverview, column_sums, merge_column_sums, table_overviews
from starskip.workload.count_shapes import QUERY_COLUMNS, count_shapes, merge_shapes
from starskip.workload.fold_shapes import fold_shapes
from starskip.workload.shape_workload import ShapeWorkload, workload_shapes

_MAX_COLUMNS = 2_000_000
_MAX_VOTES = 2_000_000


def score_votes(engine: Engine, night: Night) -> StageResult:
    """Publish ``workload`` and ``votes`` of the night's tables."""
    facts = set(usable_tables(night, "table_facts", "score_votes"))
    tables = [table for table in usable_tables(night, "queries", "score_votes") if table in facts]
    overviews = read_overviews(engine, night, tables)
    workload = _workload(engine, night, tables)
    shapes = [shape for shape in workload_shapes(workload) if shape.is_parsed]
    plans = _plans(shapes, overviews)
    files = _sampled_files(night, [plan.table for plan in plans.values() if plan.columns])
    estimates = engine.rows_of_items(
        files, partial(_estimate, plans, _rows_per_segment(night, files)), ESTIMATES
    )
    votes = estimates.merge(["table", "shape_id"], partial(_votes, plans), VOTES).gather("votes", _MAX_VOTES)
    _publish(night, "workload", workload, tables)
    _publish(night, "votes", votes, tables)
    counts = {
        "tables": len(tables),
        "shapes": len(shapes),
        "votes": len(votes),
        "sampled_segments": len(files),
    }
    return StageResult(counts)


def read_overviews(engine: Engine, night: Night, tables: Sequence[str]) -> dict[str, TableOverview]:
    """Return the overview of each table from ``table_facts`` and the table configs of the night."""
    snapshot = night.store.snapshot("table_facts", night.date_text)
    assert snapshot is not None
    rows = engine.rows_of_snapshot(snapshot, tables).map(_column_sums, COLUMN_SUMS)
    sums = rows.merge(["table", "column"], _merge_column_sums, COLUMN_SUMS).gather("columns", _MAX_COLUMNS)
    return table_overviews(sums, night.configured_inverted_indexes())


@dataclass(frozen=True, slots=True)
class _TablePlan:
    """What estimating one table needs: its shapes, candidate columns, and columns that filters read."""

    table: str
    rows: int
    shapes: tuple[ShapeWorkload, ...]
    candidates: frozenset[str]
    columns: tuple[str, ...]
    inverted_index_columns: frozenset[str]


def candidate_columns(overview: TableOverview) -> frozenset[str]:
    """Return the columns that an inverted index could be built on: with a dictionary, and without one yet."""
    return frozenset(
        name
        for name, column in overview.columns.items()
        if column.dictionary_ratio > 0
        and column.sorted_ratio < 1
        and name not in overview.inverted_index_columns
    )


def _plans(shapes: Iterable[ShapeWorkload], overviews: Mapping[str, TableOverview]) -> dict[str, _TablePlan]:
    grouped: dict[str, list[ShapeWorkload]] = {}
    for shape in shapes:
        grouped.setdefault(shape.table, []).append(shape)
    plans = {}
    for table, of_table in grouped.items():
        overview = overviews[table]
        asked = {leaf.column for s in of_table for leaf in leaves(parsed_shape(s.skeleton).filter)}
        plans[table] = _TablePlan(
            table,
            overview.rows,
            tuple(of_table),
            candidate_columns(overview),
            tuple(sorted(asked & overview.columns.keys())),
            overview.inverted_index_columns,
        )
    return plans


def _workload(engine: Engine, night: Night, tables: Sequence[str]) -> pa.Table:
    snapshot = night.store.snapshot("queries", night.date_text)
    assert snapshot is not None
    settings = night.settings
    count = partial(count_shapes, instances_per_shape=settings.instances_per_shape)
    merge = partial(_merge_and_fold, settings.instances_per_shape, settings.max_shapes_per_table)
    counted = engine.rows_of_snapshot(snapshot, tables, QUERY_COLUMNS).map(count, WORKLOAD)
    merged = counted.merge(["table", "shape_id"], merge, WORKLOAD)
    cap = (settings.max_shapes_per_table + 1) * max(len(tables), 1) * 64
    folded = fold_shapes(merged.gather("shapes", cap).to_batches(), max_shapes=settings.max_shapes_per_table)
    return pa.Table.from_batches(folded, schema=WORKLOAD)


def _merge_and_fold(
    instances_per_shape: int, max_shapes: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield from fold_shapes(
        merge_shapes(batches, instances_per_shape=instances_per_shape), max_shapes=max_shapes
    )


def _sampled_files(night: Night, tables: Sequence[str]) -> list[SegmentFile]:
    """Return evenly spread segments of each table, the same ones at every run."""
    files: list[SegmentFile] = []
    for table in sorted(tables):
        of_table = list_segments(night.segments_root, [table])
        count = min(len(of_table), night.settings.max_sampled_segments)
        files.extend(of_table[position * len(of_table) // count] for position in range(count))
    return files


def _rows_per_segment(night: Night, files: Sequence[SegmentFile]) -> dict[str, int]:
    segments: dict[str, int] = {}
    for file in files:
        segments[file.table] = segments.get(file.table, 0) + 1
    return {table: max(night.settings.window_rows_per_table // n, 256) for table, n in segments.items()}


def _estimate(
    plans: Mapping[str, _TablePlan], rows_per_segment: Mapping[str, int], files: Iterable[SegmentFile]
) -> Iterator[pa.RecordBatch]:
    for file in files:
        plan = plans[file.table]
        try:
            facts = read_segment_facts(file, whole=False)
            window = read_row_window(file, plan.columns, max_rows=rows_per_segment[file.table])
        except DamagedSegment:
            # Named by collect_segment_metadata; the other segments tell enough.
            continue
        sorted_columns = frozenset(column.name for column in facts.columns if column.is_sorted)
        state = SegmentState(sorted_columns, plan.inverted_index_columns)
        yield estimate_segment(window, state, plan.shapes, plan.candidates, plan.rows)


def _votes(plans: Mapping[str, _TablePlan], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    estimates = merge_estimates(batches)
    here = {(row["table"], row["shape_id"]) for row in estimates.select(["table", "shape_id"]).to_pylist()}
    shapes = [s for plan in plans.values() for s in plan.shapes if (s.table, s.shape_id) in here]
    candidates = {table: plan.candidates for table, plan in plans.items()}
    yield from leapfrog_votes(shapes, estimates, candidates).to_batches()


def _column_sums(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from column_sums(batches).to_batches()


def _merge_column_sums(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from merge_column_sums(batches).to_batches()


def _publish(night: Night, artefact: str, rows: pa.Table, tables: Sequence[str]) -> None:
    aside = night.store.write_aside(artefact, night.date_text)
    rows = rows.sort_by([("table", "ascending"), ("shape_id", "ascending")])
    parts = {t: Part(aside.write(t, rows.filter(pc.equal(rows["table"], t)))) for t in tables}
    night.publish(artefact, parts)
