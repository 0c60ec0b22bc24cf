"""Votes of tables from their shapes and sampled rows of their segments, on any engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from starskip.artefacts.schemas import ESTIMATES, VOTES
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.segment_files import SegmentFile, list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.scoring.leapfrog_votes import leapfrog_votes
from starskip.scoring.segment_estimates import SegmentState, estimate_segment, merge_estimates, parsed_shape
from starskip.settings import Settings
from starskip.sql.predicate import leaves
from starskip.stages.engine import Engine
from starskip.tables.table_overview import TableOverview
from starskip.workload.shape_workload import ShapeWorkload

_MAX_VOTES = 2_000_000
_MIN_WINDOW_ROWS = 256


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What estimating one table needs: its shapes, candidate columns, and the columns that filters read."""

    table: str
    rows: int
    shapes: tuple[ShapeWorkload, ...]
    candidates: frozenset[str]
    columns: tuple[str, ...]
    inverted_index_columns: frozenset[str]
    index_kind: str


def candidate_columns(overview: TableOverview, index_kind: str = "inverted") -> frozenset[str]:
    """Return the columns that an index of that kind could be built on.

    An inverted index needs a dictionary; a table can be sorted by a single-value column.
    """
    return frozenset(
        name
        for name, column in overview.columns.items()
        if column.dictionary_ratio > 0
        and column.sorted_ratio < 1
        and (column.is_single_value if index_kind == "sorted" else name not in overview.inverted_index_columns)
    )


def table_plans(
    shapes: Iterable[ShapeWorkload], overviews: Mapping[str, TableOverview], index_kind: str = "inverted"
) -> dict[str, TablePlan]:
    """Return a plan for each table that has parsed shapes and an overview."""
    grouped: dict[str, list[ShapeWorkload]] = {}
    for shape in shapes:
        if shape.is_parsed and shape.table in overviews:
            grouped.setdefault(shape.table, []).append(shape)
    plans = {}
    for table, of_table in grouped.items():
        overview = overviews[table]
        asked = {leaf.column for s in of_table for leaf in leaves(parsed_shape(s.skeleton).filter)}
        plans[table] = TablePlan(
            table,
            overview.rows,
            tuple(of_table),
            candidate_columns(overview, index_kind),
            tuple(sorted(asked & overview.columns.keys())),
            overview.inverted_index_columns,
            index_kind,
        )
    return plans


def planned_votes(
    engine: Engine, plans: Mapping[str, TablePlan], segments_root: str, settings: Settings
) -> pa.Table:
    """Return VOTES of all plans, from evenly spread segments and rows of each table."""
    files = sampled_files(segments_root, [p.table for p in plans.values() if p.columns], settings)
    rows = _rows_per_segment(files, settings)
    estimates = engine.rows_of_items(files, partial(_estimate, plans, rows), ESTIMATES)
    return estimates.merge(["table", "shape_id"], partial(_votes, plans), VOTES).gather("votes", _MAX_VOTES)


def sampled_files(segments_root: str, tables: Iterable[str], settings: Settings) -> list[SegmentFile]:
    """Return evenly spread segments of each table, the same ones at every run."""
    files: list[SegmentFile] = []
    for table in sorted(tables):
        of_table = list_segments(segments_root, [table])
        count = min(len(of_table), settings.max_sampled_segments)
        files.extend(of_table[position * len(of_table) // count] for position in range(count))
    return files


def _rows_per_segment(files: Sequence[SegmentFile], settings: Settings) -> dict[str, int]:
    segments: dict[str, int] = {}
    for file in files:
        segments[file.table] = segments.get(file.table, 0) + 1
    return {table: max(settings.window_rows_per_table // n, _MIN_WINDOW_ROWS) for table, n in segments.items()}


def _estimate(
    plans: Mapping[str, TablePlan], rows_per_segment: Mapping[str, int], files: Iterable[SegmentFile]
) -> Iterator[pa.RecordBatch]:
    for file in files:
        plan = plans[file.table]
        try:
            facts = read_segment_facts(file, whole=False)
            window = read_row_window(file, plan.columns, max_rows=rows_per_segment[file.table])
        except DamagedSegment:
            # Named by collect_segment_metadata; the other segments tell enough.
            continue
        state = SegmentState(
            sorted_columns=frozenset(c.name for c in facts.columns if c.is_sorted),
            inverted_index_columns=plan.inverted_index_columns,
            constant_columns=frozenset(c.name for c in facts.columns if c.cardinality == 1),
        )
        yield estimate_segment(window, state, plan.shapes, plan.candidates, plan.rows, plan.index_kind)


def _votes(plans: Mapping[str, TablePlan], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    estimates = merge_estimates(batches)
    here = {(row["table"], row["shape_id"]) for row in estimates.select(["table", "shape_id"]).to_pylist()}
    for plan in plans.values():
        shapes = [s for s in plan.shapes if (s.table, s.shape_id) in here]
        if shapes:
            votes = leapfrog_votes(shapes, estimates, {plan.table: plan.candidates}, plan.index_kind)
            yield from votes.to_batches()
