"""Votes of tables from their shapes and sampled rows of their segments, on any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from starskip.artefacts.schemas import ESTIMATES, VOTES
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.segment_files import SegmentFile, list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.scoring.leapfrog_votes import leapfrog_votes
from starskip.scoring.segment_estimates import (
    InstanceShare,
    SegmentState,
    estimate_segment,
    merge_estimates,
    parsed_shape,
)
from starskip.settings import Settings
from starskip.sql.predicate import leaves
from starskip.stages.engine import Engine, Rows
from starskip.tables.table_overview import TableOverview
from starskip.tables.thin_window import thin_window
from starskip.workload.shape_workload import ShapeWorkload

_MIN_WINDOW_ROWS = 256
_MAX_READ_ROWS = 1_000_000
"""Rows decoded of a segment before they are thinned: 4 bytes a row and column."""

ShapeSource = Callable[[str], Sequence[ShapeWorkload]]
"""Gives the shapes of a table, on whichever machine it is called."""


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What estimating one table needs; ``shapes_of`` reads its shapes wherever the estimate runs."""

    table: str
    rows: int
    columns: frozenset[str]
    candidates: frozenset[str]
    inverted_index_columns: frozenset[str]
    index_kind: str
    shapes_of: ShapeSource

    def shapes(self) -> tuple[ShapeWorkload, ...]:
        """Return the shapes whose text was understood."""
        return tuple(shape for shape in self.shapes_of(self.table) if shape.is_parsed)


def candidate_columns(overview: TableOverview, index_kind: str = "inverted") -> frozenset[str]:
    """Return the columns that an index of that kind could be built on.

    An inverted index needs a dictionary; a table can be sorted by a single-value column.
    """
    return frozenset(
        name
        for name, column in overview.columns.items()
        if column.dictionary_ratio > 0
        and column.sorted_ratio < 1
        and (
            column.is_single_value if index_kind == "sorted" else name not in overview.inverted_index_columns
        )
    )


def table_plans(
    overviews: Mapping[str, TableOverview], shapes_of: ShapeSource, index_kind: str = "inverted"
) -> dict[str, TablePlan]:
    """Return a plan for each table."""
    return {
        table: TablePlan(
            table,
            overview.rows,
            frozenset(overview.columns),
            candidate_columns(overview, index_kind),
            overview.inverted_index_columns,
            index_kind,
            shapes_of,
        )
        for table, overview in overviews.items()
    }


def planned_votes(
    engine: Engine, plans: Mapping[str, TablePlan], segments_root: str, settings: Settings
) -> Rows:
    """Return VOTES of all plans, from evenly spread segments and rows of each table."""
    files = sampled_files(segments_root, plans, settings)
    samples = list(_samples(files, settings))
    estimates = engine.rows_of_items(samples, partial(_estimate, plans), ESTIMATES)
    return estimates.merge(["table", "shape_id"], partial(_votes, plans), VOTES)


def sampled_files(segments_root: str, tables: Iterable[str], settings: Settings) -> list[SegmentFile]:
    """Return evenly spread segments of each table, the same ones at every run."""
    files: list[SegmentFile] = []
    for table in sorted(tables):
        of_table = list_segments(segments_root, [table])
        count = min(len(of_table), settings.max_sampled_segments)
        files.extend(of_table[position * len(of_table) // count] for position in range(count))
    return files


@dataclass(frozen=True, slots=True)
class _Sample:
    """A segment to simulate on: number ``position`` of ``segments``, ``rows`` of it."""

    file: SegmentFile
    position: int
    segments: int
    rows: int
    max_simulations: int

    def share(self, shapes: Sequence[ShapeWorkload]) -> InstanceShare:
        """Return the instances that belong to this segment."""
        simulations = sum(len(shape.instances) for shape in shapes) * self.segments
        every = min(-(-simulations // self.max_simulations), self.segments)
        return InstanceShare(max(every, 1), self.position)


def _samples(files: Sequence[SegmentFile], settings: Settings) -> Iterator[_Sample]:
    for _, of_table in groupby(files, key=lambda file: file.table):
        segments = list(of_table)
        rows = max(settings.window_rows_per_table // len(segments), _MIN_WINDOW_ROWS)
        for position, file in enumerate(segments):
            yield _Sample(file, position, len(segments), rows, settings.max_simulations_per_table)


def _estimate(plans: Mapping[str, TablePlan], samples: Iterable[_Sample]) -> Iterator[pa.RecordBatch]:
    shapes: dict[str, tuple[ShapeWorkload, ...]] = {}
    for sample in samples:
        plan = plans[sample.file.table]
        if plan.table not in shapes:
            # A task's segments are in order of their tables: one table's shapes are held at a time.
            shapes = {plan.table: plan.shapes()}
        try:
            yield _estimate_sample(sample, plan, shapes[plan.table])
        except DamagedSegment:
            # Named by collect_segment_metadata; the other segments tell enough.
            continue


def _estimate_sample(sample: _Sample, plan: TablePlan, shapes: Sequence[ShapeWorkload]) -> pa.RecordBatch:
    asked = {leaf.column for s in shapes for leaf in leaves(parsed_shape(s.skeleton).filter)}
    facts = read_segment_facts(sample.file, whole=False)
    whole = read_row_window(sample.file, sorted(asked & plan.columns), max_rows=_MAX_READ_ROWS)
    window = thin_window(whole, sample.rows)
    state = SegmentState(
        sorted_columns=frozenset(c.name for c in facts.columns if c.is_sorted),
        inverted_index_columns=plan.inverted_index_columns,
        constant_columns=frozenset(c.name for c in facts.columns if c.cardinality == 1),
    )
    share = sample.share(shapes)
    return estimate_segment(window, state, shapes, plan.candidates, plan.rows, plan.index_kind, share)


def _votes(plans: Mapping[str, TablePlan], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    estimates = merge_estimates(batches)
    keys = estimates.select(["table", "shape_id"]).group_by(["table", "shape_id"]).aggregate([]).to_pylist()
    here: dict[str, set[str]] = {}
    for row in keys:
        here.setdefault(row["table"], set()).add(row["shape_id"])
    for table, shape_ids in sorted(here.items()):
        plan = plans[table]
        shapes = [shape for shape in plan.shapes() if shape.shape_id in shape_ids]
        of_table = estimates.filter(pc.equal(estimates["table"], table))
        yield from leapfrog_votes(shapes, of_table, {table: plan.candidates}, plan.index_kind).to_batches()
