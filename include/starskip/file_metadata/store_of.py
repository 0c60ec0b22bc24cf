"""Choose the metadata store that keeps its rows in a Storage."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from starskip.file_metadata.metadata_store import MetadataStore
from starskip.file_metadata.parquet_store import ParquetStore
from starskip.storage.storage import Storage


@runtime_checkable
class KeepsRows(Protocol):
    """A Storage that keeps rows of metadata in its own way."""

    def metadata_store(self) -> MetadataStore:
        """Return the store whose manifests lie in this Storage."""
        ...


def store_of(storage: Storage) -> MetadataStore:
    """Return the store whose manifests lie in ``storage``."""
    return storage.metadata_store() if isinstance(storage, KeepsRows) else ParquetStore(storage)
