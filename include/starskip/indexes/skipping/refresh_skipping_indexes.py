"""Stage refresh_skipping_indexes: chosen indexes of ``skipping_advice`` as metadata of lake tables.

Source: Extensible Data Skipping, II.

Built artefacts are current state: the metadata holds what the newest night chose; an older night, or a
backfill, leaves it alone. ``skipping_builds`` of the night tells what became of each index. Indexes that
somebody created by hand are refreshed and never taken away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa

from starskip.errors import StorageError, printable
from starskip.execution.engine import Engine
from starskip.indexes.skipping.advice.lake_workload import lake_workload
from starskip.indexes.skipping.advice.measured_candidates import serving_index
from starskip.indexes.skipping.advice.publish_advice import ADVICE
from starskip.indexes.skipping.advice.tidy_metadata import tidy_metadata
from starskip.indexes.skipping.metadata.open_metadata import open_metadata
from starskip.indexes.skipping.metadata.refresh_metadata import Refreshed
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.indexes.skipping.skipping_engine import SkippingEngine, skipping_engine
from starskip.lake.lake_table import LakeTable
from starskip.run.gate_verdicts import usable_tables
from starskip.run.night import Night, StageResult
from starskip.run.plugin_errors import plugin_errors
from starskip.run.table_by_table import failure_words, is_of_one_table, is_ours
from starskip.run.withheld_builds import withheld_builds
from starskip.storage.lake_schemas import SKIPPING_BUILDS
from starskip.storage.manifest import Part
from starskip.storage.snapshot import Snapshot, SnapshotSource

BUILDS = "skipping_builds"
CREATED, REFRESHED, UNCHANGED = "created", "refreshed", "unchanged"
KEPT = frozenset({CREATED, REFRESHED, UNCHANGED})
"""Outcomes of indexes that there are and that nights look after."""
BY_HAND, DELETED, FAILED, NOT_BUILT = "by_hand", "deleted", "failed", "not_built"
"""The others; those made by hand are refreshed, too."""


@dataclass(frozen=True, slots=True)
class TableBuild:
    """Rows of SKIPPING_BUILDS of one table, and the properties of their part."""

    rows: Sequence[dict[str, Any]] = ()
    properties: dict[str, Any] = field(default_factory=dict)


def refresh_skipping_indexes(engine: Engine, night: Night) -> StageResult:
    """Create, refresh and delete skipping indexes of the night's tables; publish ``skipping_builds``.

    A table whose metadata cannot be written keeps what it has; why is in its rows.
    """
    tables = usable_tables(night, ADVICE, "refresh_skipping_indexes")
    withheld = withheld_builds(night, ADVICE)
    snapshot_of = cache(night.store.snapshot)
    aside = night.store.staged_write(BUILDS, night.date_text)
    parts: dict[str, Part] = {}
    counts = dict.fromkeys((CREATED, REFRESHED, UNCHANGED, BY_HAND, DELETED, FAILED, NOT_BUILT), 0)
    warnings = []
    for table in tables:
        build = _table_build(engine, night, table, withheld, snapshot_of)
        for row in build.rows:
            counts[row["outcome"]] += 1
        failures = dict.fromkeys(row["detail"] for row in build.rows if row["outcome"] == FAILED)
        warnings += [printable(f"table {table}: skipping indexes not built: {each}") for each in failures]
        rows = pa.Table.from_pylist(list(build.rows), schema=SKIPPING_BUILDS)
        parts[table] = Part(aside.write(table, rows), build.properties)
    night.publish(BUILDS, parts)
    return StageResult({"tables": len(tables), **counts}, tuple(warnings))


def _table_build(
    engine: Engine, night: Night, table: str, withheld: str, snapshot_of: SnapshotSource
) -> TableBuild:
    advised = snapshot_of(ADVICE, night.date_text)
    assert advised is not None
    note = advised.parts([table])[table].properties.get("note")
    chosen = _chosen(advised, table)
    lake, of_lake = night.lake_tables.get(table), skipping_engine(engine)
    if lake is None or (of_lake is None and not chosen):
        return TableBuild(properties={"note": note})
    if of_lake is None:
        withheld = "skipping indexes are built on Spark alone"
    if withheld or of_lake is None:
        return TableBuild(_unbuilt(table, chosen, NOT_BUILT, withheld), {"note": withheld})
    try:
        with plugin_errors(night):
            return _built(of_lake, night, table, lake, chosen, note, snapshot_of)
    except Exception as error:
        if not (is_ours(error) or is_of_one_table(error)):
            raise
        reason = failure_words(error)
        return TableBuild(_unbuilt(table, chosen, FAILED, reason), {"note": reason})


def _chosen(advised: Snapshot, table: str) -> dict[str, int]:
    """Return the chosen indexes, best first, with the sizes that were measured."""
    rows = advised.read_table([table]).to_pylist()
    chosen = sorted((row for row in rows if row["verdict"] == "chosen"), key=lambda row: row["rank"])
    return {row["index"]: row["size_bytes"] for row in chosen}


def _unbuilt(table: str, chosen: dict[str, int], outcome: str, detail: str) -> list[dict[str, Any]]:
    return [
        {"table": table, "index": index, "outcome": outcome, "detail": detail, "estimated_bytes": size}
        for index, size in chosen.items()
    ]


def _built(
    engine: SkippingEngine,
    night: Night,
    table: str,
    lake: LakeTable,
    chosen: dict[str, int],
    note: str | None,
    snapshot_of: SnapshotSource,
) -> TableBuild:
    location = engine.location(lake, night.skipping_root)
    former = open_metadata(location)
    active = list(former.state.active) if former else []
    own = _own(night, table, snapshot_of)
    # A day without advice must not take away what queries skip by.
    kept = [name for name in active if name not in own or note is not None]
    names = list(dict.fromkeys([*chosen, *kept]))
    if former is not None:
        # Before tonight's changes: what this night deletes can be restored until the next one.
        tidy_metadata(location, night)
    if not names and not active:
        return TableBuild(properties={"note": note})
    queries = lake_workload(night, table, snapshot_of).queries
    made = engine.refresh(lake, [serving_index(name, queries) for name in names], night.skipping_root)
    metadata = open_metadata(location)
    if metadata is None:
        raise StorageError(f"{location}: the metadata is gone since it was written", location=location)
    by_hand = set(active) - own - chosen.keys()
    rows = [
        _row(table, name, _outcome(name, active, by_hand, made), metadata, chosen.get(name)) for name in names
    ]
    gone = [
        {"table": table, "index": name, "outcome": DELETED, "detail": "tonight's choice is without it"}
        for name in active
        if name not in names
    ]
    return TableBuild([*rows, *gone], _properties(location, metadata, made, note))


def _own(night: Night, table: str, snapshot_of: SnapshotSource) -> set[str]:
    """Return the indexes that an earlier run of a night made: the newest that looked after any tells."""
    for run_date in reversed([d for d in night.store.run_dates(BUILDS) if d <= night.date_text]):
        snapshot = snapshot_of(BUILDS, run_date)
        if snapshot is None or table not in snapshot.tables:
            continue
        rows = snapshot.read_table([table], ["index", "outcome"]).to_pylist()
        if any(row["outcome"] in (*KEPT, DELETED, BY_HAND) for row in rows):
            return {row["index"] for row in rows if row["outcome"] in KEPT}
    return set()


def _outcome(name: str, active: Sequence[str], by_hand: set[str], made: Refreshed) -> str:
    if name not in active:
        return CREATED
    if name in by_hand:
        return BY_HAND
    return REFRESHED if made.collected_files or made.gone_files else UNCHANGED


def _row(
    table: str, name: str, outcome: str, metadata: TableMetadata, estimated_bytes: int | None
) -> dict[str, Any]:
    return {
        "table": table,
        "index": name,
        "outcome": outcome,
        "files": metadata.files,
        "files_known": metadata.files_known(name),
        "size_bytes": metadata.size_bytes(name),
        "estimated_bytes": estimated_bytes,
    }


def _properties(location: str, metadata: TableMetadata, made: Refreshed, note: str | None) -> dict[str, Any]:
    files = [file for segment in metadata.segments.values() for file in segment.to_part().files]
    return {
        "note": note,
        "location": location,
        "version": metadata.version,
        "files": metadata.files,
        "rows": metadata.total_rows,
        "metadata_bytes": sum(file.size_bytes for file in files),
        "files_read": made.collected_files,
        "files_gone": made.gone_files,
    }
