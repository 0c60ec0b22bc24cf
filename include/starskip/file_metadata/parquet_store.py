"""The metadata store of files, Parquet files for each group; and the choice of the store of a Storage.

The store of files evaluates clauses on whole columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Protocol, runtime_checkable

import pyarrow as pa

from starskip.file_metadata.collect_order import FILES
from starskip.file_metadata.metadata_files import (
    read_columns,
    read_schema,
    write_files,
    write_rows,
)
from starskip.file_metadata.metadata_store import Groups, MetadataStore
from starskip.skipping.clause import Clause
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.storage.encryption.data_key import DataKey
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class ParquetStore:
    """Implements MetadataStore on a disk or in a bucket; keys as in ``with_keys``."""

    storage: Storage
    data_keys: Mapping[str, DataKey] = field(default_factory=dict)
    new_keys: Mapping[str, DataKey] = field(default_factory=dict)

    @property
    def encrypts(self) -> bool:
        """See MetadataStore."""
        return True

    def with_keys(
        self, data_keys: Mapping[str, DataKey], new_keys: Mapping[str, DataKey] = MappingProxyType({})
    ) -> ParquetStore:
        """See MetadataStore."""
        return replace(self, data_keys=data_keys, new_keys=dict(new_keys))

    def write(self, staged: StagedWrite, groups: Groups) -> Mapping[str, tuple[DataFile, ...]]:
        """See MetadataStore; one group is in memory at a time."""
        return {
            group: write_files(staged, rows, self.new_keys.get(group))
            if group == FILES
            else write_rows(staged, group, rows, self.new_keys.get(group))
            for group, rows in groups
        }

    def read(self, files: Sequence[DataFile], names: Sequence[str]) -> pa.Table:
        """See MetadataStore."""
        return read_columns(self.storage, files, names, self.data_keys)

    def schema(self, file: DataFile) -> pa.Schema:
        """See MetadataStore."""
        return read_schema(self.storage, file, self.data_keys)

    def may_match(self, metadata: FileMetadata, clause: Clause) -> Mask:
        """See MetadataStore."""
        return clause.may_match(metadata)


@runtime_checkable
class KeepsRows(Protocol):
    """A Storage that keeps rows of metadata in its own way."""

    def metadata_store(self) -> MetadataStore:
        """Return the store whose manifests lie in this Storage."""
        ...


def store_of(storage: Storage) -> MetadataStore:
    """Return the store whose manifests lie in ``storage``."""
    return storage.metadata_store() if isinstance(storage, KeepsRows) else ParquetStore(storage)
