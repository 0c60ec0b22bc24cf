"""Advice for tables from a log and a segment folder in one go, without publishing anything.

It calls the functions of the night's stages; all records of the log count, whatever their day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.cost.computed_filters import computed_filters_warning
from starskip.advisor.cost.decoded_segments import DecodedSource, decoded_now, decoding
from starskip.advisor.cost.facts_source import FactsSource, FoundFacts
from starskip.advisor.cost.index_sizes import merge_index_sizes, sizes_of
from starskip.advisor.cost.planned_votes import TablePlan, choose_segments, planned_votes, table_plans
from starskip.advisor.cost.read_overviews import FoundSizes
from starskip.advisor.cost.sampled_index_sizes import sampled_index_sizes
from starskip.advisor.cost.sampled_segments import SampledSegment, listed_segments
from starskip.advisor.families.answer import RowSource
from starskip.advisor.families.families import FamilyChoice
from starskip.advisor.families.family_faults import without_faulty
from starskip.advisor.families.index import Index
from starskip.advisor.run.table_by_table import failure_words, is_of_one_table, table_by_table
from starskip.advisor.selection.advice_without_log import ColumnWeights, advice_without_log, unknown_weights
from starskip.advisor.selection.advise_table import advise_table
from starskip.advisor.selection.advised_edits import write_out
from starskip.advisor.selection.spooled_batches import SpooledBatches
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.workload.busy_keys import busy_keys, left_out_words
from starskip.advisor.workload.count_shapes import QUERY_COLUMNS, count_shapes
from starskip.advisor.workload.cut_texts import (
    TextLengths,
    cut_lengths,
    cut_words,
    text_lengths,
    with_greatest_lengths,
)
from starskip.advisor.workload.fold_shapes import fold_shapes
from starskip.advisor.workload.hybrid_records import HybridRecords
from starskip.advisor.workload.key_sums import KEY_FIELD, with_keys
from starskip.advisor.workload.known_names import known_names, known_table
from starskip.advisor.workload.leaf_records import LeafRecords, leaves_by_table
from starskip.advisor.workload.query_weights import query_weights, weighted_shapes
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_shapes
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.local_engine import LocalEngine, LocalRows
from starskip.execution.progress import Progress
from starskip.pinot.hybrid_tables import half_name, with_halves, without_type
from starskip.pinot.logs.log_formats import module_names
from starskip.pinot.logs.log_splits import LogSplit, log_splits
from starskip.pinot.logs.parse_records import parse_split
from starskip.pinot.logs.rejected_records import RejectedRecords
from starskip.pinot.logs.sampling_weights import SamplingSummary, sampling_summary
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.table_config import TableConfig
from starskip.settings import Settings
from starskip.storage.files.log_files import log_files
from starskip.storage.schemas import INDEX_SIZES, QUERIES
from starskip.tables.table_overview import IndexColumns, TableOverview
from starskip.tables.untracked_indexes import untracked_indexes

_MAX_VOTES = 2_000_000
_KEYED_QUERIES = pa.schema([*(QUERIES.field(name) for name in QUERY_COLUMNS), KEY_FIELD])


@dataclass(frozen=True, slots=True)
class TuneRequest:
    """A request for advice: its inputs and settings.

    ``tables``: empty means all tables of the log. By table: ``configured``, the columns with an index in
    force, and ``configs``, the table configs. Facts come from ``segments_root``, or if it is empty from the
    packed ``metadata_path``. Without ``log_paths`` the advice is a guess from cardinalities, with
    ``column_weights`` if they are given. ``not_used``: families that failed before, each with its fault.
    ``only``: the indexes that vote, whatever others may serve the same queries; None for all candidates.
    """

    log_paths: Sequence[str]
    segments_root: str
    tables: Sequence[str]
    configured: Mapping[str, IndexColumns]
    families: FamilyChoice
    settings: Settings
    metadata_path: str = ""
    column_weights: ColumnWeights = field(default_factory=dict)
    configs: Mapping[str, Sequence[TableConfig]] = field(default_factory=dict)
    not_used: Mapping[str, str] = field(default_factory=dict)
    only: frozenset[Index] | None = None

    def without(self, names: Collection[str]) -> TuneRequest:
        """Return the request without the families of these names."""
        return replace(self, families=self.families.without(names))

    @property
    def source(self) -> FactsSource:
        """Return the source of the facts of tables."""
        return FactsSource(
            self.segments_root,
            self.metadata_path,
            self.configured,
            self.settings,
            self.families,
            self.configs,
        )


@dataclass(frozen=True, slots=True)
class TuneAnswer:
    """The advice by table, and warnings on the inputs; ``failures``: table to reason."""

    tables: tuple[TableAdvice, ...]
    warnings: tuple[str, ...]
    failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoredTables:
    """Facts before the choice: shapes and overviews by table, votes and sizes of all tables.

    ``leaves``: by table, how many of its queries were leaves of multi-stage queries. ``failures``: why a
    table has no votes. ``not_used``: by table, families that failed, each with its fault.
    """

    tables: tuple[str, ...]
    workload: Mapping[str, Sequence[ShapeWorkload]]
    overviews: Mapping[str, TableOverview]
    votes: pa.Table
    index_sizes: pa.Table
    warnings: tuple[str, ...]
    leaves: Mapping[str, int]
    failures: Mapping[str, str] = field(default_factory=dict)
    not_used: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def tune_tables(request: TuneRequest, progress: Progress) -> TuneAnswer:
    """Return the advice for each table asked for; raises SourceError for a table without segments.

    As in the night, a failure on one table does not affect the others; it is raised if no table is left.
    """
    hybrids = request.source.hybrids()
    known = {*request.source.tables(), *hybrids}
    asked = dict.fromkeys(_meant_table(name, known, hybrids) for name in request.tables)
    request = replace(request, tables=tuple(asked))
    if not request.log_paths:
        return _guessed(request, progress)
    scored = scored_tables(request, progress)
    tasks = EngineTasks(LocalEngine())

    def advised(table: str, left_out: frozenset[str]) -> TableAdvice:
        families = request.families.without(left_out)
        before = scored.not_used.get(table, {})
        votes, sizes = scored.votes, scored.index_sizes
        if any(family.name not in before for family in request.families.with_path if family.name in left_out):
            # Its votes are in those of the others.
            again = request.without(left_out)
            votes, batches = _scored(again, scored.workload, scored.overviews, progress, [table])
            sizes = pa.Table.from_batches(merge_index_sizes([*sizes.to_batches(), *batches]), INDEX_SIZES)
        advice = advise_table(
            TableQuestion(
                table,
                scored.workload.get(table, ()),
                votes.filter(pc.equal(votes["table"], table)),
                scored.overviews.get(table),
                request.settings,
                families,
                size_bytes=sizes_of(sizes.filter(pc.equal(sizes["table"], table))),
                configs=request.configs.get(table, ()),
                rows=RowSource(tasks.run_tasks, partial(list_segments, request.segments_root, [table]))
                if request.segments_root
                else None,
                leaves=scored.leaves.get(table, 0),
            )
        )
        write_out(advice, families, request.configs.get(table, ()))
        return advice

    left = [table for table in scored.tables if table not in scored.failures]
    advice, failures = _each_alone(left, advised, scored.not_used)
    return TuneAnswer(advice, scored.warnings, {**scored.failures, **failures})


def _meant_table(name: str, known: Collection[str], hybrids: Collection[str]) -> str:
    """Return the table that a name asked for means; a type says nothing where the table is no hybrid one."""
    whole, table_type = without_type(known_table(name, known))
    found = known_table(whole, known)
    return half_name(found, table_type) if found in hybrids else found


def _each_alone(
    tables: Iterable[str],
    advised: Callable[[str, frozenset[str]], TableAdvice],
    not_used: Mapping[str, Mapping[str, str]],
) -> tuple[tuple[TableAdvice, ...], dict[str, str]]:
    """Return the advice, and the tables whose advice failed with the reason; raises it if all fail."""
    advice: list[TableAdvice] = []
    failed: dict[str, Exception] = {}
    for table in tables:
        try:
            of_table, faults = without_faulty(not_used.get(table, {}), partial(advised, table))
            advice.append(replace(of_table, not_used=faults))
        except Exception as error:
            if not is_of_one_table(error):
                raise
            failed[table] = error
    if failed and not advice:
        raise next(iter(failed.values()))
    return tuple(advice), {table: failure_words(error) for table, error in failed.items()}


def scored_tables(request: TuneRequest, progress: Progress) -> ScoredTables:
    """Return shapes, overviews and votes; raises SourceError for a table asked for without segments."""
    untracked_indexes(request.settings.scoring.untracked_inverted_index)
    hybrids = request.source.hybrids()
    request = replace(request, tables=with_halves(request.tables, hybrids))
    workload, found, known, leaves, warnings = _workload(request, hybrids, progress)
    tables = tuple(request.tables or sorted(workload))
    warnings.extend(found.warnings)
    overviews = found.overviews
    not_used: dict[str, Mapping[str, str]] = dict.fromkeys(tables, known)

    def scored(names: Sequence[str]) -> tuple[pa.Table, list[pa.RecordBatch]]:
        def work(left_out: frozenset[str]) -> tuple[pa.Table, list[pa.RecordBatch]]:
            return _scored(request.without(left_out), workload, overviews, progress, names)

        if len(names) != 1:
            # What fails then is worked on table by table.
            return work(frozenset(known))
        result, not_used[names[0]] = without_faulty(known, work)
        return result

    by_tables = table_by_table(tables, scored)
    votes = pa.concat_tables(each for each, _ in by_tables.results)
    sampled = [batch for _, batches in by_tables.results for batch in batches]
    sizes = _index_sizes(found, sampled)
    warnings += computed_filters_warning(tables, partial(_shapes_of, workload))
    return ScoredTables(
        tables, workload, overviews, votes, sizes, tuple(warnings), leaves, by_tables.failures, not_used
    )


def _scored(
    request: TuneRequest,
    workload: Mapping[str, Sequence[ShapeWorkload]],
    overviews: Mapping[str, TableOverview],
    progress: Progress,
    names: Sequence[str],
) -> tuple[pa.Table, list[pa.RecordBatch]]:
    of_names = {name: overviews[name] for name in names if name in overviews}
    plans = table_plans(of_names, partial(_shapes_of, workload), request.families, request.settings)
    if request.only is not None:
        plans = {table: plan.with_only(request.only) for table, plan in plans.items()}
    engine = LocalEngine(partial(progress, "simulating"))
    samples, decoded = _samples(request, plans)
    votes = planned_votes(engine, plans, samples, decoded, request.settings).gather("votes", _MAX_VOTES)
    return votes, _sampled_sizes(plans, samples, decoded, progress)


def _guessed(request: TuneRequest, progress: Progress) -> TuneAnswer:
    found, known = without_faulty(request.not_used, partial(_facts, request, None, progress))
    unknown = unknown_weights(request.column_weights, found.overviews)

    def advised(table: str, left_out: frozenset[str]) -> TableAdvice:
        of_table = request.without(left_out)
        overview = found.overviews[table]
        plans = table_plans({table: overview}, partial(_shapes_of, {}), of_table.families, request.settings)
        sizes = _index_sizes(found, _sampled_sizes(plans, *_samples(of_table, plans), progress))
        advice = advice_without_log(
            overview,
            request.column_weights,
            of_table.families,
            request.settings,
            size_bytes=sizes_of(sizes.filter(pc.equal(sizes["table"], table))),
        )
        write_out(advice, of_table.families, request.configs.get(table, ()))
        return advice

    advice, failures = _each_alone(found.overviews, advised, dict.fromkeys(found.overviews, known))
    return TuneAnswer(advice, (*found.warnings, *unknown), failures)


def _facts(
    request: TuneRequest, in_log: Sequence[str] | None, progress: Progress, left_out: frozenset[str]
) -> FoundFacts:
    return request.without(left_out).source.facts(request.tables, in_log, progress)


def _samples(
    request: TuneRequest, plans: Mapping[str, TablePlan]
) -> tuple[list[SampledSegment] | None, DecodedSource]:
    """Return the segments to simulate on, None if there is packed metadata alone, and their source."""
    decoded = decoded_now(decoding(request.settings, request.families.known))
    if not request.segments_root:
        return None, decoded
    source = partial(listed_segments, request.segments_root)
    return choose_segments(LocalEngine(), plans, source, request.settings), decoded


def _sampled_sizes(
    plans: Mapping[str, TablePlan],
    samples: Sequence[SampledSegment] | None,
    decoded: DecodedSource,
    progress: Progress,
) -> list[pa.RecordBatch]:
    engine = LocalEngine(partial(progress, "sizing"))
    return list(sampled_index_sizes(engine, plans, samples or (), decoded).to_batches())


def _index_sizes(found: FoundFacts, sampled: Sequence[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(merge_index_sizes([*found.index_sizes, *sampled]), INDEX_SIZES)


def _shapes_of(workload: Mapping[str, Sequence[ShapeWorkload]], table: str) -> Sequence[ShapeWorkload]:
    return workload.get(table, ())


def _workload(
    request: TuneRequest, hybrids: frozenset[str], progress: Progress
) -> tuple[dict[str, list[ShapeWorkload]], FoundFacts, Mapping[str, str], Mapping[str, int], list[str]]:
    """Return the shapes by table, the facts of the tables, whose names resolve the shapes', and more.

    The third are the families that failed in reading the facts, each with its fault.
    """
    settings = request.settings
    formats, field = module_names(settings.log.formats), settings.log.message_field
    splits = log_splits(log_files(request.log_paths), settings.log.split_bytes, field, formats)
    rejected = RejectedRecords()
    sampling: list[SamplingSummary] = []
    lengths: dict[str, TextLengths] = {}
    # Rows and columns need no family.
    source = replace(request.source, families=FamilyChoice())
    halves = HybridRecords(hybrids, FoundSizes(source, lambda _, items: items).get)
    leaf_records = LeafRecords(halves.whole_size, {*request.source.tables(), *hybrids})
    leaves: Counter[str] = Counter()
    read = progress("reading the log", splits)
    queries = _queries(read, request.tables, rejected, sampling, lengths, leaf_records, halves, leaves)
    workload: dict[str, list[ShapeWorkload]] = {}
    with SpooledBatches(queries, _KEYED_QUERIES) as spooled:
        rows = LocalRows(partial(iter, spooled), _KEYED_QUERIES)
        busy = busy_keys(rows, settings.workload.max_shapes_per_table)
        logged = sorted({name for batch in spooled for name in pc.unique(batch.column("table")).to_pylist()})
        found, faults = without_faulty(
            request.not_used, partial(_facts, request, request.tables or logged, progress)
        )
        names = known_names(found.overviews, settings.scoring.pinot_version)
        booleans = {name for overview in found.overviews.values() for name in overview.booleans}
        cut = cut_lengths(settings.log.query_text_length, lengths.values(), booleans)
        instances = settings.workload.instances_per_shape
        counted = count_shapes(
            spooled, instances_per_shape=instances, busy=busy, cut_lengths=cut, names=names
        )
        folded = fold_shapes(counted, max_shapes=settings.workload.max_shapes_per_table)
        weights = query_weights(settings.workload.query_weights)
        for batch in weighted_shapes(folded, weights, names):
            for shape in workload_shapes(batch):
                workload.setdefault(shape.table, []).append(shape)
    sampled = sum(sampling, start=SamplingSummary())
    warnings = [sampled.words] if sampled.dropped_lines else []
    of_log = rejected.warnings(settings.gates.max_not_understood_ratio)
    return workload, found, faults, leaves, [*warnings, *cut_words(cut), *left_out_words(busy), *of_log]


def _queries(
    splits: Iterable[LogSplit],
    tables: Sequence[str],
    rejected: RejectedRecords,
    sampling: list[SamplingSummary],
    lengths: dict[str, TextLengths],
    leaf_records: LeafRecords,
    halves: HybridRecords,
    leaves: Counter[str],
) -> Iterator[pa.RecordBatch]:
    """Yield the queries of the tables with their keys, and count rejected and dropped records."""
    for split in splits:
        for batch in map(with_greatest_lengths, parse_split(split)):
            rejected.add(split.path, batch)
            sampling[:] = [sum(sampling, start=sampling_summary(batch))]
            lengths[split.path] = lengths.get(split.path, TextLengths()) + text_lengths(batch)
            whole = leaf_records.shared(batch.filter(pc.equal(batch.column("kind"), "query")))
            queries = halves.of_halves(whole)
            if tables:
                queries = queries.filter(pc.is_in(queries.column("table"), value_set=pa.array(tables)))
            leaves.update(leaves_by_table(queries))
            yield with_keys(queries.select(QUERY_COLUMNS))
