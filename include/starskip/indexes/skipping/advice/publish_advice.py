"""Stage select_indexes, for lake tables: measure candidates, choose skipping indexes, publish the advice.

See "Extensible Data Skipping", IV-B. Candidates follow from the predicates of Spark's queries. Their metadata
is collected beside the artefacts, of new and changed files only, so benefit and size are measured and not
estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import StarskipError, StorageOutage, printable
from starskip.execution.engine import Engine
from starskip.indexes.families import families_of_night
from starskip.indexes.skipping.advice.advice_rows import SkippingAdvice, advise_skipping
from starskip.indexes.skipping.advice.lake_workload import LakeWorkload, lake_workload
from starskip.indexes.skipping.advice.measured_benefit import CountedRows, counted_rows
from starskip.indexes.skipping.advice.measured_candidates import skipping_candidates
from starskip.indexes.skipping.advice.tidy_metadata import tidy_metadata
from starskip.indexes.skipping.choice.column_uses import column_uses
from starskip.indexes.skipping.choice.index_choice import ChoiceLimits
from starskip.indexes.skipping.data_types import ORDERED, family_of
from starskip.indexes.skipping.family import SKIPPING
from starskip.indexes.skipping.index_types.gap_list import GapList
from starskip.indexes.skipping.metadata.open_metadata import open_metadata
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.indexes.skipping.settings import SkippingSettings
from starskip.indexes.skipping.skipping_engine import SkippingEngine, skipping_engine
from starskip.indexes.skipping.user_functions import implications
from starskip.indexes.skipping.workload.lake_queries import LakeQuery
from starskip.lake.lake_table import LakeTable
from starskip.run.night import ADVICE_NIGHTS, Night
from starskip.run.plugin_errors import plugin_errors
from starskip.run.table_by_table import failure_words, is_of_one_table, is_ours
from starskip.storage.lake_schemas import SKIPPING_ADVICE, SKIPPING_SHAPES
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part
from starskip.storage.snapshot import SnapshotSource

ADVICE = "skipping_advice"
SHAPES = "skipping_shapes"
CANDIDATES = "skipping_candidates"
"""Folder, in the store of the artefacts, of the metadata that candidates are measured by."""
MAX_COUNTED = 200
"""Predicates whose matching rows are counted in one pass; of each shape the heaviest first."""
_SAMPLED_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class SkippingCounts:
    """Counts and warnings for the log of the stage."""

    chosen: int = 0
    warnings: tuple[str, ...] = ()


def publish_skipping_advice(engine: Engine, night: Night, tables: Sequence[str]) -> SkippingCounts:
    """Publish the artefacts ``skipping_advice`` and ``skipping_shapes`` of ``tables``.

    If the advice of a table fails, its note is the reason, and its indexes stay as they are.
    """
    advised = night.store.staged_write(ADVICE, night.date_text)
    shapes = night.store.staged_write(SHAPES, night.date_text)
    snapshot_of = cache(night.store.snapshot)
    parts: dict[str, Part] = {}
    of_shapes: dict[str, Part] = {}
    warnings: list[str] = []
    chosen = 0
    for table in tables:
        advice, problems = _table_advice(engine, night, table, snapshot_of)
        warnings += problems
        chosen += sum(row["verdict"] == "chosen" for row in advice.advice)
        rows = pa.Table.from_pylist(list(advice.advice), schema=SKIPPING_ADVICE)
        parts[table] = Part(advised.write(table, rows), dict(advice.properties or {}))
        rows = pa.Table.from_pylist(list(advice.shapes), schema=SKIPPING_SHAPES)
        of_shapes[table] = Part(shapes.write(table, rows))
    night.publish(SHAPES, of_shapes)
    night.publish(ADVICE, parts)
    return SkippingCounts(chosen, tuple(warnings))


def _table_advice(
    engine: Engine, night: Night, table: str, snapshot_of: SnapshotSource
) -> tuple[SkippingAdvice, Sequence[str]]:
    lake = night.lake_tables.get(table)
    if lake is None:
        return _none("no lake table is configured"), ()
    if not families_of_night(night).has(SKIPPING):
        return _none("skipping indexes are not among index_kinds"), ()
    if not night.event_log_paths:
        return _none("no Spark event logs are configured (spark_event_logs)"), ()
    of_lake = skipping_engine(engine)
    if of_lake is None:
        return _none("skipping indexes are measured on Spark alone"), ()
    workload = lake_workload(night, table, snapshot_of)
    try:
        with plugin_errors(night):
            return _advised(of_lake, night, table, lake, workload, snapshot_of), workload.warnings
    except Exception as error:
        if not (is_ours(error) or is_of_one_table(error)):
            raise
        reason = failure_words(error)
        problem = printable(f"table {table}: no skipping indexes are advised: {reason}")
        return _none(reason), (*workload.warnings, problem)


def _none(note: str) -> SkippingAdvice:
    return SkippingAdvice(properties={"note": note})


def _advised(
    engine: SkippingEngine,
    night: Night,
    table: str,
    lake: LakeTable,
    workload: LakeWorkload,
    snapshot_of: SnapshotSource,
) -> SkippingAdvice:
    # First: a missing folder is reported before all other reasons.
    mean_file_bytes = engine.file_bytes(lake)
    if not workload.queries:
        return _none("the event logs hold no query of this table")
    kept = last_choice(night, table, snapshot_of)
    root = f"{night.store.storage.place}/{CANDIDATES}"
    location = engine.location(lake, root)
    fitted, judged = workload.fitted_and_judged()
    candidates = skipping_candidates(
        engine, lake, workload.queries, fitted.queries, kept, mean_file_bytes, night.skipping_modules
    )
    if not candidates.indexes:
        return _none("no query asks anything that a skipping index knows of")
    if isinstance(night.store.storage, LocalStorage):
        night.store.storage.shield(CANDIDATES)
    engine.refresh(lake, candidates.indexes, root)
    metadata = open_metadata(location)
    if metadata is None or not metadata.files:
        return _none("the table has no files")
    tidy_metadata(location, night)
    if any(isinstance(index, GapList) for index in candidates.indexes):
        workload = judged
    counted = _counted(
        engine, lake, workload.queries, metadata, night.settings.of(SkippingSettings).sampled_files
    )
    columns = _ordered_columns(workload)
    return advise_skipping(
        table,
        workload,
        metadata,
        counted,
        engine.sample_values(lake, columns, _SAMPLED_ROWS) if columns else {},
        _limits(night, metadata),
        kept=kept,
        faults=candidates.faults,
    )


def last_choice(night: Night, table: str, snapshot_of: SnapshotSource) -> list[str]:
    """Return the indexes that the newest advice before ``night`` chose, best first."""
    for age in range(1, ADVICE_NIGHTS):
        day = (night.run_date - timedelta(days=age)).isoformat()
        try:
            snapshot = snapshot_of(ADVICE, day)
            part = snapshot.parts([table]).get(table) if snapshot else None
            if snapshot is None or part is None or part.properties.get("note") is not None:
                continue
            rows = snapshot.read_table([table], ["verdict", "rank", "index"]).to_pylist()
        except StorageOutage:
            raise
        except StarskipError:
            continue  # damaged since: an older one, or none, does as well
        chosen = sorted((row for row in rows if row["verdict"] == "chosen"), key=lambda row: row["rank"])
        return [row["index"] for row in chosen]
    return []


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


def _limits(night: Night, metadata: TableMetadata) -> ChoiceLimits:
    settings = night.settings
    budget = int(float(metadata.sizes.sum()) * settings.of(SkippingSettings).max_skipping_size_ratio)
    if settings.advice.index_budget_bytes is not None:
        budget = min(budget, settings.advice.index_budget_bytes)
    return ChoiceLimits(
        budget_bytes=budget,
        min_gain_ratio=settings.advice.min_gain_ratio,
        switch_gain_ratio=min(settings.advice.switch_gain_ratio, settings.advice.min_gain_ratio),
    )
