"""Stage select_indexes, for secondary indexes: measure candidates for the one choice, publish its advice.

Spark's rule skips whole files. A file of a query counts only if neither the statistics of a Delta or Iceberg
table nor a candidate for skipping skip it: nothing counts twice, and an index is chosen for what skipping
cannot do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from starskip.advisor.families.file_indexes.alternatives import Alternative, QuerySkips
from starskip.advisor.families.file_indexes.file_advice import (
    choice_limits,
    last_choice,
    measured_or_note,
    publish_rows,
)
from starskip.advisor.families.file_indexes.index_choice import IndexChoice
from starskip.advisor.families.file_indexes.judge_choice import FileIndexTask
from starskip.advisor.families.file_indexes.own_statistics import OwnStatistics, own_statistics
from starskip.advisor.families.file_indexes.skip_patterns import skip_patterns
from starskip.advisor.families.index import Index
from starskip.advisor.families.lake_workload import lake_workload
from starskip.advisor.families.measured import Measured, MeasuredAdvice, SkippedFiles
from starskip.advisor.families.secondary.advice.sampled_table import (
    IndexedSample,
    SampledTable,
    indexed_sample,
)
from starskip.advisor.families.secondary.advice.secondary_candidates import secondary_candidates
from starskip.advisor.families.secondary.refresh_secondary_indexes import ADVICE
from starskip.advisor.families.verdict import Reason, Verdict, refused
from starskip.advisor.run.night import Night
from starskip.advisor.workload.lake_queries import LakeQuery
from starskip.execution.engine import Engine
from starskip.file_metadata.metadata_location import metadata_location
from starskip.lake.lake_table import LakeTable
from starskip.predicates.expression import Expression
from starskip.predicates.ordered_values import Mask
from starskip.secondary.settings import SECONDARY_NAME, SecondarySettings
from starskip.secondary.surviving_files import surviving_files
from starskip.secondary.table_files import full_path, hadoop_path, why_not_indexed
from starskip.storage.lake_schemas import SECONDARY_ADVICE
from starskip.storage.local_storage import LocalStorage
from starskip.storage.storage_for import storage_for

CANDIDATES = "secondary_candidates"
"""Folder in the artefact store for the entries that candidates are measured by."""
MAX_QUERIES = 500
"""Distinct predicates of a table that are measured, the heaviest; others count in the total only."""
_MOST_TOGETHER = 3


@dataclass(frozen=True, slots=True)
class SecondaryAdvice:
    """Rows of SECONDARY_ADVICE, and the properties of their part."""

    rows: Sequence[Mapping[str, Any]] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)


def publish_secondary_advice(night: Night, advice: Mapping[str, SecondaryAdvice]) -> int:
    """Publish ``secondary_advice`` by table; return how many indexes are chosen."""
    rows = {table: (each.rows, each.properties) for table, each in advice.items()}
    publish_rows(night, ADVICE, SECONDARY_ADVICE, rows)
    return sum(row["verdict"] == "chosen" for each in advice.values() for row in each.rows)


def measured_secondary(engine: Engine, night: Night, table: str, skipped: SkippedFiles) -> Measured:
    """Measure the candidates of a table of the lake; a failure becomes the note of its advice.

    ``skipped``: returns the files that candidates for skipping skip for a predicate. The indexes of a table
    without advice stay as they are.
    """

    def measure(lake: LakeTable) -> Measured | str:
        return _measured(engine, night, table, lake, skipped)

    def advice_of(note: str) -> SecondaryAdvice:
        return SecondaryAdvice((), {"note": note})

    return measured_or_note(night, table, SECONDARY_NAME, measure, advice_of)


def _measured(
    engine: Engine,
    night: Night,
    table: str,
    lake: LakeTable,
    skipped: SkippedFiles,
) -> Measured | str:
    why_not = why_not_indexed(lake.file_format)
    if why_not is not None:
        return why_not
    workload = lake_workload(night, table)
    if not workload.queries:
        return "the event logs hold no query of this table"
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
    candidates = secondary_candidates(queries, sampled.schema.types())
    if not candidates.indexes:
        faults = (f"; {name}: {fault}" for name, fault in candidates.faults.items())
        return "no query has a predicate that a secondary index serves" + "".join(faults)
    root = f"{night.store.storage.place}/{CANDIDATES}"
    if isinstance(night.store.storage, LocalStorage):
        night.store.storage.shield(CANDIDATES)
    storage = storage_for(metadata_location(hadoop_path(full_path(lake.path)), root))
    sample = indexed_sample(sampled, candidates.indexes, storage, night)
    metadata = sample.metadata
    if not metadata.files:
        return "the table has no files"
    rows = metadata.rows.fill_null(0).to_numpy(zero_copy_only=False)
    others = sum(each.weight for each in workload.queries[MAX_QUERIES:]) + workload.unweighed
    scale = sampled.bytes_ratio
    # Spark's planning reads the lists of the whole table.
    in_sample = replace(settings, planning_entries=max(1, int(settings.planning_entries / scale)))
    own = own_statistics(lake, metadata.paths)
    patterns = skip_patterns(_query_skips(queries, others, sample, skipped, in_sample, own), rows)
    sizes: dict[str, int | None] = {
        index.specification: round(metadata.size_bytes(index.specification) * scale)
        for index in metadata.indexes
    }
    task = FileIndexTask(
        patterns,
        sizes,
        choice_limits(night, float(metadata.sizes.sum()) * scale, settings.max_secondary_size_ratio),
        SECONDARY_NAME,
        last_choice(night, table, ADVICE),
        scale,
    )

    def advise(chosen: Collection[Index], gap_ratio: float) -> tuple[SecondaryAdvice, Sequence[str]]:
        judged = task.judged(chosen, gap_ratio)
        faulty = [
            refused(Index(SECONDARY_NAME, name), Reason.CANNOT_BE, fault, None)
            for name, fault in candidates.faults.items()
        ]
        judged = replace(judged, refused=(*judged.refused, *faulty))
        return _advice(table, judged, sample, scale, task.limits.budget_bytes), ()

    return Measured(task.offer(), advise)


def _query_skips(
    queries: Sequence[LakeQuery],
    others: float,
    sample: IndexedSample,
    skipped: SkippedFiles,
    settings: SecondarySettings,
    own: OwnStatistics | None,
) -> Iterator[QuerySkips]:
    """Yield for each query the sets of indexes that skip files of the sample, and last all other queries.

    The empty set skips the files that the table's ``own`` statistics skip.
    """
    paths = sample.metadata.paths
    for query in queries:
        already = skipped(query.predicate, paths)
        sets = _alternatives(query.predicate, sample, already, settings)
        if own is not None:
            sets = (Alternative(frozenset(), own.read(query.predicate)), *sets)
        yield QuerySkips(query.shape_id, query.weight, sets)
    if others > 0:
        yield QuerySkips("others", others, ())


def _alternatives(
    predicate: Expression, sample: IndexedSample, already: Mask, settings: SecondarySettings
) -> tuple[Alternative, ...]:
    """Return each path, and each set of paths that skips a file which none of its parts skips."""
    found = surviving_files(sample.metadata, [predicate], settings)
    numbers = range(len(found.names))
    together: list[tuple[int, ...]] = [
        each for size in range(1, _MOST_TOGETHER + 1) for each in combinations(numbers, size)
    ]
    alternatives: list[tuple[frozenset[int], Mask]] = []
    for paths in together:
        # Files that skipping skips are no merit of these.
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


MEASURED_SECONDARY = MeasuredAdvice(measured_secondary, publish_secondary_advice)
