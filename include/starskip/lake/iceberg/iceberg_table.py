"""Reads a snapshot of an Iceberg table from its manifests: files, partition values, rows, bounds, deletes.

No data file is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import SourceError
from starskip.lake.iceberg.iceberg_manifests import (
    PARTITION,
    SPEC,
    SnapshotFiles,
    file_bounds,
    snapshot_files,
)
from starskip.lake.iceberg.iceberg_metadata import IcebergMetadata, damaged, iceberg_metadata
from starskip.lake.iceberg.iceberg_schema import arrow_schema, snapshot_columns
from starskip.lake.plain_paths import plain_path
from starskip.lake.snapshot_columns import PartitionField, SnapshotColumn
from starskip.lake.table_snapshot import FILES, NO_SNAPSHOT, TableSnapshot

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table.name_mapping import NameMapping

_IDENTITY = "identity"


def iceberg_table(path: str, version: int | None = None) -> TableSnapshot:
    """Return the newest snapshot of an Iceberg table, or the one with the id ``version``.

    ``path``: its folder, one of its metadata files, or ``iceberg://CATALOG/NAMESPACE/TABLE``. Columns follow
    the newest schema, for a named snapshot the snapshot's schema. Raises SourceError in one line for a file
    that is missing or damaged, and for an id that does not exist.
    """
    metadata = iceberg_metadata(path)
    table = metadata.table
    wanted = table.current_snapshot_id if version is None else version
    snapshot = None if wanted is None else table.snapshot_by_id(wanted)
    if snapshot is None and wanted is not None:
        # A table without its newest snapshot would read as an empty one.
        told = "" if version is not None else f"{metadata.place} names it as the newest; "
        raise SourceError(_no_such(path, table, wanted, told), source=path)
    schema = table.schema()
    if version is not None and snapshot is not None and snapshot.schema_id is not None:
        schema = table.schema_by_id(snapshot.schema_id) or schema
    columns = tuple(snapshot_columns(schema.fields, _name_mapping(metadata)))
    found = None
    if snapshot is not None:
        found = snapshot_files(snapshot.manifest_list, metadata.files, table.table_uuid)
        total = snapshot.summary["total-data-files"] if snapshot.summary else None
        # A manifest list that is cut behind its header reads like an empty table's.
        if not found.manifests and total not in (None, "0"):
            told = f"it names no manifest, and the snapshot counts {total} data files"
            raise damaged(plain_path(snapshot.manifest_list), ValueError(told), "manifest list")
    if found is None or not found.data.num_rows:
        return _empty(path, metadata, schema, NO_SNAPSHOT if snapshot is None else snapshot.snapshot_id)
    assert snapshot is not None
    order = pc.sort_indices(found.data["path"])
    data = found.data.take(order)
    fields = _partition_fields(table, schema, data)
    split_by = _split_by(fields, data)
    count = data.num_rows
    arrays: list[Any] = [
        data["path"],
        data["size_bytes"],
        pa.nulls(count, pa.int64()),
        pa.nulls(count, pa.int64()),
        data["etag"],
        _texts(split_by, data, schema),
        data["rows"],
        data["deletes"],
        data["file_format"],
    ]
    formats = pc.unique(data["file_format"]).to_pylist()
    return TableSnapshot(
        path,
        "iceberg",
        formats[0] if len(formats) == 1 else "mixed",
        pa.table(arrays, names=FILES.names).cast(FILES),
        version=snapshot.snapshot_id,
        schema=arrow_schema(schema),
        partition_columns=tuple(column for column, _ in split_by),
        columns=columns,
        partition_fields=tuple(fields.values()),
        delete_files=found.deletes.table(),
        location=plain_path(table.location).rstrip("/"),
        place=metadata.place,
        schema_id=schema.schema_id,
        decode_bounds=partial(_bounds, found, columns, order),
        decode_partitions=partial(_partitions, fields, data),
    )


def _empty(path: str, metadata: IcebergMetadata, schema: Schema, version: int) -> TableSnapshot:
    return TableSnapshot(
        path,
        "iceberg",
        "parquet",
        FILES.empty_table(),
        version=version,
        schema=arrow_schema(schema),
        columns=tuple(snapshot_columns(schema.fields)),
        location=plain_path(metadata.table.location).rstrip("/"),
        place=metadata.place,
        schema_id=schema.schema_id,
    )


def _no_such(path: str, table: Any, version: int, told: str) -> str:
    ids = [each.snapshot_id for each in table.snapshots]
    known = f"the newest are {', '.join(map(str, ids[-3:]))}" if ids else "it has none yet"
    return f"{path}: there is no snapshot {version} of this Iceberg table; {told}{known}"


def _name_mapping(metadata: IcebergMetadata) -> NameMapping | None:
    try:
        return metadata.table.name_mapping()
    except ValueError as error:
        raise damaged(metadata.place, error, "name mapping") from None


def _bounds(
    found: SnapshotFiles, columns: Sequence[SnapshotColumn], order: pa.UInt64Array
) -> pa.Table | None:
    bounds = file_bounds(found, columns)
    return bounds.take(order).combine_chunks() if bounds.num_columns else None


def _partition_fields(table: Any, schema: Schema, data: pa.Table) -> dict[int, PartitionField]:
    """Return the fields of the files' partition specs, by their ids."""
    used = set(pc.unique(data[SPEC]).to_pylist())
    found: dict[int, PartitionField] = {}
    names: set[str] = set()
    for spec_id in sorted(used):
        spec = table.specs().get(spec_id)
        for field in spec.fields if spec is not None else ():
            before = found.get(field.field_id)
            if before is not None:
                specs = (*before.spec_ids, spec_id)
                found[field.field_id] = PartitionField(
                    before.name, before.source, before.transform, specs, field.field_id
                )
                continue
            name = field.name if field.name not in names else f"{field.name}.{field.field_id}"
            names.add(name)
            source = _path_of(schema, field.source_id)
            found[field.field_id] = PartitionField(
                name, source, str(field.transform), (spec_id,), field.field_id
            )
    return found


def _path_of(schema: Schema, field_id: int) -> tuple[str, ...] | None:
    for column in snapshot_columns(schema.fields):
        if column.field_id == field_id:
            return column.path
    return None


def _split_by(fields: dict[int, PartitionField], data: pa.Table) -> list[tuple[str, int]]:
    """Return the columns, with ids of fields, whose value in a file is the partition value of the file.

    Only identity fields by which all files are split: a file of another spec has many values of the column.
    """
    used = set(pc.unique(data[SPEC]).to_pylist())
    return [
        (field.source[0], field_id)
        for field_id, field in fields.items()
        if field.transform == _IDENTITY
        and field.source is not None
        and len(field.source) == 1
        and used == set(field.spec_ids)
        and f"{PARTITION}{field_id}" in data.column_names
        and not _is_bytes(data.schema.field(f"{PARTITION}{field_id}").type)
    ]


def _is_bytes(kind: pa.DataType) -> bool:
    is_bytes: bool = (
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    )
    return is_bytes


def _texts(split_by: list[tuple[str, int]], data: pa.Table, schema: Schema) -> pa.Array:
    """Return each file's partition values as texts by column, in the columns' current types."""
    types = arrow_schema(schema)
    texts = [
        data[f"{PARTITION}{field_id}"].cast(types.field(name).type).cast(pa.string()).to_pylist()
        for name, field_id in split_by
    ]
    rows = zip(*texts, strict=True) if texts else (() for _ in range(data.num_rows))
    names = [name for name, _ in split_by]
    return pa.array([list(zip(names, row, strict=True)) for row in rows], FILES.field("partition").type)


def _partitions(fields: dict[int, PartitionField], data: pa.Table) -> pa.Table | None:
    columns = {
        field.name: data[f"{PARTITION}{field_id}"]
        for field_id, field in fields.items()
        if f"{PARTITION}{field_id}" in data.column_names
    }
    return pa.table(columns).combine_chunks() if columns else None
