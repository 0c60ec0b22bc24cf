"""Stage refresh_secondary_indexes: build the chosen ones of ``secondary_advice`` on lake tables; its gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

import pyarrow.compute as pc

from starskip.advisor.families.lake_builds import ChosenIndexes, LakeBuilds, TableBuild, publish_builds
from starskip.advisor.families.metadata_build import MOST_SEGMENTS, metadata_build
from starskip.advisor.families.metadata_gate import build_expectations, build_views
from starskip.advisor.run.expectations import Expectation, View, none
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night, StageResult
from starskip.errors import StorageError
from starskip.execution.engine import Engine
from starskip.file_metadata.metadata_files import joined
from starskip.file_metadata.open_metadata import read_metadata
from starskip.file_metadata.refresh_metadata import Refreshed
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.secondary.lifecycle import (
    ARTEFACT,
    create_indexes,
    delete_indexes,
    index_storage,
    optimize_indexes,
    refresh_indexes,
    vacuum_indexes,
)
from starskip.secondary.merge_cuts import RunFiles
from starskip.secondary.run_reader import paired
from starskip.secondary.secondary_index import Kind, secondary_index
from starskip.secondary.settings import SecondarySettings
from starskip.settings import Settings
from starskip.storage.storage_for import storage_for

ADVICE, BUILDS = "secondary_advice", "secondary_builds"


def refresh_secondary_indexes(engine: Engine, night: Night) -> StageResult:
    """Create, refresh and delete secondary indexes of the night's tables; publish ``secondary_builds``."""
    builds = LakeBuilds(
        "refresh_secondary_indexes",
        ADVICE,
        BUILDS,
        "secondary indexes",
        obstacle=str,
        build=partial(_built, engine),
    )
    return publish_builds(night, builds)


def _built(engine: Engine, of: ChosenIndexes) -> TableBuild:
    path, root = of.lake.path, of.night.skipping_root
    former = _metadata(path, root)
    active = _active(former)
    names = of.wanted(active)
    if former is not None:
        # Before tonight's changes: an index that this night deletes can be restored until the next one.
        _tidy(engine, path, root, of.night, former)
    if not names and not active:
        return TableBuild(properties={"note": of.note})
    unwanted = [name for name in active if name not in names]
    if unwanted:
        delete_indexes(path, unwanted, root=root)
    made = _refreshed(engine, of, names, [name for name in names if name not in active])
    metadata = _metadata(path, root)
    if metadata is None:
        place = index_storage(path, root).place
        raise StorageError(f"{place}: the metadata is gone since it was written", location=place)
    return metadata_build(of, metadata.storage.place, active, metadata, made)


def _refreshed(
    engine: Engine, of: ChosenIndexes, names: Sequence[str], new: Sequence[str]
) -> Refreshed | None:
    """Index new and changed files, and all files for new indexes; None if no index is left."""
    path, root = of.lake.path, of.night.skipping_root
    settings = of.night.settings.of(SecondarySettings)
    demanded = of.lake.listed_format
    if new:
        return create_indexes(path, new, root=root, file_format=demanded, settings=settings, engine=engine)
    if not names:
        return None
    return refresh_indexes(path, root=root, file_format=demanded, settings=settings, engine=engine)


def _metadata(path: str, root: str | None) -> TableMetadata | None:
    return read_metadata(index_storage(path, root), ARTEFACT, secondary_index)


def _active(metadata: TableMetadata | None) -> list[str]:
    """Return the present indexes, except the clustering key, which comes and goes with them."""
    names = metadata.state.active if metadata else ()
    return [name for name in names if secondary_index(name).kind_of_index is not Kind.PRIMARY]


def _tidy(engine: Engine, path: str, root: str | None, night: Night, metadata: TableMetadata) -> None:
    if len(metadata.segments) > MOST_SEGMENTS:
        optimize_indexes(path, root=root, engine=engine)
    vacuum_indexes(path, grace=timedelta(hours=night.settings.retention.vacuum_grace_hours), root=root)


def _views(night: Night, table: str) -> Mapping[str, View]:
    return build_views(night, table, BUILDS, _metadata_at, _entry_counts)


def _metadata_at(location: str) -> TableMetadata | None:
    return read_metadata(storage_for(location), ARTEFACT, secondary_index)


def _entry_counts(metadata: TableMetadata, index: str) -> Mapping[str, int]:
    """Compare the entries of each segment, as the bounds of blocks count them, with the rows of its files.

    Raises StorageError naming a run that is gone, or whose footers or bounds are damaged.
    """
    kind = secondary_index(index).kind_of_index
    missing = beside = 0
    for name, segment in metadata.segments.items():
        groups = segment.groups.get(index)
        if kind is Kind.PRIMARY or groups is None or not metadata.row_counts[name]:
            continue
        entries = 0
        for files in paired(groups):
            reader = RunFiles(*files).reader(metadata.storage)
            entries += int(reader.entries_of_each_block[: reader.row_groups].sum())
        at = metadata.row_slices[name]
        live_rows = pc.sum(metadata.rows[at], min_count=0).as_py()
        # Entries of deleted files stay until optimize removes them.
        all_rows = pc.sum(joined(metadata.store.read(segment.files, ["rows"]), "rows"), min_count=0).as_py()
        if kind is Kind.BTREE:
            missing += max(0, live_rows - entries)
        if kind is not Kind.NGRAM:
            beside += max(0, entries - all_rows)
    return {"rows_without_entry": missing, "entries_too_many": beside}


def _expectations(_: Settings) -> Sequence[Expectation]:
    indexes = "secondary indexes of {table}"
    return (
        *build_expectations(indexes),
        none("kept", "rows_without_entry", f"{indexes}: live rows without an entry"),
        none("kept", "entries_too_many", f"{indexes}: entries beyond one a row"),
    )


SECONDARY_GATE = Gate(_views, _expectations)
