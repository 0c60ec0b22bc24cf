"""Stage select_indexes, for secondary indexes: measure candidates for the one choice, publish its advice.

What Spark's rule leaves alone are files. A file of a query counts where neither the statistics of a Delta or
Iceberg table nor a candidate for skipping leave it alone: nothing counts twice, and an index is chosen for
what skipping cannot do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.execution.engine import Engine
from starskip.indexes.families import families_of_night
from starskip.indexes.file_skips import FileSkips
from starskip.indexes.index import Index
from starskip.indexes.measured import SparedFiles
from starskip.indexes.secondary.advice.candidate_indexes import candidate_indexes
from starskip.indexes.secondary.advice.sampled_table import IndexedSample, SampledTable, indexed_sample
from starskip.indexes.secondary.family import SECONDARY
from starskip.indexes.secondary.refresh_secondary_indexes import ADVICE
from starskip.indexes.secondary.settings import SecondarySettings
from starskip.indexes.secondary.surviving_files import surviving_files
from starskip.indexes.secondary.table_files import full_path, hadoop_path
from starskip.indexes.skipping.advice.lake_workload import LakeWorkload, lake_workload
from starskip.indexes.skipping.advice.own_statistics import OwnStatistics, own_statistics
from starskip.indexes.skipping.advice.publish_advice import last_choice
from starskip.indexes.skipping.choice.alternatives import Alternative, QuerySkips
from starskip.indexes.skipping.choice.index_choice import ChoiceLimits, IndexChoice
from starskip.indexes.skipping.choice.judge_choice import SkippingTask
from starskip.indexes.skipping.choice.skip_patterns import skip_patterns
from starskip.indexes.skipping.metadata.metadata_location import metadata_location
from starskip.indexes.skipping.workload.lake_queries import LakeQuery
from starskip.indexes.verdict import Reason, Verdict, refused
from starskip.lake.lake_table import LakeTable
from starskip.predicates.expression import Expression
from starskip.predicates.ordered_values import Mask
from starskip.run.night import Night
from starskip.run.table_by_table import failure_words, is_of_one_table, is_ours
from starskip.storage.lake_schemas import SECONDARY_ADVICE
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part
from starskip.storage.snapshot import SnapshotSource
from starskip.storage.storage_for import storage_for

CANDIDATES = "secondary_candidates"
"""Folder, in the store of the artefacts, of the entries that candidates are measured by."""
MAX_QUERIES = 500
"""Distinct predicates of a table that are measured, the heaviest; others count in the total only."""
_MOST_TOGETHER = 3


@dataclass(frozen=True, slots=True)
class SecondaryAdvice:
    """Rows of SECONDARY_ADVICE, and the properties of their part."""

    rows: Sequence[Mapping[str, Any]] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MeasuredSecondary:
    """Tells how much the secondary indexes of a table would save, before the choice.

    ``skips``: what the one choice takes, None where there is nothing to choose from. ``advise``: returns the
    advice; takes what was chosen and by how much another choice could be better.
    """

    skips: FileSkips | None
    advise: Callable[[Collection[Index], float], SecondaryAdvice]
    warnings: Sequence[str] = ()


def publish_secondary_advice(night: Night, advice: Mapping[str, SecondaryAdvice]) -> int:
    """Publish ``secondary_advice`` by table; return how many indexes are chosen."""
    aside = night.store.staged_write(ADVICE, night.date_text)
    parts = {
        table: Part(
            aside.write(table, pa.Table.from_pylist(list(each.rows), schema=SECONDARY_ADVICE)),
            dict(each.properties),
        )
        for table, each in advice.items()
    }
    night.publish(ADVICE, parts)
    return sum(row["verdict"] == "chosen" for each in advice.values() for row in each.rows)


def measured_secondary(
    engine: Engine, night: Night, table: str, snapshot_of: SnapshotSource, spared: SparedFiles
) -> MeasuredSecondary:
    """Measure the candidates of a table of the lake; what fails is the note of its advice.

    ``spared``: returns the files that candidates for skipping leave alone for a predicate. The indexes of a
    table without advice stay as they are.
    """
    lake = night.lake_tables.get(table)
    if lake is None:
        return _nothing("no lake table is configured")
    if not families_of_night(night).has(SECONDARY):
        return _nothing("secondary indexes are not among index_kinds")
    if not night.event_log_paths:
        return _nothing("no Spark event logs are configured (sources.spark_event_logs)")
    if lake.file_format not in ("parquet", "orc", "delta", "iceberg"):
        return _nothing(f"Spark uses no secondary indexes of {lake.file_format} files")
    workload = lake_workload(night, table, snapshot_of)
    if not workload.queries:
        return _nothing("the event logs hold no query of this table")
    try:
        return _measured(engine, night, table, lake, workload, snapshot_of, spared)
    except Exception as error:
        if not (is_ours(error) or is_of_one_table(error)):
            raise
        reason = failure_words(error)
        return _nothing(reason, (f"table {table}: no secondary indexes are advised: {reason}",))


def _nothing(note: str, warnings: Sequence[str] = ()) -> MeasuredSecondary:
    return MeasuredSecondary(None, lambda *_: SecondaryAdvice((), {"note": note}), warnings)


def _measured(
    engine: Engine,
    night: Night,
    table: str,
    lake: LakeTable,
    workload: LakeWorkload,
    snapshot_of: SnapshotSource,
    spared: SparedFiles,
) -> MeasuredSecondary:
    settings = night.settings.of(SecondarySettings)
    sampled = SampledTable(
        full_path(lake.path),
        lake.listed_format,
        engine=engine,
        settings=settings,
        most_files=settings.indexed_sample_files,
        most_bytes=settings.indexed_sample_bytes,
    )
    queries = workload.queries[:MAX_QUERIES]
    candidates = candidate_indexes(queries, sampled.schema.types())
    if not candidates.indexes:
        faults = (f"; {name}: {fault}" for name, fault in candidates.faults.items())
        return _nothing("no query asks anything that a secondary index serves" + "".join(faults))
    root = f"{night.store.storage.place}/{CANDIDATES}"
    if isinstance(night.store.storage, LocalStorage):
        night.store.storage.shield(CANDIDATES)
    storage = storage_for(metadata_location(hadoop_path(full_path(lake.path)), root))
    sample = indexed_sample(sampled, candidates.indexes, storage, night)
    metadata = sample.metadata
    if not metadata.files:
        return _nothing("the table has no files")
    rows = metadata.rows.fill_null(0).to_numpy(zero_copy_only=False)
    others = sum(each.weight for each in workload.queries[MAX_QUERIES:]) + workload.unweighed
    scale = sampled.bytes_ratio
    # Spark's planning reads the lists of the whole table.
    in_sample = replace(settings, planning_entries=max(1, int(settings.planning_entries / scale)))
    own = own_statistics(lake, metadata.paths)
    patterns = skip_patterns(_query_skips(queries, others, sample, spared, in_sample, own), rows)
    sizes: dict[str, int | None] = {
        index.specification: round(metadata.size_bytes(index.specification) * scale)
        for index in metadata.indexes
    }
    task = SkippingTask(
        patterns,
        sizes,
        _limits(night, float(metadata.sizes.sum()) * scale),
        last_choice(night, table, snapshot_of, ADVICE),
        scale,
        SECONDARY.name,
    )

    def advise(chosen: Collection[Index], gap_ratio: float) -> SecondaryAdvice:
        judged = task.judged(chosen, gap_ratio)
        faulty = [
            refused(Index(SECONDARY.name, name), Reason.CANNOT_BE, fault, None)
            for name, fault in candidates.faults.items()
        ]
        judged = replace(judged, refused=(*judged.refused, *faulty))
        return _advice(table, judged, sample, scale, task.limits.budget_bytes)

    return MeasuredSecondary(task.offer(), advise)


def _query_skips(
    queries: Sequence[LakeQuery],
    others: float,
    sample: IndexedSample,
    spared: SparedFiles,
    settings: SecondarySettings,
    own: OwnStatistics | None,
) -> Iterator[QuerySkips]:
    """Yield the sets of indexes that leave files of the sample alone, and last all other queries.

    The empty set leaves alone what the table's ``own`` statistics do.
    """
    paths = sample.metadata.paths
    for query in queries:
        already = spared(query.predicate, paths)
        sets = _alternatives(query.predicate, sample, already, settings)
        if own is not None:
            sets = (Alternative(frozenset(), own.read(query.predicate)), *sets)
        yield QuerySkips(query.shape_id, query.weight, sets)
    if others > 0:
        yield QuerySkips("others", others, ())


def _alternatives(
    predicate: Expression, sample: IndexedSample, already: Mask, settings: SecondarySettings
) -> tuple[Alternative, ...]:
    """Return each path, and sets of paths that leave alone what none of their parts does."""
    found = surviving_files(sample.metadata, [predicate], settings)
    numbers = range(len(found.names))
    together: list[tuple[int, ...]] = [
        each for size in range(1, _MOST_TOGETHER + 1) for each in combinations(numbers, size)
    ]
    alternatives: list[tuple[frozenset[int], Mask]] = []
    for paths in together:
        # What skipping leaves alone is no merit of these.
        read = found.files(paths) | already
        parts = [each for each in alternatives if each[0] < frozenset(paths)]
        beyond = ~read
        for _, of_part in parts:
            beyond &= of_part
        if len(paths) == 1 or bool(np.any(beyond)):
            alternatives.append((frozenset(paths), read))
    return tuple(
        Alternative(frozenset(name for each in paths for name in found.indexes[each]), read)
        for paths, read in alternatives
    )


def _limits(night: Night, table_bytes: float) -> ChoiceLimits:
    advice = night.settings.advice
    budget = int(table_bytes * night.settings.of(SecondarySettings).max_secondary_size_ratio)
    if advice.index_budget_bytes is not None:
        budget = min(budget, advice.index_budget_bytes)
    switch = min(advice.switch_gain_ratio, advice.min_gain_ratio)
    return ChoiceLimits(budget, advice.min_gain_ratio, switch)


def _advice(
    table: str, choice: IndexChoice, sample: IndexedSample, scale: float, budget_bytes: int | None
) -> SecondaryAdvice:
    files = sample.metadata.files
    ranked: list[tuple[Verdict, int | None]] = [(each, at) for at, each in enumerate(choice.chosen, start=1)]
    ranked += [(each, None) for each in choice.refused]
    indexes = len(sample.metadata.indexes)
    seconds = sample.seconds * scale * files / (indexes * sample.new_files) if sample.new_files else None
    rows = [
        {
            **each.to_row(rank),
            "table": table,
            "index": each.index.column,
            "files_sampled": files,
            "build_seconds": seconds,
        }
        for each, rank in ranked
    ]
    properties = {
        "note": None,
        "files_sampled": files,
        "total_rows": choice.total * scale,
        "saving_ratio": choice.saving_ratio,
        "size_bytes": choice.size_bytes,
        "budget_bytes": budget_bytes,
        "sentence": choice.sentence,
    }
    return SecondaryAdvice(rows, properties)
