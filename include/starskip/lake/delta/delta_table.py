"""Reads a version of a Delta table from its log: files, partition values, row counts and bounds.

No data file is opened. The effect of a table's reader features on its files must be known here. A table with
another feature is refused, since its files might hold rows that are deleted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from starskip.errors import NotPlainFiles, SourceError, first_line
from starskip.lake.delta.delta_columns import BOUNDS, delta_bounds, delta_columns
from starskip.lake.snapshot_columns import PartitionField, SnapshotColumn
from starskip.lake.table_snapshot import DELETES, FILES, TableSnapshot
from starskip.storage.files.list_folder import list_folder
from starskip.storage.files.object_url import local_path, object_url
from starskip.storage.files.open_store import client_options

LOG_FOLDER = "_delta_log"
VECTORS = "deletionVectors"
_OWN_NAME = "col-"
"""The beginning of the names that Delta gives columns in files where it matches them by ids."""
_MISREAD = re.compile(r"%[0-9A-Fa-f]{2}|\\")
CARRIED_FEATURES = frozenset(
    {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", VECTORS, "columnMapping"}
)
"""Supported reader features: others may change the meaning of a file's rows."""


def delta_table(path: str, version: int | None = None) -> TableSnapshot:
    """Return the newest version of a Delta table, or ``version``.

    Raises SourceError for a log that is missing or damaged and for a version that does not exist, and
    NotPlainFiles for a table with a reader feature that is not supported.
    """
    table = _opened(path, version)
    _require_carried(path, table)
    schema = _plain_schema(path, table)
    columns = tuple(delta_columns(table.schema().fields, schema))
    _require_own_names(path, table, columns)
    partition_columns = tuple(table.metadata().partition_columns)
    try:
        actions = pa.table(table.get_add_actions())
    except (DeltaError, pa.ArrowException) as error:
        raise _damaged(path, error) from None
    actions = actions.set_column(0, "path", _paths(path, actions.column("path")))
    order = pc.sort_indices(actions.column("path"))
    measured = actions.select([name for name in BOUNDS if name in actions.column_names])
    actions = actions.drop_columns(measured.column_names).take(order)
    types = {name: schema.field(name).type for name in partition_columns}
    count = actions.num_rows
    deletes, delete_files = _deletes(path, table, actions.column("path"))
    found: list[Any] = [
        actions.column("path"),
        actions.column("size_bytes"),
        pa.nulls(count, pa.int64()),
        pa.nulls(count, pa.int64()),
        # A path is added once and its file never written again: the time distinguishes it from a file of the
        # same name.
        pc.binary_join_element_wise("delta", actions.column("modification_time").cast(pa.string()), ":"),
        _partitions(path, actions, types),
        actions.column("num_records")
        if "num_records" in actions.column_names
        else pa.nulls(count, pa.int64()),
        deletes,
        pa.repeat(pa.scalar("parquet", pa.string()), count),
    ]
    return TableSnapshot(
        path,
        "delta",
        "parquet",
        pa.table(found, names=FILES.names).cast(FILES),
        version=table.version(),
        schema=schema,
        partition_columns=partition_columns,
        columns=columns,
        partition_fields=tuple(PartitionField(name, (name,)) for name in partition_columns),
        delete_files=delete_files,
        location=path.rstrip("/"),
        place=path,
        decode_bounds=lambda: delta_bounds(columns, measured.take(order)),
        decode_partitions=lambda: _partition_values(actions, types),
    )


def _opened(path: str, version: int | None) -> DeltaTable:
    _require_log(path)
    url = object_url(path)
    place = str(local_path(path).absolute()) if url is None else str(url)
    # deltalake looks for the files of "a%20b" in "a b", and for the files of "a\b" in "a/b", also behind a
    # link.
    misread = _MISREAD.search(str(local_path(path).resolve()) if url is None else path.replace("%", ""))
    if misread is not None:
        what = "a backslash" if misread[0] == "\\" else "% and two digits of base 16"
        raise SourceError(
            f"{path}: its path holds {what}, which deltalake takes for another character: give the folder of "
            "this Delta table another name",
            source=path,
        )
    options = None if url is None else client_options(url.scheme)
    try:
        return DeltaTable(place, version=version, storage_options=options)
    except (DeltaError, OSError, ValueError, OverflowError) as error:
        if version is not None:
            newest = _opened(path, None).version()
            raise SourceError(
                f"{path}: version {version} cannot be read; the newest is {newest} ({_reason(error)})",
                source=path,
            ) from None
        raise _damaged(path, error) from None


def _require_log(path: str) -> None:
    """Raise SourceError for a log without a file, or with an empty one, which would count as no change.

    Raises SourceOutage for a store that does not answer, which deltalake does not distinguish.
    """
    folder = f"{path.rstrip('/')}/{LOG_FOLDER}"
    try:
        files = list_folder(folder).files
    except OSError as error:
        raise SourceError(f"{folder}: {error.strerror or error}", source=path) from None
    commits = [file for file in files if file.path.endswith((".json", ".checkpoint.parquet"))]
    if not commits:
        raise SourceError(
            f"{folder}: the log of this Delta table is missing: there is no version in it", source=path
        )
    empty = next((file for file in commits if not file.size_bytes), None)
    if empty is not None:
        raise SourceError(
            f"{empty.path}: the log of this Delta table is damaged: the file is empty", source=path
        )


def _require_carried(path: str, table: DeltaTable) -> None:
    protocol = table.protocol()
    wanted = set(protocol.reader_features or ())
    if protocol.min_reader_version > 3:
        wanted.add(f"reader version {protocol.min_reader_version}")
    others = sorted(wanted - CARRIED_FEATURES)
    if others:
        raise NotPlainFiles(
            f"{path}: this Delta table has the reader feature {', '.join(others)}, which is not read yet; "
            "drop the feature (ALTER TABLE … DROP FEATURE), or write its current rows to a folder of plain "
            "files and name that",
            source=path,
        )


def _require_own_names(path: str, table: DeltaTable, columns: Sequence[SnapshotColumn]) -> None:
    """Raise NotPlainFiles for files that may be Iceberg's, in which a renamed column has its former names."""
    by_ids = table.metadata().configuration.get("delta.columnMapping.mode") == "id"
    if by_ids and not all(each.stored[-1].startswith(_OWN_NAME) for each in columns):
        raise NotPlainFiles(
            f"{path}: this Delta table matches columns by id under names that are not Delta's own, as in "
            "files of another format, which is not read yet: read the table that it was made of, or write "
            "its current rows to a folder of plain files and name that",
            source=path,
        )


def _plain_schema(path: str, table: DeltaTable) -> pa.Schema:
    try:
        found = pa.schema(table.schema().to_arrow())
    except (DeltaError, ValueError, TypeError, pa.ArrowException) as error:
        raise _damaged(path, error) from None
    return pa.schema([pa.field(each.name, each.type) for each in found])


def _paths(path: str, logged: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return full paths: the log has them relative to the table, as parts of a URL."""
    text = logged.cast(pa.string())
    if pc.any(pc.match_substring(text, "%")).as_py():
        text = pa.chunked_array([pa.array([unquote(each) for each in text.to_pylist()], pa.string())])
    is_full = pc.match_substring_regex(text, r"^([A-Za-z][A-Za-z0-9+.-]+:/|/)")
    below = pc.binary_join_element_wise(path.rstrip("/"), text, "/")
    return pc.if_else(is_full, text, below)


def _partition(actions: pa.Table, name: str) -> pa.ChunkedArray:
    return pc.struct_field(actions.column("partition"), [name])


def _partition_values(actions: pa.Table, types: dict[str, pa.DataType]) -> pa.Table | None:
    values = {name: _partition(actions, name).cast(kind) for name, kind in types.items()}
    return pa.table(values) if values else None


def _deletes(path: str, table: DeltaTable, paths: pa.ChunkedArray) -> tuple[pa.Array, pa.Table]:
    """Return each file's deletion vector, and the vectors, each with the number of rows that it deletes."""
    deletes = pa.nulls(len(paths), FILES.field("deletes").type)
    if VECTORS not in (table.protocol().reader_features or ()):
        return deletes, DELETES.empty_table()
    deleted: dict[str, int] = {}
    try:
        for batch in table.deletion_vectors():
            told = pa.record_batch(batch)
            for at, name in enumerate(told.column("filepath").to_pylist()):
                kept = told.column("selection_vector")[at].values
                deleted[_plain(name)] = len(kept) - int(pc.sum(kept, min_count=0).as_py())
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise _damaged(path, error) from None
    places = {name: at for at, name in enumerate(paths.to_pylist())}
    unknown = next((name for name in deleted if name not in places), None)
    if unknown is not None:
        raise SourceError(
            f"{path}: its log names a deletion vector of {unknown}, which is no file of the table",
            source=path,
        )
    numbers: list[list[int] | None] = [None] * len(paths)
    for number, name in enumerate(deleted):
        numbers[places[name]] = [number]
    rows = [{"kind": "vector", "rows": count} for count in deleted.values()]
    return pa.array(numbers, deletes.type), pa.Table.from_pylist(rows, DELETES)


def _plain(uri: str) -> str:
    """Return the path of a file by its URI, in the form of ``_paths``."""
    url = object_url(uri)
    return unquote(str(local_path(uri))) if url is None else unquote(str(url))


def _partitions(path: str, actions: pa.Table, types: dict[str, pa.DataType]) -> pa.Array:
    """Return each file's partition values as texts by column."""
    texts = []
    for name, type_ in types.items():
        if pa.types.is_binary(type_):
            raise SourceError(
                f"{path}: is partitioned by {name}, which is binary; such a column is not read", source=path
            )
        texts.append(_partition(actions, name).cast(type_).cast(pa.string()).to_pylist())
    rows = zip(*texts, strict=True) if texts else (() for _ in range(actions.num_rows))
    return pa.array([list(zip(types, row, strict=True)) for row in rows], FILES.field("partition").type)


def _damaged(path: str, error: Exception) -> SourceError:
    return SourceError(
        f"{path.rstrip('/')}/{LOG_FOLDER}: the log of this Delta table cannot be read ({_reason(error)})",
        source=path,
    )


def _reason(error: Exception) -> str:
    return first_line(error).removeprefix("Kernel error: ")
