"""The list of a table's files as a file of the store, with the order of the trees.

The order is kept with the list, so that trees whose manifest is damaged can be built anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from starskip.star_tree.build.source_files import RecordedFile
from starskip.star_tree.build.tree_files import naming_damage, read_rows, write_rows
from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

SOURCES_FILE = "sources.parquet"
_ORDER = b"starskip.order"


def write_recorded(
    staged: StagedWrite, table: str, recorded: tuple[RecordedFile, ...], order: Mapping[str, Any]
) -> DataFile:
    """Write the list as a file of the store; ``order`` is plain JSON."""
    schemas = [None if file.schema is None else file.schema.serialize().to_pybytes() for file in recorded]
    rows = pa.table(
        {
            "identity": pa.array([file.identity.to_text() for file in recorded], pa.string()),
            "partition": pa.array([json.dumps(dict(file.partition)) for file in recorded], pa.string()),
            "digest": pa.array([file.digest for file in recorded], pa.string()),
            "changed_ns": pa.array([file.changed_ns for file in recorded], pa.int64()),
            "is_young": pa.array([file.is_young for file in recorded], pa.bool_()),
            "row_group_rows": pa.array([file.row_group_rows for file in recorded], pa.list_(pa.int64())),
            "schema": pa.array(schemas, pa.binary()),
        }
    )
    text = json.dumps(dict(order)).encode()
    return write_rows(staged, table, SOURCES_FILE, rows.replace_schema_metadata({_ORDER: text}))


def read_recorded(storage: Storage, file: DataFile) -> tuple[RecordedFile, ...]:
    """Return the list that ``write_recorded`` wrote; StorageError naming a file that is gone or damaged."""
    rows = read_rows(storage, file)
    schemas: dict[bytes, pa.Schema] = {}

    def schema_of(content: bytes | None) -> pa.Schema | None:
        if content is None:
            return None
        if content not in schemas:
            schemas[content] = pa.ipc.read_schema(pa.py_buffer(content))
        return schemas[content]

    with naming_damage(file.name):
        return tuple(
            RecordedFile(
                FileIdentity.from_text(row["identity"]),
                json.loads(row["partition"]),
                row["digest"],
                row["changed_ns"],
                row["is_young"],
                None if row["row_group_rows"] is None else tuple(row["row_group_rows"]),
                schema_of(row["schema"]),
            )
            for row in rows.to_pylist()
        )


def read_order(storage: Storage, file: DataFile) -> Mapping[str, Any]:
    """Return the order that ``write_recorded`` kept; StorageError naming a file that is gone or damaged."""
    metadata = read_rows(storage, file).schema.metadata or {}
    with naming_damage(file.name):
        return dict(json.loads(metadata[_ORDER]))
