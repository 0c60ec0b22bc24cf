"""Stage score_votes: ``queries`` and ``table_facts`` to ``workload`` and ``votes``.

Source: Automated Inverted Index Recommendation, II.2-3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.cost.computed_filters import computed_filters_warning
from starskip.advisor.cost.decoded_segments import DecodedSource, decoding
from starskip.advisor.cost.index_sizes import merge_index_sizes, metadata_sizes
from starskip.advisor.cost.kept_windows import WINDOWS, kept_windows
from starskip.advisor.cost.planned_votes import TablePlan, choose_segments, planned_votes, table_plans
from starskip.advisor.cost.read_overviews import overviews_of_sums, sound_overviews, sum_facts
from starskip.advisor.cost.sampled_index_sizes import sampled_index_sizes
from starskip.advisor.cost.sampled_segments import SampledSegment, published_segments
from starskip.advisor.families.families import families_of_night
from starskip.advisor.families.family import Family
from starskip.advisor.families.family_faults import NOT_USED, fault_warnings, without_faulty
from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.gate import mapping_of
from starskip.advisor.run.gate_verdicts import usable_tables
from starskip.advisor.run.night import Night, StageResult
from starskip.advisor.run.table_by_table import failed_parts, failure_warnings, table_by_table
from starskip.advisor.workload.busy_keys import busy_keys, left_out_words
from starskip.advisor.workload.count_shapes import QUERY_COLUMNS, count_shapes, merge_shapes
from starskip.advisor.workload.cut_texts import CUT_LENGTHS
from starskip.advisor.workload.fold_shapes import fold_shapes
from starskip.advisor.workload.key_sums import KEYED_BY, BusyKeys
from starskip.advisor.workload.known_names import known_names
from starskip.advisor.workload.query_weights import query_weights, weighted_shapes
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_shapes
from starskip.errors import StorageError, StorageOutage
from starskip.execution.engine import Engine, Rows
from starskip.execution.gather_aside import gather_messages
from starskip.pinot.index_sizes.index_format import IndexFormat, index_format
from starskip.storage.artefact_store import CURRENT
from starskip.storage.commit_messages import COMMIT_MESSAGES, parts_of, write_tables
from starskip.storage.manifest import Part
from starskip.storage.schemas import COLUMN_SUMS, INDEX_SIZES, WORKLOAD
from starskip.storage.snapshot import Snapshot


def score_votes(engine: Engine, night: Night) -> StageResult:
    """Publish ``workload``, ``index_sizes`` and ``votes`` of the night's tables.

    The executors write the workload, read back the shapes of the table whose segments they simulate, and
    write the votes. A failure on one table does not affect the others.
    """
    facts = set(usable_tables(night, "table_facts", "score_votes"))
    tables = [table for table in usable_tables(night, "queries", "score_votes") if table in facts]
    busy: dict[str, BusyKeys] = {}
    sums: dict[str, pa.Table] = {}
    counted = table_by_table(tables, partial(_workload_parts, engine, night, busy, sums))
    night.publish("workload", _together(counted.results))
    workload = published(night, "workload")
    left = counted.left_of(tables)
    faults: dict[str, Mapping[str, str]] = {}
    scored = table_by_table(left, partial(_soundly_scored, engine, night, workload, sums, faults))
    sizes, votes = (_together([both[number] for both in scored.results]) for number in (0, 1))
    failures = counted.failures | scored.failures
    night.publish("index_sizes", sizes)
    night.publish("votes", {**votes, **failed_parts(failures)})
    counts = {
        "tables": len(tables),
        "shapes": _row_count(_together(counted.results)),
        "votes": _row_count(votes),
    }
    of_families = [each for table in sorted(faults) for each in fault_warnings(faults[table], [table])]
    failed = failure_warnings("score_votes", failures)
    computed = computed_filters_warning(votes, partial(published_shapes, workload))
    return StageResult(counts, (*left_out_words(busy), *computed, *of_families, *failed))


def _soundly_scored(
    engine: Engine,
    night: Night,
    workload: Snapshot,
    sums: Mapping[str, pa.Table],
    all_faults: dict[str, Mapping[str, str]],
    tables: Sequence[str],
) -> tuple[Mapping[str, Part], Mapping[str, Part]]:
    """Return the parts of ``_scored``, of a single table without families that fail in it."""
    if len(tables) != 1:
        # What fails then is worked on table by table.
        return _scored(engine, night, workload, sums, tables)
    (sizes, votes), faults = without_faulty(
        {}, lambda names: _scored(engine, night.without_families(names), workload, sums, tables)
    )
    if not faults:
        return sizes, votes
    all_faults[tables[0]] = faults
    return sizes, {table: Part(part.files, {NOT_USED: faults}) for table, part in votes.items()}


def _scored(
    engine: Engine,
    night: Night,
    workload: Snapshot,
    sums: Mapping[str, pa.Table],
    tables: Sequence[str],
) -> tuple[Mapping[str, Part], Mapping[str, Part]]:
    """Return the parts of ``index_sizes`` and of ``votes``; ``sums``: those of the facts, by table."""
    of_tables = pa.concat_tables([COLUMN_SUMS.empty_table(), *(sums[table] for table in tables)])
    overviews = overviews_of_sums(night, of_tables)
    plans = table_plans(
        overviews, partial(published_shapes, workload), families_of_night(night), night.settings
    )
    facts = published(night, "table_facts")
    samples = choose_segments(engine, plans, partial(published_segments, facts), night.settings)
    decoded = _decoded(engine, night, plans, samples)
    sizes = _written(
        engine,
        night,
        "index_sizes",
        _index_sizes(engine, night, facts, plans, samples, decoded, tables),
        tables,
    )
    sampled = samples if night.segments_root else None
    votes = planned_votes(engine, plans, sampled, decoded, night.settings)
    return sizes, _written(engine, night, "votes", votes, tables)


def _decoded_columns(plans: Mapping[str, TablePlan], table: str) -> Sequence[str]:
    return plans[table].decoded_columns()


def _decoded(
    engine: Engine, night: Night, plans: Mapping[str, TablePlan], samples: Sequence[SampledSegment]
) -> DecodedSource:
    """Decode the samples that no earlier night has decoded, and keep them for later nights."""
    what = decoding(night.settings, families_of_night(night).known)
    try:
        former = night.store.snapshot(WINDOWS, CURRENT)
    except StorageOutage:
        raise
    except StorageError:
        former = None  # what it held is decoded again
    parts, decoded = kept_windows(
        engine,
        former,
        night.store.staged_write(WINDOWS, CURRENT),
        samples,
        partial(_decoded_columns, plans),
        what,
    )
    if not night.is_experiment:
        night.store.publish(
            WINDOWS,
            CURRENT,
            parts,
            replace="tables",
            created_at=night.started_at,
            created_by=night.run_id,
        )
    return decoded


def published_shapes(workload: Snapshot, table: str) -> tuple[ShapeWorkload, ...]:
    """Return the shapes of ``table`` from the published workload."""
    return tuple(workload_shapes(workload.read_table([table])))


def _busy_keys(engine: Engine, night: Night, tables: Sequence[str]) -> dict[str, BusyKeys]:
    """Return the keys of tables with too many of them; a table with few queries has few."""
    snapshot = published(night, "queries")
    most = night.settings.workload.max_shapes_per_table
    queries = {table: part.rows for table, part in snapshot.parts(tables).items()}
    large = [table for table, rows in queries.items() if rows > most]
    if not large:
        return {}
    return busy_keys(engine.rows_of_snapshot(snapshot, large, KEYED_BY), most)


def _workload_parts(
    engine: Engine,
    night: Night,
    all_busy: dict[str, BusyKeys],
    all_sums: dict[str, pa.Table],
    tables: Sequence[str],
) -> Mapping[str, Part]:
    """Return the parts of ``workload``; add the tables' busy keys to ``all_busy``, sums to ``all_sums``."""
    snapshot = published(night, "queries")
    settings = night.settings
    busy = _busy_keys(engine, night, tables)
    all_busy.update(busy)
    sums = sum_facts(engine, night, tables)
    all_sums.update({table: sums.filter(pc.equal(sums["table"], table)) for table in tables})
    names = known_names(sound_overviews(night, sums), settings.scoring.pinot_version)
    count = partial(
        count_shapes,
        instances_per_shape=settings.workload.instances_per_shape,
        busy=busy,
        cut_lengths=_cut_lengths(snapshot, tables),
        names=names,
    )
    merge = partial(
        _merge_and_fold, settings.workload.instances_per_shape, settings.workload.max_shapes_per_table
    )
    fold = partial(fold_shapes, max_shapes=settings.workload.max_shapes_per_table)
    counted = engine.rows_of_snapshot(snapshot, tables, QUERY_COLUMNS).map(count, WORKLOAD)
    merged = counted.merge(["table", "shape_id"], merge, WORKLOAD).merge(["table"], fold, WORKLOAD)
    if settings.workload.query_weights:
        weights = query_weights(settings.workload.query_weights)
        merged = merged.map(partial(weighted_shapes, weights=weights, names=names), WORKLOAD)
    return _written(engine, night, "workload", merged, tables)


def _cut_lengths(snapshot: Snapshot, tables: Sequence[str]) -> frozenset[int]:
    """Return the lengths at which brokers cut the texts of the tables' queries."""
    logs = (mapping_of(part.properties.get("log")) for part in snapshot.parts(tables).values())
    return frozenset(length for log in logs for length in log.get(CUT_LENGTHS, ()))


def _index_sizes(
    engine: Engine,
    night: Night,
    facts: Snapshot,
    plans: Mapping[str, TablePlan],
    samples: Sequence[SampledSegment],
    decoded: DecodedSource,
    tables: Sequence[str],
) -> Rows:
    sampled = sampled_index_sizes(engine, plans, samples, decoded)
    of_metadata = partial(
        _metadata_sizes, index_format(night.settings.scoring.pinot_version), families_of_night(night).known
    )
    rows = engine.rows_of_snapshot(facts, tables).map(of_metadata, INDEX_SIZES)
    return rows.merge(["table"], partial(_with_samples, sampled), INDEX_SIZES)


def _metadata_sizes(
    index_format: IndexFormat, families: Sequence[Family], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield from merge_index_sizes(metadata_sizes(batch, index_format, families) for batch in batches)


def _with_samples(sampled: pa.Table, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = pa.Table.from_batches(batches, INDEX_SIZES)
    here = sampled.filter(pc.is_in(sampled["table"], value_set=rows["table"].unique()))
    yield from merge_index_sizes([*rows.to_batches(), *here.to_batches()])


def _merge_and_fold(
    instances_per_shape: int, max_shapes: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield from fold_shapes(
        merge_shapes(batches, instances_per_shape=instances_per_shape), max_shapes=max_shapes
    )


def _written(
    engine: Engine, night: Night, artefact: str, rows: Rows, tables: Sequence[str]
) -> Mapping[str, Part]:
    """Write rows where they are and return a part for each table."""
    staged = night.store.staged_write(artefact, night.date_text)
    messages = gather_messages(
        engine, rows.map(partial(write_tables, staged), COMMIT_MESSAGES), [staged], artefact
    )
    written = parts_of(messages, artefact)
    return {table: written.get(table, Part(())) for table in tables}


def _together(parts: Iterable[Mapping[str, Part]]) -> dict[str, Part]:
    return {table: part for each in parts for table, part in each.items()}


def _row_count(parts: Mapping[str, Part]) -> int:
    return sum(part.rows for part in parts.values())
