"""Votes of tables from their shapes and sampled rows of their segments, on any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from math import ceil
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.cost.alternatives import Candidates, without_idle_paths
from starskip.advisor.cost.decoded_segments import DecodedSource
from starskip.advisor.cost.estimation_votes import estimation_votes
from starskip.advisor.cost.leapfrog_votes import leapfrog_votes
from starskip.advisor.cost.proposed_sets import VoteRules
from starskip.advisor.cost.sampled_segments import SampledSegment, SegmentSource, sample_segments
from starskip.advisor.cost.segment_estimates import (
    InstanceShare,
    SegmentState,
    estimate_segment,
    merge_estimates,
    weighted_estimates,
)
from starskip.advisor.cost.voting_shapes import is_selective, voting_shapes
from starskip.advisor.families.access_rules import AccessRules, access_rules
from starskip.advisor.families.families import BUILT_IN, FamilyChoice
from starskip.advisor.families.family import Family
from starskip.advisor.families.index import Index, by_column, drop_of
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.execution.engine import Engine, Rows
from starskip.execution.engine_tasks import EngineTasks
from starskip.pinot.target_version import REGEXP_DICTIONARY_VALUES
from starskip.settings import Settings
from starskip.sql.predicate import Leaf, leaves
from starskip.sql.query_shape import parsed_shape
from starskip.storage.schemas import ESTIMATES, VOTES
from starskip.tables.table_overview import ColumnOverview, TableOverview

_MOST_UNASKED_COLUMNS = 64
"""Columns that are decoded for their sizes alone: a million rows of them are 256 MiB of codes."""
_ALIKE_RATIO = 0.5
"""Share of a table's simulations that is divided equally among its shapes."""

Counts = npt.NDArray[np.float64]

ShapeSource = Callable[[str], Sequence[ShapeWorkload]]
"""Returns the shapes of a table, on whichever machine it is called."""


@dataclass(frozen=True, slots=True)
class TablePlan:
    """Inputs of the estimate of one table; ``shapes_of`` reads its shapes wherever the estimate runs."""

    table: str
    rows: int
    columns: frozenset[str]
    candidates: Candidates
    in_force: frozenset[Index]
    rules: AccessRules
    shapes_of: ShapeSource
    overview: TableOverview
    entries_scanned_threshold: int = 0
    keeps_idle: bool = False

    def with_only(self, indexes: frozenset[Index]) -> TablePlan:
        """Return the plan with these candidates alone, even if one makes another one idle."""
        kept = {
            column: tuple(index for index in of_column if index in indexes)
            for column, of_column in self.candidates.items()
        }
        candidates = {column: of_column for column, of_column in kept.items() if of_column}
        return replace(self, candidates=candidates, keeps_idle=True)

    def shapes(self) -> tuple[ShapeWorkload, ...]:
        """Return the shapes whose text was understood, with the queries that may vote."""
        parsed = [shape for shape in self.shapes_of(self.table) if shape.is_parsed]
        return tuple(voting_shapes(parsed, self.entries_scanned_threshold))

    def voted_candidates(self, shapes: Iterable[ShapeWorkload]) -> Candidates:
        """Return the candidates without those that no query can need; ``shapes``: all shapes of the table."""
        if self.keeps_idle:
            return self.candidates
        return without_idle_paths(_asked(shapes), self.candidates, self.rules)

    def asked_columns(self, shapes: Iterable[ShapeWorkload]) -> list[str]:
        """Return the columns of the table that ``shapes`` filter on."""
        return sorted({leaf.column for leaf in _asked(shapes)} & self.columns)

    def decoded_columns(self) -> list[str]:
        """Return the columns to decode: of the filters, or if no query is known the first candidates."""
        if shapes := self.shapes():
            return self.asked_columns(shapes)
        return [column for column in self.candidates if column in self.columns][:_MOST_UNASKED_COLUMNS]


def _asked(shapes: Iterable[ShapeWorkload]) -> Iterator[Leaf]:
    return (leaf for shape in shapes for leaf in leaves(parsed_shape(shape.skeleton).filter))


def candidate_columns(overview: TableOverview, family: Family) -> frozenset[str]:
    """Return the columns that may get an index of ``family``, and which have none yet."""
    path = family.path
    if path is None:
        return frozenset()
    built, barred = overview.indexed(family.name), overview.barred.get(family.name, {})
    return frozenset(
        name
        for name, column in overview.columns.items()
        if column.sorted_ratio < 1
        and name not in built
        and name not in barred
        and path.obstacle(column) is None
    )


def candidate_indexes(overview: TableOverview, families: Sequence[Family], settings: Settings) -> Candidates:
    """Return by column the indexes that could be built, and the drops of present indexes.

    The most selective columns stand first. ``families``: the families that are considered.
    """
    found = {
        Index(family.name, name)
        for family in families
        for name in candidate_columns(overview, family)
        if is_selective(overview.columns[name], settings.scoring.selectivity_threshold)
    }
    names = {family.name for family in families}
    dropped = {drop_of(item) for item in indexes_in_force(overview) if item.family in names}
    columns = by_column(found | dropped)
    return dict(
        sorted(columns.items(), key=lambda item: (-_distinct(overview.columns.get(item[0])), item[0]))
    )


def _distinct(column: ColumnOverview | None) -> float:
    return column.cardinality or 0.0 if column else 0.0


def indexes_in_force(overview: TableOverview) -> frozenset[Index]:
    """Return the table's present indexes on columns."""
    return frozenset(Index(family, name) for family, names in overview.in_force.items() for name in names)


def rules_of(
    overview: TableOverview, settings: Settings, families: tuple[Family, ...] = BUILT_IN
) -> AccessRules:
    """Return the access paths of the target version, for this table."""
    short = (
        name
        for name, column in overview.columns.items()
        if column.dictionary_ratio > 0
        and column.cardinality is not None
        and column.cardinality < REGEXP_DICTIONARY_VALUES
    )
    return access_rules(settings.scoring.pinot_version, frozenset(short), families)


def table_plans(
    overviews: Mapping[str, TableOverview],
    shapes_of: ShapeSource,
    families: FamilyChoice,
    settings: Settings,
) -> dict[str, TablePlan]:
    """Return a plan for each table."""
    return {
        table: TablePlan(
            table,
            overview.rows,
            frozenset(overview.columns),
            candidate_indexes(overview, families.asked, settings),
            indexes_in_force(overview),
            rules_of(overview, settings, families.known),
            shapes_of,
            overview,
            settings.workload.entries_scanned_threshold,
        )
        for table, overview in overviews.items()
    }


def planned_votes(
    engine: Engine,
    plans: Mapping[str, TablePlan],
    samples: Sequence[SampledSegment] | None,
    decoded: DecodedSource,
    settings: Settings,
) -> Rows:
    """Return VOTES of all plans, from rows of ``samples``, which are in the order of their tables.

    Strategy estimation takes them from cardinalities; so does any other strategy without samples (None).
    """
    if settings.scoring.strategy == "estimation" or samples is None:
        return engine.rows_of_items(sorted(plans), partial(_estimation, plans, _vote_rules(settings)), VOTES)
    most = settings.scoring.max_simulations_per_table
    estimates = engine.rows_of_items(samples, partial(_estimate, plans, decoded, most), ESTIMATES)
    return estimates.merge(["table", "shape_id"], partial(_votes, plans), VOTES)


def choose_segments(
    engine: Engine, plans: Mapping[str, TablePlan], segments: SegmentSource, settings: Settings
) -> list[SampledSegment]:
    """Return the segments of each table on which its queries are simulated, in the order of their tables."""
    most = settings.scoring.max_sampled_segments

    def chosen(table: str) -> list[SampledSegment]:
        return sample_segments(segments(table), plans[table].shapes(), most)

    found = EngineTasks(engine).run_tasks("segments", sorted(plans), chosen)
    return [each for of_table in found for each in of_table]


def _vote_rules(settings: Settings) -> VoteRules:
    return VoteRules(
        settings.scoring.exclusive_vote_ratio,
        settings.scoring.sufficient_column_scans,
        settings.scoring.incremental_column_scans,
    )


def _estimation(
    plans: Mapping[str, TablePlan], vote_rules: VoteRules, tables: Iterable[str]
) -> Iterator[pa.RecordBatch]:
    for plan in map(plans.__getitem__, tables):
        shapes = plan.shapes()
        candidates = plan.voted_candidates(shapes)
        votes = estimation_votes(shapes, plan.overview, candidates, plan.in_force, plan.rules, vote_rules)
        yield from votes.to_batches()


def _estimate(
    plans: Mapping[str, TablePlan],
    decoded: DecodedSource,
    max_simulations: int,
    samples: Iterable[SampledSegment],
) -> Iterator[pa.RecordBatch]:
    # A task's segments are in order of their tables: one table's shapes are held at a time.
    for table, of_table in groupby(samples, key=lambda sample: sample.file.table):
        plan = plans[table]
        shapes = plan.shapes()
        candidates = plan.voted_candidates(shapes)
        for sample, segment in decoded(of_table, plan.asked_columns(shapes)):
            state = SegmentState(
                rules=plan.rules,
                sorted_columns=segment.sorted_columns,
                in_force=plan.in_force,
                constant_columns=segment.constant_columns,
                values_a_row=segment.values_a_row,
            )
            shares = instance_shares(sample, shapes, max_simulations)
            has_all = segment.has_all_values
            estimates = estimate_segment(
                segment.window, state, shapes, candidates, plan.rows, shares, has_all_values=has_all
            )
            yield weighted_estimates(estimates, sample.weight)


def instance_shares(
    sample: SampledSegment, shapes: Sequence[ShapeWorkload], max_simulations: int
) -> dict[str, InstanceShare]:
    """Return by shape the instances that belong to this segment.

    Half of the simulations are dealt out to shapes alike, half by the entries that they scan: the votes of a
    shape that scans much must be known better. Each instance is simulated once at least.
    """
    wanted = np.array([len(shape.instances) for shape in shapes], dtype=float) * sample.segments
    if wanted.sum() <= max_simulations:
        return {}
    entries = np.array([shape.weighted_entries for shape in shapes], dtype=float)
    scanned = entries / entries.sum() if entries.any() else np.full(len(shapes), 1 / len(shapes))
    allowed = _dealt_out(max_simulations, wanted, _ALIKE_RATIO / len(shapes) + (1 - _ALIKE_RATIO) * scanned)
    found = {}
    for shape, most, simulations in zip(shapes, wanted, allowed, strict=True):
        every = min(ceil(most / max(simulations, 1.0)), sample.segments)
        # Shapes begin at different segments: else all with few queries would know the same few segments.
        first = crc32(shape.shape_id.encode("utf-8", "surrogatepass"))
        found[shape.shape_id] = InstanceShare(max(every, 1), sample.position + first)
    return found


def _dealt_out(total: float, wanted: Counts, shares: Counts) -> Counts:
    """Return parts of ``total`` by ``shares``; what is more than ``wanted`` goes to the others."""
    parts = np.zeros_like(wanted)
    while (open_ones := parts < wanted).any() and (left := total - parts.sum()) > 1.0:
        parts += np.where(open_ones, left * shares / shares[open_ones].sum(), 0.0)
        parts = np.minimum(parts, wanted)
    return parts


def _votes(plans: Mapping[str, TablePlan], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    estimates = merge_estimates(batches)
    keys = estimates.select(["table", "shape_id"]).group_by(["table", "shape_id"]).aggregate([]).to_pylist()
    here: dict[str, set[str]] = {}
    for row in keys:
        here.setdefault(row["table"], set()).add(row["shape_id"])
    for table, shape_ids in sorted(here.items()):
        plan = plans[table]
        shapes = plan.shapes()
        candidates = plan.voted_candidates(shapes)
        here_voting = [shape for shape in shapes if shape.shape_id in shape_ids]
        of_table = estimates.filter(pc.equal(estimates["table"], table))
        yield from leapfrog_votes(here_voting, of_table, candidates, plan.rules).to_batches()
