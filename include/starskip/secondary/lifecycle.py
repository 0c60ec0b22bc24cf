"""Create, refresh, optimize, delete, vacuum and describe the secondary indexes of a table.

The lifecycle of skipping's metadata, manifests included, for another artefact: a segment of files keeps
sorted runs of entries instead of a row for each file.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from starskip.errors import ConfigError, SourceError, SourceOutage
from starskip.execution.engine import Engine
from starskip.execution.local_engine import LocalEngine
from starskip.file_metadata.change_indexes import change_indexes
from starskip.file_metadata.commit_refresh import new_commit
from starskip.file_metadata.describe_metadata import describe_metadata
from starskip.file_metadata.metadata_location import metadata_location
from starskip.file_metadata.metadata_storage import files_root
from starskip.file_metadata.open_metadata import existing_metadata, read_metadata
from starskip.file_metadata.optimize import optimize_metadata
from starskip.file_metadata.refresh_metadata import Clock, Refreshed, refresh_metadata
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.vacuum_metadata import vacuum_metadata
from starskip.lake.file_columns import require_same_names
from starskip.lake.parquet.parquet_footers import open_footer
from starskip.lake.table_folder import table_folder
from starskip.lake.table_snapshot import TableSnapshot
from starskip.predicates.column_name import column_name
from starskip.secondary.column_ids import require_same_columns
from starskip.secondary.merge_indexes import MergedIndexes
from starskip.secondary.secondary_index import Kind, SecondaryIndex, secondary_index
from starskip.secondary.settings import SecondarySettings
from starskip.secondary.table_files import full_path, hadoop_path, require_indexed_files
from starskip.secondary.table_schema import TableSchema
from starskip.secondary.table_to_index import FORMAT, PRIMARY, TableToIndex
from starskip.secondary.zones import are_disjoint
from starskip.storage.manifest import Manifest
from starskip.storage.storage import Storage
from starskip.storage.storage_for import storage_for
from starskip.storage.store_clock import store_clock
from starskip.storage.vacuum import VacuumReport

ARTEFACT = "secondary"
CREATED_BY = "starskip secondary"
_ENGINE = LocalEngine()
_CLOCK = Clock(lambda: datetime.now(UTC), time.sleep)

_MOST_FILES_FOR_KEY = 1_024
"""Files whose footers are read; for a table with more files the key must be declared."""


def index_storage(path: str, root: str | None = None) -> Storage:
    """Return the store of a table's indexes; it is beside the table if a package opens ``root``."""
    return storage_for(metadata_location(hadoop_path(table_folder(full_path(path))), files_root(root)))


def create_indexes(
    path: str,
    specifications: Sequence[str],
    *,
    root: str | None = None,
    file_format: str | None = None,
    version: int | None = None,
    primary: str | None = None,
    settings: SecondarySettings | None = None,
    clock: Clock = _CLOCK,
    engine: Engine = _ENGINE,
) -> Refreshed:
    """Create indexes in addition to the existing ones, and read the files once for all of them.

    ``primary``: the clustering key; without it one is looked for. ``version``: index that version of a Delta
    table, or snapshot of an Iceberg table, instead of the newest. Raises ConfigError for an invalid index,
    and SourceError for a table that cannot be read, or whose files have no secondary indexes.
    """
    indexes = [secondary_index(each) for each in specifications]
    if any(index.kind_of_index is Kind.PRIMARY for index in indexes):
        raise ConfigError("a clustering key is declared by --primary c", setting="index")
    former = read_metadata(index_storage(path, root), ARTEFACT, secondary_index)
    if former is not None:
        file_format = file_format or former.source.options.get(FORMAT)
    table = _table(path, file_format, version, primary, settings, engine, former)
    _require_same_columns(former, table)
    types = table.schema.types_by_name()
    for index in indexes:
        index.check(types)
    keys = [primary] if primary else found_clustering_key(table.snapshot, table.schema)
    for key in keys:
        if key not in table.snapshot.partition_columns:
            indexes.append(secondary_index(f"primary:{key}"))
            indexes[-1].check(types)
    return _refreshed(path, root, table, indexes, clock, in_full=False)


def refresh_indexes(
    path: str,
    *,
    root: str | None = None,
    in_full: bool = False,
    file_format: str | None = None,
    version: int | None = None,
    settings: SecondarySettings | None = None,
    clock: Clock = _CLOCK,
    engine: Engine = _ENGINE,
) -> Refreshed:
    """Bring all indexes up to date; only files that are new or changed are read.

    ``version``: that version of a Delta table, or snapshot of an Iceberg table, instead of the newest.
    """
    former = existing_indexes(path, root, file_format)
    options = former.source.options
    known = None if in_full else former
    as_format = file_format or options.get(FORMAT)
    table = _table(path, as_format, version, options.get(PRIMARY), settings, engine, known)
    _require_same_columns(known, table)
    return _refreshed(path, root, table, (), clock, in_full=in_full)


def optimize_indexes(path: str, *, root: str | None = None, engine: Engine = _ENGINE) -> int | None:
    """Merge all runs of each index, without dead entries; None if there is nothing to do.

    The merge of a large index is cut by key into tasks. Each written run begins behind the keys of the one
    before.
    """
    return optimize_metadata(
        index_storage(path, root),
        new_commit(CREATED_BY),
        artefact=ARTEFACT,
        parse=secondary_index,
        write_groups=MergedIndexes(engine),
    )


def delete_indexes(path: str, specifications: Sequence[str] | None, *, root: str | None = None) -> Manifest:
    """Mark indexes, by default all, as deleted; a vacuum removes them."""
    storage = existing_indexes(path, root).storage
    named = (
        None if specifications is None else [secondary_index(each).specification for each in specifications]
    )
    return change_indexes(storage, named, new_commit(CREATED_BY), active=False, artefact=ARTEFACT)


def vacuum_indexes(path: str, *, grace: timedelta, root: str | None = None) -> VacuumReport:
    """Remove deleted indexes for good, and files that no version needs."""
    storage = index_storage(path, root)
    return vacuum_metadata(
        storage, new_commit(CREATED_BY), now=store_clock(storage), grace=grace, artefact=ARTEFACT
    )


def describe_indexes(path: str, *, root: str | None = None) -> dict[str, Any]:
    """Return files, rows, version and bytes of the indexes, and the runs of each."""
    metadata = existing_indexes(path, root)
    document = describe_metadata(metadata, metadata.storage.place)
    for each in document["indexes"]:
        groups = [segment.groups.get(each["index"], ()) for segment in metadata.segments.values()]
        each["runs"] = sum(max(1, len(files) // 2) for files in groups if files)
    return document


def existing_indexes(path: str, root: str | None = None, file_format: str | None = None) -> TableMetadata:
    """Return the newest metadata; raise SourceError if there is none, or if the table can have none."""
    try:
        return existing_metadata(index_storage(path, root), ARTEFACT, secondary_index)
    except SourceError:
        require_indexed_files(path, file_format)
        raise


def _table(
    path: str,
    file_format: str | None,
    version: int | None,
    primary: str | None,
    settings: SecondarySettings | None,
    engine: Engine,
    known: TableMetadata | None,
) -> TableToIndex:
    settings = settings or SecondarySettings()
    return TableToIndex(
        full_path(path),
        file_format,
        primary,
        version=version,
        engine=engine,
        settings=settings,
        known=known,
    )


def _require_same_columns(former: TableMetadata | None, table: TableToIndex) -> None:
    if former is not None:
        indexes = [each for each in former.indexes if isinstance(each, SecondaryIndex)]
        require_same_columns(indexes, former.source.options, table.snapshot)


def _refreshed(
    path: str,
    root: str | None,
    table: TableToIndex,
    created: Sequence[SecondaryIndex],
    clock: Clock,
    *,
    in_full: bool,
) -> Refreshed:
    return refresh_metadata(
        index_storage(path, root),
        table,
        created,
        clock,
        created_by=CREATED_BY,
        in_full=in_full,
        artefact=ARTEFACT,
        parse=secondary_index,
    )


def found_clustering_key(snapshot: TableSnapshot, schema: TableSchema) -> list[str]:
    """Return the columns whose ranges in the row groups, in the files' order, are disjoint and rising.

    A table that declares no clustering key has one all the same if all its files are sorted by a column.
    A table with partition columns is clustered by these, and no other is looked for. Footers of Parquet files
    have the ranges; for other formats the key must be declared.
    """
    if snapshot.partition_columns or snapshot.file_format != "parquet":
        return []
    sizes, paths = snapshot.files["size_bytes"].to_pylist(), snapshot.files["path"].to_pylist()
    paths = [path for path, size in zip(paths, sizes, strict=True) if size]
    if not paths or len(paths) > _MOST_FILES_FOR_KEY:
        return []
    is_by_name = all(each.stored == each.path for each in snapshot.columns)
    ranges: dict[str, list[tuple[Any, Any]]] = {}
    groups = 0
    for path in paths:
        try:
            footer = open_footer(path)
            if not is_by_name:
                require_same_names(footer.schema.to_arrow_schema(), snapshot.columns, path)
        except SourceOutage:
            raise
        except (OSError, SourceError, pa.ArrowException):
            # Damaged, or with other column names: its ranges are not known.
            return []
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            groups += 1
            for at in range(group.num_columns):
                column = group.column(at)
                statistics = column.statistics
                if statistics is not None and statistics.has_min_max:
                    found = ranges.setdefault(column.path_in_schema, [])
                    # Python has no date before the year 1, which calendars of old files have.
                    with suppress(OverflowError, ValueError):
                        found.append((statistics.min, statistics.max))
    names = {column_name((field.name,)): field.name for field in schema.columns}
    return [
        name
        for name, stored in names.items()
        if len(ranges.get(stored, ())) == groups
        and are_disjoint([low for low, _ in ranges[stored]], [high for _, high in ranges[stored]])
    ][:1]
