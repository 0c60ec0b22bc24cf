"""Measure the savings of candidates for skipping indexes on one table, for the one choice."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.families.file_indexes.file_advice import choice_limits
from starskip.advisor.families.file_indexes.judge_choice import FileIndexTask
from starskip.advisor.families.file_indexes.own_statistics import (
    OwnStatistics,
    format_with_statistics,
    is_of_own_statistics,
    own_statistics,
)
from starskip.advisor.families.file_indexes.skip_patterns import skip_patterns
from starskip.advisor.families.index import Index
from starskip.advisor.families.lake_workload import LakeWorkload
from starskip.advisor.families.metadata_build import tidy_metadata
from starskip.advisor.families.skipping.advice.advice_rows import SkippingAdvice, advise_skipping
from starskip.advisor.families.skipping.advice.measured_benefit import (
    CountedRows,
    counted_rows,
    index_sizes,
    query_skips,
)
from starskip.advisor.families.skipping.advice.measured_candidates import skipping_candidates
from starskip.advisor.families.skipping.choice.column_uses import column_uses
from starskip.advisor.families.skipping.choice.workload_gap_list import WorkloadGapList
from starskip.advisor.families.skipping.settings import SKIPPING_NAME, SkippingSettings
from starskip.advisor.run.night import Night
from starskip.advisor.workload.lake_queries import LakeQuery
from starskip.file_metadata.open_metadata import open_metadata
from starskip.file_metadata.skipping_engine import SkippingEngine
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.lake.lake_table import LakeTable
from starskip.predicates.data_types import ORDERED, family_of
from starskip.skipping.user_functions import implications
from starskip.storage.local_storage import LocalStorage

CANDIDATES = "skipping_candidates"
"""Folder in the artefact store for the metadata that candidates are measured by."""
MAX_COUNTED = 200
"""Predicates whose matching rows are counted in one pass; the heaviest of each shape first."""
_SAMPLED_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """Metadata of all candidates, the measurements by it, and the task of the choice."""

    table: str
    workload: LakeWorkload
    metadata: TableMetadata
    counted: CountedRows
    sample: Mapping[str, pa.Array]
    task: FileIndexTask
    faults: Mapping[str, str]
    covered: Mapping[str, str]
    own: OwnStatistics | None

    def advice(self, chosen: Collection[Index], gap_ratio: float) -> SkippingAdvice:
        """Return the advice; ``chosen`` and ``gap_ratio`` come from the one choice."""
        return advise_skipping(
            self.table,
            self.workload,
            self.metadata,
            self.counted,
            self.sample,
            self.task.judged(chosen, gap_ratio),
            self.task.limits.budget_bytes,
            faults=self.faults,
            covered=self.covered,
            own=self.own,
        )


def measured_table(
    engine: SkippingEngine,
    night: Night,
    table: str,
    lake: LakeTable,
    workload: LakeWorkload,
    kept: Sequence[str],
) -> MeasuredTable | str:
    """Return the measurements, or why there is nothing to measure."""
    # First: a missing folder is reported before all other reasons.
    mean_file_bytes = engine.file_bytes(lake)
    if not workload.queries:
        return "the event logs hold no query of this table"
    root = f"{night.store.storage.place}/{CANDIDATES}"
    location = engine.location(lake, root)
    fitted, judged = workload.fitted_and_judged()
    candidates = skipping_candidates(
        engine, lake, workload.queries, fitted.queries, kept, mean_file_bytes, night.skipping_modules
    )
    if not candidates.indexes:
        return "no query has a predicate that a skipping index serves"
    title = format_with_statistics(lake)
    covered = {
        index.specification: f"not used, because {title}'s own statistics skip these files already"
        for index in candidates.indexes
        if title is not None and is_of_own_statistics(index)
    }
    indexes = [each for each in candidates.indexes if each.specification not in covered]
    if not indexes:
        return f"{title}'s own statistics serve every predicate that a skipping index would"
    if isinstance(night.store.storage, LocalStorage):
        night.store.storage.shield(CANDIDATES)
    engine.refresh(lake, indexes, root)
    metadata = open_metadata(location)
    if metadata is None or not metadata.files:
        return "the table has no files"
    tidy_metadata(location, night)
    if any(isinstance(index, WorkloadGapList) for index in indexes):
        workload = judged
    settings = night.settings.of(SkippingSettings)
    counted = _counted(engine, lake, workload.queries, metadata, settings.sampled_files)
    columns = _ordered_columns(workload)
    relevant = counted.relevant(metadata.files)
    own = own_statistics(lake, metadata.paths)
    task = FileIndexTask(
        skip_patterns(query_skips(workload, metadata, relevant, own), metadata.sizes),
        dict(index_sizes(metadata)),
        choice_limits(night, float(metadata.sizes.sum()), settings.max_skipping_size_ratio),
        SKIPPING_NAME,
        kept,
        (metadata.total_rows or 0) / max(float(metadata.sizes.sum()), 1.0),
    )
    sample = engine.sample_values(lake, columns, _SAMPLED_ROWS) if columns else {}
    return MeasuredTable(table, workload, metadata, counted, sample, task, candidates.faults, covered, own)


def _counted(
    engine: SkippingEngine,
    lake: LakeTable,
    queries: Sequence[LakeQuery],
    metadata: TableMetadata,
    sampled_files: int,
) -> CountedRows:
    asked = _of_every_shape(queries, MAX_COUNTED)
    paths = None
    if metadata.files > sampled_files:
        # By path, which is often the order of arrival, so that the sample spans the table's life.
        spread = np.linspace(0, metadata.files - 1, sampled_files).astype(np.int64)
        ordered = pc.sort_indices(metadata.paths).take(pa.array(spread))
        paths = metadata.paths.take(ordered)
    matching = engine.matching_rows(lake, [queries[each].predicate for each in asked], paths)
    return counted_rows(asked, matching, metadata)


def _of_every_shape(queries: Sequence[LakeQuery], most: int) -> list[int]:
    """Return positions of queries: the first of each shape, then the second of each, and so on."""
    seen: dict[str, int] = {}
    ranked = []
    for position, query in enumerate(queries):
        seen[query.shape_id] = seen.get(query.shape_id, 0) + 1
        ranked.append((seen[query.shape_id], position))
    return [position for _, position in sorted(ranked)[:most]]


def _ordered_columns(workload: LakeWorkload) -> list[str]:
    predicates = [query.predicate for query in workload.queries]
    uses = column_uses(predicates, [query.weight for query in workload.queries], implications()).columns
    return [
        name
        for name, use in sorted(uses.items())
        if family_of(use.data_type) in ORDERED and (use.range or use.equality)
    ]
